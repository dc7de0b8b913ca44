// SPDX-License-Identifier: Apache-2.0
// Jobs that run on another host: their cards, and how the window starts them.
#include "tests/ui/dialogs/far_window.h"
#include "tests/ui/ui_tests.h"
#include "ui/controls/job_card.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/export_form.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/jobs_panel.h"
#include "ui/session/far_jobs.h"
#include "ui/session/plans/repair_preview.h"
#include "ui/session/shell_words.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QLabel>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>

#include <algorithm>
#include <limits>
#include <memory>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr int kPatience = 30'000;

/// The command line's program, with the same hosts.
class Shell : public QProcess
{
public:
    explicit Shell(const QStringList& words)
    {
        setStandardOutputFile(QProcess::nullDevice());
        setStandardErrorFile(QProcess::nullDevice());
        start(QString::fromStdString(programPath()), words);
    }
    ~Shell() override
    {
        terminate(); // the job continues
        waitForFinished();
    }
};

/// The card of the only job on another host; null if there is none.
JobCard* cardOf(FarWindow& fixture)
{
    for (auto* card : fixture.window().findChildren<JobCard*>())
        if (!card->job()->facts().host.isEmpty())
            return card;
    return nullptr;
}

QString statusOf(FarWindow& fixture)
{
    JobCard* card = cardOf(fixture);
    return card == nullptr ? QString() : card->findChild<ElidedLabel*>(u"jobStatus"_s)->text();
}

bool comes(FarWindow& fixture, JobState state)
{
    return QTest::qWaitFor(
        [&] {
            JobCard* card = cardOf(fixture);
            return card != nullptr && card->job()->state() == state;
        },
        kPatience);
}

void press(FarWindow& fixture, const char* name)
{
    auto* button = cardOf(fixture)->findChild<QAbstractButton*>(QString::fromLatin1(name));
    QVERIFY2(button != nullptr && button->isVisible() && button->isEnabled(), name);
    QTest::mouseClick(button, Qt::LeftButton);
}

bool offers(FarWindow& fixture, const char* name)
{
    auto* button = cardOf(fixture)->findChild<QAbstractButton*>(QString::fromLatin1(name));
    return button != nullptr && button->isVisible() && button->isEnabled();
}

/// The dialog to write for three ranks to a folder, with its preview.
ReshardDialog* reshardTo(FarWindow& fixture, const QString& target)
{
    ReshardDialog* dialog = fixture.window().showReshardDialog();
    QSignalSpy shown(dialog, &ReshardDialog::previewShown);
    dialog->form()->setTarget(target);
    dialog->form()->setWorldSize(3);
    return shown.wait(kPatience) ? dialog : nullptr;
}

} // namespace

class TestFarJobs : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void showsAndGuidesJobsOfAHost();
    void saysWhenTheLineIsLost();
    void startsAJobWhereTheCheckpointIs();
    void exportsWhereTheCheckpointIs();
    void repairsWhereTheCheckpointIs();
    void refusesAThirdHost();
    void showsAnyNumberOfAHost();
    void isHiddenAfterItsJobsEnded();
    void takesWordsApart_data();
    void takesWordsApart();
};

void TestFarJobs::showsAndGuidesJobsOfAHost()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"guided:~/runs/llama"_s));
    const Shell shell({u"reshard"_s, u"guided:~/runs/llama"_s, u"guided:~/runs/three"_s, u"-w"_s, u"3"_s,
        u"--bwlimit"_s, u"50K"_s});
    fixture.window().showJobs();
    QVERIFY(comes(fixture, JobState::Running));
    JobCard* card = cardOf(fixture);
    QCOMPARE(card->job()->title(), u"Reshard on guided"_s);
    QVERIFY(card->job()->subtitle().contains(u"runs/three"_s));
    QVERIFY(QTest::qWaitFor([&] { return card->job()->progress().bytesTotal > 0; }, kPatience));
    QVERIFY(card->findChild<QProgressBar*>()->isVisible());
    QVERIFY2(statusOf(fixture).contains(u"started"_s), qPrintable(statusOf(fixture)));
    QCOMPARE(fixture.window().jobs().activeCount(), 0); // it does not keep the window open

    press(fixture, "jobCancel");
    QVERIFY(comes(fixture, JobState::Cancelled));
    QVERIFY2(statusOf(fixture).startsWith(u"Interrupted"_s), qPrintable(statusOf(fixture)));
    QVERIFY(offers(fixture, "jobDismiss"));
    press(fixture, "jobResume");
    QVERIFY(comes(fixture, JobState::Running));
    press(fixture, "jobCancel");
    QVERIFY(comes(fixture, JobState::Cancelled));
    press(fixture, "jobDismiss");
    QVERIFY(QTest::qWaitFor([&] { return cardOf(fixture) == nullptr; }, kPatience));
    QVERIFY(QDir(fixture.home() + u"/.cache/shardscope/jobs"_s).isEmpty());
}

void TestFarJobs::saysWhenTheLineIsLost()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"lost:~/runs/llama"_s));
    const Shell shell({u"reshard"_s, u"lost:~/runs/llama"_s, u"lost:~/runs/three"_s, u"-w"_s, u"3"_s,
        u"--bwlimit"_s, u"60K"_s});
    fixture.window().showJobs();
    QVERIFY(comes(fixture, JobState::Running));
    fixture.setDown(true);
    fixture.signalLines(SIGKILL);
    const auto unknown = [&] { return cardOf(fixture)->job()->facts().unknown; };
    QVERIFY(QTest::qWaitFor([&] { return unknown().contains(u"lost"_s); }, kPatience));
    QCOMPARE(cardOf(fixture)->job()->state(), JobState::Running); // as it was last known
    QVERIFY2(statusOf(fixture).contains(u"Last known"_s), qPrintable(statusOf(fixture)));
    QVERIFY(!offers(fixture, "jobCancel"));
    fixture.setDown(false);
    QVERIFY(QTest::qWaitFor([&] { return !fixture.bar().isHidden(); }, kPatience));
    QTest::mouseClick(fixture.bar().findChild<QPushButton*>(), Qt::LeftButton);
    QVERIFY(fixture.settle());
    QVERIFY(QTest::qWaitFor([&] { return unknown().isEmpty(); }, kPatience));
    press(fixture, "jobCancel");
    QVERIFY(comes(fixture, JobState::Cancelled));
}

void TestFarJobs::startsAJobWhereTheCheckpointIs()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"started:~/runs/llama"_s));
    ReshardDialog* dialog = reshardTo(fixture, u"started:~/runs/three"_s);
    QVERIFY(dialog != nullptr);
    QVERIFY2(
        dialog->startButton()->isEnabled(), qPrintable(dialog->findChild<QLabel*>(u"messageText"_s)->text()));
    QVERIFY(dialog->findChild<QLabel*>(u"messageText"_s)->text().contains(u"runs on started"_s));
    auto* save = dialog->findChild<QPushButton*>(u"reshardSave"_s);
    QVERIFY(!save->isEnabled()); // `shardscope run` would refuse it
    QVERIFY2(save->toolTip().contains(u"another host"_s), qPrintable(save->toolTip()));
    dialog->startButton()->click();
    QVERIFY(comes(fixture, JobState::Succeeded));
    QVERIFY(fixture.window().jobs().jobs().isEmpty());
    press(fixture, "jobOpen");
    QVERIFY(fixture.settle());
    QCOMPARE(fixture.checkpoint()->parallel.dp, 3U);
    QCOMPARE(toPath(u"started:"_s % fixture.home() % u"/runs/three"_s), fixture.checkpoint()->runFolder);
    // Once more: its result is in the way.
    QVERIFY(fixture.open(u"started:~/runs/llama"_s));
    dialog = reshardTo(fixture, u"started:~/runs/three"_s);
    QVERIFY(dialog != nullptr && !dialog->startButton()->isEnabled());
    dialog->reject();
}

void TestFarJobs::exportsWhereTheCheckpointIs()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"exported:~/runs/llama"_s));
    ExportDialog* dialog = fixture.window().showExportDialog();
    QSignalSpy shown(dialog, &ExportDialog::previewShown);
    dialog->form()->setTarget(u"exported:"_s % fixture.home() % u"/weights"_s);
    QVERIFY(shown.wait(kPatience));
    QVERIFY2(
        dialog->startButton()->isEnabled(), qPrintable(dialog->findChild<QLabel*>(u"messageText"_s)->text()));
    dialog->startButton()->click();
    QVERIFY(comes(fixture, JobState::Succeeded));
    QVERIFY(QFile::exists(fixture.home() + u"/weights/model.safetensors"_s));
    press(fixture, "jobOpen");
    QVERIFY(fixture.settle());
    QVERIFY(toText(fixture.checkpoint()->tagFolder.native()).startsWith(u"exported:/"_s));
}

void TestFarJobs::repairsWhereTheCheckpointIs()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"repaired:~/runs/llama"_s));
    fixture.window().showPage(u"findings"_s);
    QVERIFY(fixture.settle());
    auto* page = fixture.window().findChild<FindingsPage*>();
    QVERIFY(page != nullptr);
    RepairOptions options;
    options.values = {"step=9"};
    const QString target = u"repaired:"_s % fixture.home() % u"/it's a copy"_s;
    const PlanPreview preview
        = previewRepair(allFiles(), fixture.window().session().place(), options, toPath(target), {});
    QVERIFY2(preview.plan && !preview.problem, preview.problem ? preview.problem->message.c_str() : "");
    Q_EMIT page->repairRequested(preview.plan, target);
    QVERIFY(comes(fixture, JobState::Succeeded));
    QVERIFY(QFile::exists(fixture.home() + u"/it's a copy/latest"_s));
}

void TestFarJobs::refusesAThirdHost()
{
    FarWindow fixture;
    QVERIFY(fixture.open(u"second:~/runs/llama"_s));
    ReshardDialog* dialog = reshardTo(fixture, u"third:/runs/three"_s);
    QVERIFY(dialog != nullptr);
    QVERIFY(!dialog->startButton()->isEnabled());
    const QString why = dialog->findChild<QLabel*>(u"messageText"_s)->text();
    QVERIFY2(why.contains(u"third"_s) && why.contains(u"second"_s), qPrintable(why));
    dialog->reject();
}

void TestFarJobs::showsAnyNumberOfAHost()
{
    QCOMPARE(durationText(std::numeric_limits<double>::quiet_NaN()), u"0 s"_s);
    QCOMPARE(durationText(-5), u"0 s"_s);
    QVERIFY(durationText(1e300).endsWith(u" min"_s));
    WindowFixture ui;
    DetachedJob said;
    said.id = "any";
    said.state = jobs::JobState::Running;
    said.command = "shardscope reshard /a /b";
    said.progress = Progress{"writing", UINT64_MAX, 1, 1e300, 1e300};
    FarJob job("liar", said);
    JobCard card(ui.theme(), ui.window().jobs(), &job);
    const auto* bar = card.findChild<QProgressBar*>();
    QCOMPARE(bar->value(), bar->maximum());
}

void TestFarJobs::isHiddenAfterItsJobsEnded()
{
    WindowFixture ui;
    JobsPanel panel(ui.theme(), ui.window().jobs());
    auto jobs = std::make_unique<FarJobs>();
    panel.showFarJobs(*jobs);
    panel.show();
    jobs.reset();
    panel.hide();
    QVERIFY(panel.isHidden());
}

void TestFarJobs::takesWordsApart_data()
{
    QTest::addColumn<QStringList>("words");
    QTest::newRow("plain") << QStringList{u"reshard"_s, u"/a/b"_s, u"--world-size"_s, u"3"_s};
    QTest::newRow("blanks") << QStringList{u"/a b/c"_s, u""_s, u" "_s};
    QTest::newRow("quotes") << QStringList{u"it's"_s, u"'"_s, u"\""_s, u"\\"_s, u"a\\'b"_s};
}

void TestFarJobs::takesWordsApart()
{
    QFETCH(QStringList, words);
    QStringList quoted;
    std::vector<std::string> expected;
    for (const QString& word : words) {
        quoted.append(quotedWord(word));
        expected.push_back(word.toStdString());
    }
    QCOMPARE(unquotedWords(quoted.join(u' ')), expected);
}

SHARDSCOPE_UI_TEST(TestFarJobs, WithDisplay)
#include "tst_far_jobs.moc"
