// SPDX-License-Identifier: Apache-2.0
// What reads all values of a checkpoint on another host is computed there.
#include "tests/ui/dialogs/far_window.h"
#include "tests/ui/ui_tests.h"
#include "ui/session/check_run.h"
#include "ui/session/far_answers.h"
#include "ui/session/value_run.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr int kPatience = 60'000;

/// Changes a bit of a value. Only a check of every byte sees it.
void flip(const FarWindow& fixture)
{
    const QDir tag(fixture.home() + u"/runs/llama/global_step5"_s);
    const QStringList shards = tag.entryList({u"*rank_1_*optim_states.pt"_s});
    QVERIFY(!shards.isEmpty());
    QFile shard(tag.filePath(shards.first()));
    QVERIFY(shard.open(QIODevice::ReadWrite) && shard.seek(shard.size() * 3 / 4));
    const QByteArray byte = shard.peek(1);
    QVERIFY(shard.write(QByteArray(1, static_cast<char>(byte[0] ^ 0x20))) == 1);
}

uint64_t receivedFrom(const char* host)
{
    return far::farHost(host).traffic().bytesReceived;
}

uint64_t bytesOf(const Checkpoint& checkpoint)
{
    uint64_t out = 0;
    for (const CheckpointFile& file : checkpoint.files)
        out += file.identity.bytes;
    return out;
}

QStringList linesOf(const std::vector<DoctorFinding>& findings)
{
    QStringList out;
    for (const DoctorFinding& made : findings)
        out.append(QString::fromStdString(std::string(made.finding.code) + " at " + made.finding.where.text()
            + " seen in " + std::string(checkDepthName(made.seenIn))
            + (made.command.empty() ? "" : " repaired")));
    out.sort();
    return out;
}

} // namespace

class TestFarValues : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void checksEveryByteThere();
    void keepsWhatItKnewWhenTheCheckIsStopped();
    void fingerprintsThere();
    void verifiesThere();
    void readsAllValuesThere();
    void takesNoAnswerAboutOtherFiles();
};

void TestFarValues::checksEveryByteThere()
{
    FarWindow fixture;
    flip(fixture);
    QVERIFY(fixture.open(u"checked:~/runs/llama"_s));
    const CheckPlace place = fixture.window().session().place();
    const auto checkedBy = [&](CheckRun& run, const CheckPlace& at) {
        run.start(at, {CheckDepth::Bytes});
        QVERIFY(QTest::qWaitFor([&] { return !run.isRunning(); }, kPatience));
        QVERIFY2(!run.error(), run.error() ? run.error()->message.c_str() : "");
        QVERIFY(run.result());
    };
    const uint64_t before = receivedFrom("checked");
    CheckRun there(allFiles());
    size_t early = 0;
    connect(&there, &CheckRun::changed, this, [&] {
        if (there.isRunning())
            early = std::max(early, there.findings().size());
    });
    checkedBy(there, place);
    const uint64_t asked = receivedFrom("checked") - before;
    CheckRun here(allFiles());
    checkedBy(here, {toPath(fixture.home() + u"/runs/llama"_s), {}});
    QCOMPARE(linesOf(there.findings()), linesOf(here.findings()));
    QVERIFY(std::ranges::any_of(
        there.findings(), [](const DoctorFinding& made) { return made.finding.code == "record-corrupt"; }));
    QCOMPARE(there.result()->depth, CheckDepth::Bytes);
    QCOMPARE(there.result()->bytesNotRead, here.result()->bytesNotRead);
    QVERIFY(there.result()->tiers[3].done);
    QVERIFY(there.result()->checkpoint);

    JobContext job;
    CheckOptions pulls;
    pulls.depth = CheckDepth::Bytes;
    const uint64_t middle = receivedFrom("checked");
    QVERIFY(examine(allFiles(), place.path, pulls, job));
    const uint64_t pulled = receivedFrom("checked") - middle;
    qInfo("bytes of files %llu, received with the values %llu, as an answer %llu",
        static_cast<unsigned long long>(bytesOf(*fixture.checkpoint())),
        static_cast<unsigned long long>(pulled), static_cast<unsigned long long>(asked));
    // Both read the metadata, which are most of a small checkpoint.
    QVERIFY(asked + bytesOf(*fixture.checkpoint()) / 2 < pulled);
}

void TestFarValues::keepsWhatItKnewWhenTheCheckIsStopped()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"halted:~/runs/llama"_s));
    CheckRun run(allFiles());
    run.start(fixture.window().session().place(), {CheckDepth::Bytes});
    QVERIFY(QTest::qWaitFor([&] { return far::farHost("halted").traffic().questions > 0; }, kPatience));
    fixture.signalLines(SIGSTOP);
    QTest::qWait(300);
    run.stop();
    fixture.signalLines(SIGCONT);
    QVERIFY(QTest::qWaitFor([&] { return !run.isRunning(); }, kPatience));
    QVERIFY(!run.error());
}

void TestFarValues::fingerprintsThere()
{
    FarWindow fixture;
    WindowFixture local;
    QVERIFY(local.open(fixture.home() + u"/runs/llama"_s));
    QVERIFY(fixture.open(u"printed:~/runs/llama"_s));
    const auto figureOf = [](WindowFixture& window) {
        window.window().actionSet()[ActionId::Fingerprint]->trigger();
        const QList<Job*>& jobs = window.window().jobs().jobs();
        const bool ended
            = !jobs.isEmpty() && QTest::qWaitFor([&] { return !jobs.first()->isActive(); }, kPatience);
        return ended && jobs.first()->state() == JobState::Succeeded ? jobs.first()->outcome().figure
                                                                     : QString();
    };
    const QString expected = figureOf(local);
    QVERIFY(!expected.isEmpty());
    const uint64_t before = receivedFrom("printed");
    QCOMPARE(figureOf(fixture), expected);
    qInfo("fingerprint: bytes of files %llu, received %llu",
        static_cast<unsigned long long>(bytesOf(*fixture.checkpoint())),
        static_cast<unsigned long long>(receivedFrom("printed") - before));
    QVERIFY(
        fixture.window().jobs().jobs().first()->logLines().join(u'\n').contains(u"computed on printed"_s));
}

void TestFarValues::verifiesThere()
{
    FarWindow fixture;
    flip(fixture);
    WindowFixture local;
    QVERIFY(local.open(fixture.home() + u"/runs/llama"_s));
    QVERIFY(fixture.open(u"verified:~/runs/llama"_s));
    const auto endOf = [](WindowFixture& window) -> const Job* {
        window.window().actionSet()[ActionId::Verify]->trigger();
        const QList<Job*>& jobs = window.window().jobs().jobs();
        const bool ended
            = !jobs.isEmpty() && QTest::qWaitFor([&] { return !jobs.first()->isActive(); }, kPatience);
        return ended ? jobs.first() : nullptr;
    };
    const Job* here = endOf(local);
    const Job* there = endOf(fixture);
    QVERIFY(here != nullptr && there != nullptr);
    QVERIFY2(there->state() == JobState::Succeeded, there->error().message.c_str());
    QCOMPARE(there->outcome().summary, here->outcome().summary);
    QCOMPARE(there->outcome().problems.size(), here->outcome().problems.size());
    QVERIFY(!there->outcome().problems.empty());
    QCOMPARE(there->outcome().problems.front().where.text(), here->outcome().problems.front().where.text());
    QVERIFY(there->outcome().needsAttention);
}

void TestFarValues::readsAllValuesThere()
{
    FarWindow fixture;
    WindowFixture local;
    QVERIFY(local.open(fixture.home() + u"/runs/llama"_s));
    QVERIFY(fixture.open(u"filtered:~/runs/llama"_s));
    const auto linesBy = [](ValueRun& run, WindowFixture& window) {
        const CheckpointPtr checkpoint = window.checkpoint();
        run.start({checkpoint, window.window().session().place()});
        QStringList out;
        if (!QTest::qWaitFor([&] { return !run.isRunning(); }, kPatience) || run.error())
            return QStringList{run.error() ? toText(run.error()->message) : QString()};
        for (const ReadTensor& tensor : run.of(checkpoint)->tensors)
            out.append(
                QString::fromStdString(checkpoint->params[index(tensor.param)].name + "#" + tensor.state)
                % u" %1 %2 %3 %4 %5"_s.arg(tensor.elements)
                      .arg(tensor.missing)
                      .arg(tensor.zeros)
                      .arg(tensor.nans)
                      .arg(tensor.infinities));
        return out;
    };
    ValueRun here(allFiles());
    ValueRun there(allFiles());
    const QStringList expected = linesBy(here, local);
    QVERIFY(!expected.isEmpty());
    const uint64_t before = receivedFrom("filtered");
    QCOMPARE(linesBy(there, fixture), expected);
    QVERIFY(receivedFrom("filtered") - before < bytesOf(*fixture.checkpoint()) / 4);
}

/// A file is rewritten after the checkpoint was opened.
void TestFarValues::takesNoAnswerAboutOtherFiles()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"rewritten:~/runs/llama"_s));
    const CheckpointPtr checkpoint = fixture.checkpoint();
    const CheckPlace place = fixture.window().session().place();
    const CheckpointThere there{allFiles(), place, *checkpoint};
    JobContext job;
    QVERIFY(verifyThere(there, job));
    flip(fixture);
    const auto verified = verifyThere(there, job);
    QVERIFY(!verified && verified.error().code == ErrorCode::SourceChanged);
    ValueRun values(allFiles());
    values.start({checkpoint, place});
    QVERIFY(QTest::qWaitFor([&] { return !values.isRunning(); }, kPatience));
    QVERIFY(values.error() && values.error()->code == ErrorCode::SourceChanged);
    CheckRun check(allFiles());
    check.start(place, {CheckDepth::Bytes}, checkpoint);
    QVERIFY(QTest::qWaitFor([&] { return !check.isRunning(); }, kPatience));
    QVERIFY(check.error() && check.error()->code == ErrorCode::SourceChanged);
    check.start(place, {CheckDepth::Bytes}); // reads it again
    QVERIFY(QTest::qWaitFor([&] { return !check.isRunning(); }, kPatience));
    QVERIFY(check.result());
}

SHARDSCOPE_UI_TEST(TestFarValues, WithDisplay)
#include "tst_far_values.moc"
