// SPDX-License-Identifier: Apache-2.0
// What reads all values of a checkpoint on another host is computed there.
#include "core/report/answers/diff_report.h"
#include "tests/ui/dialogs/far_window.h"
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/session/check_run.h"
#include "ui/session/compare_run.h"
#include "ui/session/far_answers.h"
#include "ui/session/value_run.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/heat_samples.h"
#include "ui/text/text.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QtEndian>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <thread>

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

/// A second checkpoint next to the first: a value differs, and a rank is lost.
void makeOther(const FarWindow& fixture)
{
    const QDir home(fixture.home());
    QVERIFY(
        QProcess::execute(u"cp"_s, {u"-r"_s, home.filePath(u"runs/llama"_s), home.filePath(u"runs/other"_s)})
        == 0);
    flip(fixture);
    QDir tag(home.filePath(u"runs/other/global_step5"_s));
    const QStringList lost = tag.entryList({u"*rank_3_*optim_states.pt"_s});
    QVERIFY(!lost.isEmpty() && tag.remove(lost.first()));
}

/// The whole comparison, without names of hosts.
QString comparison(CompareRun& run, const PlacedCheckpoint& left, const QString& other)
{
    run.start(left, {toPath(other), {}, {}});
    if (!QTest::qWaitFor([&] { return !run.isRunning(); }, kPatience) || run.error())
        return run.error() ? toText(run.error()->message) : u"no end"_s;
    const CompareOutcome& outcome = *run.outcome();
    const JudgedDiff& judged = *outcome.judged;
    std::string out;
    writeDiffJson([&](std::string_view text) { out += text; },
        {{*outcome.left, outcome.left->tagFolder.native(), {}, nullptr, nullptr},
            {*outcome.right, outcome.right->tagFolder.native(), {}}, judged.diff, judged.verdict,
            judged.causes, 0});
    for (const StateRegions& state : judged.diff.regions.states()) {
        out += '\n' + judged.left->params[index(state.left)].name + '#'
            + judged.diff.regions.stateName(state, 0);
        for (const ElementRuns* runs : {&state.different, &state.lacking[0], &state.lacking[1]}) {
            for (const DiffRun& each : runs->runs())
                out += ' ' + std::to_string(each.begin) + '-' + std::to_string(each.end) + ':'
                    + std::to_string(each.count);
            out += ';';
        }
    }
    return QString::fromStdString(out).remove(QRegularExpression(u"[a-z]+:(?=/)"_s));
}

} // namespace

class TestFarValues : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void checksEveryByteThere();
    void stopsACheckThere();
    void fingerprintsThere();
    void verifiesThere();
    void readsAllValuesThere();
    void computesExactStatisticsThere();
    void drawsAPictureOfALargeTensor();
    void takesNoAnswerAboutOtherFiles();
    void comparesThere();
    void comparesWithThisMachineHere();
    void stopsAComparisonThere();
    void takesNoComparisonOfOtherFiles();
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

/// While the host says nothing.
void TestFarValues::stopsACheckThere()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"halted:~/runs/llama"_s));
    const uint64_t before = far::farHost("halted").traffic().questions;
    fixture.signalLines(SIGSTOP);
    CheckRun run(allFiles());
    run.start(fixture.window().session().place(), {CheckDepth::Bytes});
    QVERIFY(QTest::qWaitFor([&] { return far::farHost("halted").traffic().questions > before; }, kPatience));
    QVERIFY(run.isRunning());
    run.stop();
    QVERIFY(QTest::qWaitFor([&] { return !run.isRunning(); }, kPatience));
    fixture.signalLines(SIGCONT);
    QVERIFY(!run.error());
    QVERIFY(!run.result() || run.result()->stopped);
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

void TestFarValues::computesExactStatisticsThere()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"exact:~/runs/llama"_s));
    const CheckPlace place = fixture.window().session().place();
    const CheckpointPtr checkpoint = fixture.checkpoint();
    const std::vector<TensorAsked> asked{{*checkpoint->findParam("layers.0.mlp.up.weight"), "exp_avg"}};
    JobContext job;
    const auto found = exactStatisticsThere({allFiles(), place, *checkpoint}, asked.front(), job);
    QVERIFY(found && found->exact);
    std::vector<TensorStatistics> here;
    QVERIFY(computeStatistics(
        allFiles(), {*checkpoint, asked, true}, {}, job, [&](TensorStatistics tensor) -> Status {
            here.push_back(std::move(tensor));
            return {};
        }));
    QCOMPARE(wireText(*checkpoint, {*found}), wireText(*checkpoint, here));
    flip(fixture);
    const auto changed = exactStatisticsThere({allFiles(), place, *checkpoint}, asked.front(), job);
    QVERIFY(!changed && changed.error().code == ErrorCode::SourceChanged);
}

/// Of 256 MiB, in a file of safetensors. What arrives is a thousandth of it.
void TestFarValues::drawsAPictureOfALargeTensor()
{
    FarWindow fixture;
    constexpr qint64 kBytes = qint64{256} << 20;
    const QByteArray header = R"({"large":{"dtype":"F32","shape":[8192,8192],"data_offsets":[0,268435456]}})";
    QDir(fixture.home()).mkpath(u"weights"_s);
    QFile file(fixture.home() + u"/weights/model.safetensors"_s);
    QVERIFY(file.open(QIODevice::WriteOnly));
    const quint64 size = qToLittleEndian<quint64>(static_cast<quint64>(header.size()));
    file.write(reinterpret_cast<const char*>(&size), sizeof(size));
    file.write(header);
    std::mt19937 random(3);
    std::vector<float> values(1 << 20);
    for (qint64 at = 0; at < kBytes; at += 4 << 20) {
        std::ranges::generate(values, [&] { return static_cast<float>(random()) / 4e9F - 0.5F; });
        if (at == 0)
            values[5] = std::numeric_limits<float>::quiet_NaN();
        file.write(reinterpret_cast<const char*>(values.data()), 4 << 20);
    }
    file.close();
    QVERIFY(fixture.open(u"drawn:~/weights"_s));
    fixture.window().showPage(u"tensor"_s);
    const uint64_t before = receivedFrom("drawn");
    QVERIFY(fixture.window().goToAddress(u"large"_s));
    QVERIFY(fixture.settle());
    QVERIFY(fixture.find<HeatMap>("heatMap")->samples().anyFinite);
    const uint64_t shown = receivedFrom("drawn") - before;
    const TensorSourcePtr source = TensorSource::make(fixture.checkpoint(), ParamId{0}, "weight");
    QVERIFY(source);
    const std::stop_token never;
    QElapsedTimer passed;
    passed.start();
    const uint64_t middle = receivedFrom("drawn");
    QVERIFY(readHeat(allFiles(), *source, TensorSlice(source->shape), never).anyFinite);
    const uint64_t drawn = receivedFrom("drawn") - middle;
    qInfo("page of a tensor of 256 MiB: received %llu; its heat map: %llu, %lld ms",
        static_cast<unsigned long long>(shown), static_cast<unsigned long long>(drawn), passed.elapsed());
    QVERIFY(drawn < 256 << 10);
    QVERIFY(shown < 2 << 20);
    const uint64_t last = receivedFrom("drawn");
    QTest::mouseClick(fixture.find<QPushButton>("statisticsExact"), Qt::LeftButton);
    const auto* note = fixture.find<QLabel>("statisticsNote");
    QVERIFY(QTest::qWaitFor([&] { return note->text().contains(u"Of every element"_s); }, kPatience));
    QCOMPARE(note->text(), u"Of every element · computed on drawn"_s);
    // That would read every value here: it is said.
    const auto* rest = fixture.find<QLabel>("tensorCopies");
    const QString words = u"Not looked for: the first NaN. The values are on drawn."_s;
    QVERIFY2(QTest::qWaitFor([&] { return rest->text() == words; }, kPatience), qPrintable(rest->text()));
    QVERIFY(rest->isVisible());
    qInfo(
        "its exact statistics: received %llu", static_cast<unsigned long long>(receivedFrom("drawn") - last));
    QVERIFY(receivedFrom("drawn") - last < 512 << 10); // most of it is the histogram
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

void TestFarValues::comparesThere()
{
    FarWindow fixture;
    makeOther(fixture);
    QVERIFY(fixture.open(u"compared:~/runs/llama"_s));
    const PlacedCheckpoint left{fixture.checkpoint(), fixture.window().session().place()};
    CompareRun there(allFiles());
    const uint64_t before = receivedFrom("compared");
    const QString found = comparison(there, left, u"compared:~/runs/other"_s);
    const uint64_t asked = receivedFrom("compared") - before;
    QCOMPARE(there.whereText(), u"computed on compared"_s);
    WindowFixture local;
    QVERIFY(local.open(fixture.home() + u"/runs/llama"_s));
    CompareRun here(allFiles());
    QCOMPARE(found,
        comparison(
            here, {local.checkpoint(), local.window().session().place()}, fixture.home() + u"/runs/other"_s));
    QVERIFY(here.whereText().isEmpty());
    QVERIFY2(found.contains(u"\"incomplete-right\""_s) && found.contains(u"\"values\""_s), qPrintable(found));
    QVERIFY(there.outcome()->leftMarks && there.outcome()->rightMarks);
    qInfo("comparison: bytes of files %llu, received %llu",
        static_cast<unsigned long long>(bytesOf(*left.checkpoint) + bytesOf(*there.outcome()->right)),
        static_cast<unsigned long long>(asked));

    CompareRun pulled(allFiles());
    const uint64_t middle = receivedFrom("compared");
    QCOMPARE(comparison(pulled, left, fixture.home() + u"/runs/other"_s), found);
    QCOMPARE(pulled.whereText(), u"values are sent by compared"_s);
    qInfo("values of one side: received %llu",
        static_cast<unsigned long long>(receivedFrom("compared") - middle));
}

void TestFarValues::comparesWithThisMachineHere()
{
    FarWindow fixture;
    makeOther(fixture);
    QVERIFY(fixture.open(u"alone:~/runs/llama"_s));
    QVERIFY(compareWith(fixture, fixture.home() + u"/runs/other"_s));
    const auto* facts = fixture.find<QLabel>("compareFacts");
    QVERIFY2(facts->text().endsWith(u"values are sent by alone"_s), qPrintable(facts->text()));
}

void TestFarValues::stopsAComparisonThere()
{
    FarWindow fixture;
    makeOther(fixture);
    QVERIFY(fixture.open(u"ceased:~/runs/llama"_s));
    const PlacedCheckpoint left{fixture.checkpoint(), fixture.window().session().place()};
    JobContext opening;
    const auto right = openCheckpoint(allFiles(), toPath(u"ceased:~/runs/other"_s), {}, opening);
    QVERIFY(right);
    fixture.signalLines(SIGSTOP);
    std::stop_source stop;
    JobContext job(stop.get_token());
    const Thread stopper = Thread::start([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        stop.request_stop();
    });
    const auto judged = compareThere(allFiles(), left, {left.checkpoint, right->checkpoint, nullptr},
        {toPath(u"ceased:~/runs/other"_s), {}, {}}, job);
    fixture.signalLines(SIGCONT);
    QVERIFY(!judged && judged.error().code == ErrorCode::Cancelled);
}

void TestFarValues::takesNoComparisonOfOtherFiles()
{
    FarWindow fixture;
    makeOther(fixture);
    QVERIFY(fixture.open(u"altered:~/runs/llama"_s));
    const PlacedCheckpoint left{fixture.checkpoint(), fixture.window().session().place()};
    flip(fixture);
    CompareRun run(allFiles());
    run.start(left, {toPath(u"altered:~/runs/other"_s), {}, {}});
    QVERIFY(QTest::qWaitFor([&] { return !run.isRunning(); }, kPatience));
    QVERIFY(run.error() && run.error()->code == ErrorCode::SourceChanged);
}

SHARDSCOPE_UI_TEST(TestFarValues, WithDisplay)
#include "tst_far_values.moc"
