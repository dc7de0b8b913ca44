// SPDX-License-Identifier: Apache-2.0
// What a window has read of a checkpoint on another host is not sent again, and what changed there is read
// again.
#include "tests/ui/dialogs/far_window.h"
#include "tests/ui/dialogs/reshard_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/dialogs/export_dialog.h"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestFarReads : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void plansReadNothingTwice();
    void whatChangedInPlaceIsReadAnew();
};

namespace {

/// So that a change would be seen in the times of the files.
constexpr int kSettled = 2100;

} // namespace

void TestFarReads::plansReadNothingTwice()
{
    FarWindow fixture;
    QTest::qWait(kSettled);
    QVERIFY(fixture.open(u"plans:~/runs/llama"_s));
    QVERIFY(fixture.checkpoint());
    uint64_t bytes = 0;
    for (const CheckpointFile& file : fixture.checkpoint()->files)
        bytes += file.identity.bytes;
    const auto traffic = [] { return far::farHost("plans").traffic(); };
    const far::FarTraffic opened = traffic();
    QVERIFY2(opened.bytesReceived < bytes, qPrintable(QString::number(opened.bytesReceived)));
    for (const uint32_t ranks : {2U, 3U}) {
        const Reshard dialog(fixture, ranks);
        QVERIFY(dialog.settle());
        dialog->reject();
    }
    ExportDialog* dialog = fixture.window().showExportDialog();
    QSignalSpy shown(dialog, &ExportDialog::previewShown);
    QVERIFY(shown.wait(30'000));
    dialog->reject();
    const far::FarTraffic planned = traffic();
    // Files are looked at together.
    const uint64_t files = fixture.checkpoint()->files.size();
    QVERIFY2(planned.questions - opened.questions < 4 * files,
        qPrintable(QString::number(planned.questions - opened.questions)));
    fixture.window().actionSet()[ActionId::Reload]->trigger();
    QVERIFY(fixture.settle());
    const uint64_t more = traffic().bytesReceived - opened.bytesReceived;
    QVERIFY2(more < bytes / 10, qPrintable(QString::number(more)));
}

void TestFarReads::whatChangedInPlaceIsReadAnew()
{
    FarWindow fixture;
    QTest::qWait(kSettled);
    QVERIFY(fixture.open(u"inplace:~/runs/llama"_s));
    QVERIFY(fixture.checkpoint());
    const auto findings = fixture.checkpoint()->findings.size();
    const QDir tag(fixture.home() + u"/runs/llama/global_step5"_s);
    QFile shard(tag.filePath(tag.entryList({u"*rank_1_*optim_states.pt"_s}).value(0)));
    QVERIFY(shard.open(QIODevice::ReadWrite));
    const QByteArray before = shard.readAll();
    const auto reloadWith = [&](const QByteArray& content) {
        return shard.seek(0) && shard.write(content) == content.size() && shard.flush() && [&] {
            fixture.window().actionSet()[ActionId::Reload]->trigger();
            return fixture.settle();
        }();
    };
    QVERIFY(reloadWith(QByteArray(before.size(), '\0')));
    QVERIFY(fixture.checkpoint());
    QVERIFY(fixture.checkpoint()->findings.size() != findings);
    QVERIFY(reloadWith(before));
    QVERIFY(fixture.checkpoint());
    QCOMPARE(fixture.checkpoint()->findings.size(), findings);
}

SHARDSCOPE_UI_TEST(TestFarReads, WithDisplay)
#include "tst_far_reads.moc"
