// SPDX-License-Identifier: Apache-2.0
// What the window does with the open checkpoint besides writing another one: verify, fingerprint, skeleton,
// and check for a use.
#include "core/checkpoint/folder/skeleton.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/engine/write/execute.h"
#include "core/plan/repair/repair.h"
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/check_target_chooser.h"
#include "ui/controls/job_card.h"
#include "ui/pages/findings_page.h"
#include "ui/style/app_style.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/link_button.h"

#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// A tag that release 0.1 wrote, with its manifest.
QString writtenSample(const WindowFixture& ui)
{
    const QString to = ui.folder(u"written"_s);
    std::filesystem::copy(sourceFolder() + "/tests/data/release-0.1", to.toStdString(),
        std::filesystem::copy_options::recursive);
    return to;
}

/// Changes one byte in the middle of a file.
bool damage(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadWrite) || !file.seek(file.size() / 2))
        return false;
    char byte = 0;
    file.peek(&byte, 1);
    byte = static_cast<char>(~byte);
    return file.write(&byte, 1) == 1;
}

/// The newest job, after its end; null if there is none.
Job* endedJob(WindowFixture& ui)
{
    const QList<Job*>& jobs = ui.window().jobs().jobs();
    Job* job = jobs.isEmpty() ? nullptr : jobs.last();
    return job != nullptr && QTest::qWaitFor([job] { return !job->isActive(); }, 30'000) ? job : nullptr;
}

JobCard* cardOf(MainWindow& window, const Job* job)
{
    for (JobCard* card : window.findChildren<JobCard*>())
        if (card->job() == job)
            return card;
    return nullptr;
}

QAction* action(WindowFixture& ui, const char* name)
{
    return ui.find<QAction>(name);
}

QString statusOf(const JobCard* card)
{
    return card->findChild<ElidedLabel*>(u"jobStatus"_s)->text();
}

/// For people to look at.
void keepPicture(QWidget& widget, const QString& name)
{
    if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty()) {
        QCoreApplication::processEvents();
        QVERIFY(widget.grab().save(QString::fromLocal8Bit(to) % u'/' % name % u".png"_s));
    }
}

/// The jobs panel, large enough for its cards.
void keepJobs(WindowFixture& ui, const QString& name)
{
    auto* dock = ui.find<QDockWidget>("jobsDock");
    ui.window().resizeDocks({dock}, {300}, Qt::Vertical);
    keepPicture(ui.window(), name);
}

/// Answers the file dialog of this name.
bool answer(WindowFixture& ui, const char* name, const QString& path)
{
    auto* dialog = ui.find<QFileDialog>(name);
    if (dialog == nullptr)
        return false;
    Q_EMIT dialog->fileSelected(path);
    dialog->close();
    return true;
}

std::string fingerprintOfSample(const char* sample)
{
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), samplePath(sample).toStdString(), {}, job);
    const auto found = fingerprintState(io::realFileSystem(), opened->checkpoint, {}, job);
    return found ? found->whole.text() : std::string();
}

} // namespace

class TestCheckpointJobs : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }

    void verifyComparesWithTheManifest()
    {
        WindowFixture ui;
        QVERIFY(ui.open(writtenSample(ui)));
        QTest::keyClick(&ui.window(), Qt::Key_F8, Qt::ShiftModifier);
        const Job* job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY2(job->outcome().summary.contains(u"as it was written"_s), qPrintable(job->outcome().summary));
        QVERIFY(job->outcome().summary.contains(u"against the manifest"_s));
        QVERIFY(!job->outcome().needsAttention && job->outcome().problems.empty());
        keepJobs(ui, u"verified"_s);
    }

    void theOverviewVerifies()
    {
        WindowFixture ui;
        QVERIFY(ui.open(writtenSample(ui)));
        const auto steps = ui.find<QWidget>("nextSteps")->findChildren<LinkButton*>(u"nextStep"_s);
        const auto link = std::find_if(steps.begin(), steps.end(),
            [](const LinkButton* step) { return step->text().startsWith(u"Verify"_s); });
        QVERIFY(link != steps.end());
        ui.find<QScrollArea>("overviewScroll")->ensureWidgetVisible(*link);
        QTest::mouseClick(*link, Qt::LeftButton);
        const Job* job = endedJob(ui);
        QVERIFY(job != nullptr && job->state() == JobState::Succeeded);
        QVERIFY(job->title().startsWith(u"Verify"_s));
    }

    void verifyWithoutAManifestSaysSo()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const auto steps = ui.find<QWidget>("nextSteps")->findChildren<LinkButton*>(u"nextStep"_s);
        QVERIFY(!steps.isEmpty() && steps.last()->text().contains(u"only its checksums"_s));
        ui.find<QScrollArea>("overviewScroll")->ensureWidgetVisible(steps.last());
        QTest::mouseClick(steps.last(), Qt::LeftButton);
        const Job* job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        const QString text = job->outcome().summary;
        QVERIFY2(text.contains(u"no manifest"_s) && text.contains(u"Compare it"_s), qPrintable(text));
        QVERIFY(!text.contains(u"Verified"_s));
        QVERIFY(job->outcome().needsAttention);
    }

    void verifyOfAManifestThatCannotBeUsedSaysSo()
    {
        WindowFixture ui;
        const QString path = writtenSample(ui);
        QFile manifest(path % u"/global_step7/shardscope.json"_s);
        QVERIFY(manifest.open(QIODevice::WriteOnly | QIODevice::Truncate) && manifest.write("{}") == 2);
        manifest.close();
        QVERIFY(ui.open(path));
        action(ui, "actionVerify")->trigger();
        const Job* job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        const QString text = job->outcome().summary;
        QVERIFY2(text.contains(u"The manifest (shardscope.json) is damaged."_s), qPrintable(text));
        QVERIFY2(
            !text.contains(u"against the manifest"_s) && !text.contains(u"no manifest"_s), qPrintable(text));
    }

    void verifyLeadsToTheFileThatDiffers()
    {
        WindowFixture ui;
        const QString path = writtenSample(ui);
        const QString tag = path % u"/global_step7/"_s;
        const QString name = QDir(tag).entryList({u"*optim_states.pt"_s}).last();
        QVERIFY(damage(tag % name));
        QVERIFY(ui.open(path));
        action(ui, "actionVerify")->trigger();
        const Job* job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY(job->outcome().needsAttention);
        QVERIFY2(
            job->outcome().summary.startsWith(u"Verification failed"_s), qPrintable(job->outcome().summary));
        JobCard* card = cardOf(ui.window(), job);
        const auto links = card->findChildren<LinkButton*>(u"jobProblem"_s);
        const auto link = std::find_if(
            links.begin(), links.end(), [&](const LinkButton* each) { return each->text().contains(name); });
        QVERIFY(link != links.end());
        keepJobs(ui, u"mismatch"_s);
        ui.window().showPage(u"overview"_s);
        QTest::mouseClick(*link, Qt::LeftButton);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QWidget>("filesPage")->isVisible());
        const FileId file = ui.window().selection().current().file;
        QVERIFY(file != kNoFile);
        QCOMPARE(QString::fromStdString(ui.checkpoint()->file(file).name), name);
        // Also if another checkpoint is open by then.
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QTest::mouseClick(*link, Qt::LeftButton);
        QVERIFY(ui.settle());
        QTRY_VERIFY(ui.window().selection().current().file != kNoFile);
        QCOMPARE(pathText(ui.checkpoint()->tagFolder), QDir::cleanPath(tag));
        QVERIFY(ui.find<QWidget>("filesPage")->isVisible());
    }

    void verifyTellsRepairedValuesFromDamage()
    {
        WindowFixture ui;
        JobContext job;
        io::FileSystem& files = io::realFileSystem();
        const auto plan = planRepair(files, brokenSample(ui).toStdString(), {},
            {.fixes = {"rank-missing"}, .values = {"step=6"}}, job);
        QVERIFY2(plan.has_value(), plan ? "" : describe(plan.error()).c_str());
        ExecuteOptions options;
        options.destination = ui.folder(u"repaired"_s).toStdString();
        options.sourceRunFolder = (*plan)->repair->source->runFolder;
        QVERIFY(execute(files, **plan, options, job).has_value());
        QVERIFY(ui.open(ui.folder(u"repaired"_s)));
        action(ui, "actionVerify")->trigger();
        const Job* verified = endedJob(ui);
        QVERIFY(verified != nullptr && verified->state() == JobState::Succeeded);
        const QString text = verified->outcome().summary;
        QVERIFY2(text.startsWith(u"Verified"_s) && text.contains(u"reconstructed"_s), qPrintable(text));
        QVERIFY(verified->outcome().needsAttention && !verified->outcome().problems.empty());
        keepJobs(ui, u"marked"_s);
    }

    void closingAsksAboutAJobThatReads()
    {
        WindowFixture ui;
        auto* job = new Job(u"Verify"_s, {}, [](JobContext& context) -> Result<JobOutcome> {
            while (!context.cancelled())
                QThread::msleep(1);
            return fail(ErrorCode::Cancelled, "cancelled");
        });
        JobFacts facts;
        facts.onlyReads = true;
        job->setFacts(facts);
        ui.window().jobs().add(job);
        ui.window().close();
        auto* box = ui.find<QMessageBox>("closeQuestion");
        QVERIFY(box != nullptr && box->text().contains(u"still reading"_s));
        box->close();
        ui.window().jobs().cancelAll();
    }

    void verifyIsCancelledWithoutTalkOfWhatIsKept()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().jobs().add(new Job(u"Other"_s, {}, [](JobContext& context) -> Result<JobOutcome> {
            while (!context.cancelled())
                QThread::msleep(1);
            return fail(ErrorCode::Cancelled, "cancelled");
        }));
        action(ui, "actionVerify")->trigger(); // waits for it
        Job* job = ui.window().jobs().jobs().last();
        JobCard* card = cardOf(ui.window(), job);
        QTest::mouseClick(card->findChild<QPushButton*>(u"jobCancel"_s), Qt::LeftButton);
        QCOMPARE(job->state(), JobState::Cancelled);
        QCOMPARE(statusOf(card), u"Cancelled."_s);
        ui.window().jobs().cancelAll();
    }

    void theFingerprintIsComputedShownAndCopied()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const auto link = [&] { return ui.find<LinkButton>("fingerprintLink"); };
        QTRY_VERIFY(link() != nullptr);
        ui.find<QScrollArea>("overviewScroll")->ensureWidgetVisible(link());
        QTest::mouseClick(link(), Qt::LeftButton);
        const Job* job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        const QString expected = QString::fromStdString(fingerprintOfSample("zero3-w4"));
        QCOMPARE(expected.size(), 32);
        QCOMPARE(job->outcome().figure, expected);
        QTRY_COMPARE(link()->text(), expected);
        keepJobs(ui, u"fingerprint"_s);
        QApplication::clipboard()->clear();
        auto* copy = cardOf(ui.window(), job)->findChild<QPushButton*>(u"jobCopy"_s);
        QVERIFY(copy->isVisible());
        QTest::mouseClick(copy, Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(), expected);
        // Known now: it is copied, and no other job begins.
        QApplication::clipboard()->clear();
        link()->setFocus(Qt::TabFocusReason);
        QTest::keyClick(link(), Qt::Key_Return);
        QCOMPARE(QApplication::clipboard()->text(), expected);
        QCOMPARE(ui.window().jobs().jobs().size(), 1);
        // Of another checkpoint it is not known.
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QTRY_VERIFY(link() != nullptr && link()->text() != expected);
    }

    void aFigureOfChangedFilesIsNotThatOfWhatIsShown()
    {
        WindowFixture ui;
        const QString path = copiedSample("zero3-w4", ui.folder(u"run"_s));
        QVERIFY(ui.open(path));
        const QString tag = QString::fromStdString(ui.checkpoint()->tagFolder.native());
        QFile file(tag % u'/' % QDir(tag).entryList({u"*optim_states.pt"_s}).first());
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(
            file.setFileTime(QDateTime::currentDateTime().addDays(-1), QFileDevice::FileModificationTime));
        file.close();
        action(ui, "actionFingerprint")->trigger();
        const Job* job = endedJob(ui);
        QVERIFY(job != nullptr && job->state() == JobState::Succeeded);
        QTest::qWait(50);
        QVERIFY(ui.find<LinkButton>("fingerprintLink")->text() != job->outcome().figure);
    }

    void aSkeletonIsSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const auto params = ui.checkpoint()->params.size();
        action(ui, "actionSaveSkeleton")->trigger();
        const QString to = ui.folder(u"for-a-report.zip"_s);
        QVERIFY(answer(ui, "skeletonDialog", to));
        Job* job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY(QFile::exists(to));
        keepJobs(ui, u"skeleton"_s);
        QTest::mouseClick(cardOf(ui.window(), job)->findChild<QPushButton*>(u"jobOpen"_s), Qt::LeftButton);
        QVERIFY(ui.settle());
        QVERIFY(isSkeleton(*ui.checkpoint()));
        QCOMPARE(ui.checkpoint()->params.size(), params);
        // It has no values: what needs them is not offered, and says why.
        for (const char* name : {"actionVerify", "actionFingerprint", "actionSaveSkeleton"}) {
            QVERIFY(!action(ui, name)->isEnabled());
            QVERIFY2(
                action(ui, name)->toolTip().contains(u"skeleton"_s), qPrintable(action(ui, name)->toolTip()));
        }
        QTRY_VERIFY(ui.find<LinkButton>("fingerprintLink") == nullptr);
        for (const LinkButton* step : ui.find<QWidget>("nextSteps")->findChildren<LinkButton*>())
            QVERIFY2(!step->text().startsWith(u"Verify"_s), qPrintable(step->text()));
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(action(ui, "actionVerify")->isEnabled());
        QVERIFY(!action(ui, "actionVerify")->toolTip().contains(u"skeleton"_s));
    }

    void aSkeletonReplacesOnlyWhatTheDialogHasAskedAbout()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().jobs().add(new Job(u"Other"_s, {}, [](JobContext& context) -> Result<JobOutcome> {
            while (!context.cancelled())
                QThread::msleep(1);
            return fail(ErrorCode::Cancelled, "cancelled");
        }));
        const QString to = ui.folder(u"for-a-report.zip"_s);
        action(ui, "actionSaveSkeleton")->trigger(); // waits for the other job
        QVERIFY(answer(ui, "skeletonDialog", to));
        Job* job = ui.window().jobs().jobs().last();
        ui.window().jobs().cancelAll();
        QTRY_VERIFY(ui.window().jobs().activeCount() == 0 && job->state() == JobState::Cancelled);
        QFile file(to);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("mine") == 4);
        file.close();
        ui.window().jobs().resume(job);
        QTRY_VERIFY_WITH_TIMEOUT(job->state() == JobState::Failed, 30'000);
        QCOMPARE(job->error().code, ErrorCode::TargetExists);
        QVERIFY(!statusOf(cardOf(ui.window(), job)).contains(u"--"_s)); // no option of a terminal
        QCOMPARE(QFileInfo(to).size(), 4);
        action(ui, "actionSaveSkeleton")->trigger();
        QVERIFY(answer(ui, "skeletonDialog", to)); // which has asked
        job = endedJob(ui);
        QVERIFY2(job != nullptr && job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY(QFileInfo(to).size() > 4);
    }

    void aSkeletonInsideOfTheRunIsRefused()
    {
        WindowFixture ui;
        const QString path = copiedSample("zero3-w4", ui.folder(u"run"_s));
        QVERIFY(ui.open(path));
        action(ui, "actionSaveSkeleton")->trigger();
        QVERIFY(answer(ui, "skeletonDialog", path % u"/inside.zip"_s));
        const Job* job = endedJob(ui);
        QVERIFY(job != nullptr && job->state() == JobState::Failed);
        QVERIFY(!QFile::exists(path % u"/inside.zip"_s));
    }

    void aFailureIsShownWhole()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QString path = u"/runs/"_s % QString(300, u'a') % u"/zero_pp_rank_0_optim_states.pt"_s;
        ui.window().jobs().add(new Job(u"Broken"_s, {}, [path](JobContext&) -> Result<JobOutcome> {
            return fail(ErrorCode::Unreadable, "the archive has no end record: " + std::string(200, 'b'),
                path.toStdString(), "copy the file again");
        }));
        const Job* job = endedJob(ui);
        QVERIFY(job != nullptr && job->state() == JobState::Failed);
        auto* status = cardOf(ui.window(), job)->findChild<ElidedLabel*>(u"jobStatus"_s);
        QVERIFY(status->text().contains(path));
        QTRY_VERIFY2(status->height() >= status->heightForWidth(status->width()),
            qPrintable(QString::number(status->height())));
        QVERIFY(status->height() > 3 * status->fontMetrics().height());
        QVERIFY(ui.window().minimumSizeHint().width() < 900);
        const auto* panel = ui.find<QScrollArea>("jobsPanel");
        QTRY_VERIFY(panel->widget()->width() <= panel->viewport()->width());
        keepJobs(ui, u"failure"_s);
    }

    void aCheckForAUseFindsWhatPreventsIt()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"findings"_s));
        auto* page = ui.find<FindingsPage>("findingsPage");
        const auto hasFinding = [&](std::string_view code) {
            const auto found = page->model()->rowCount();
            for (int row = 0; row < found; ++row)
                if (page->model()->keyOf(page->model()->index(row, 0)).code == code)
                    return true;
            return false;
        };
        QVERIFY(!hasFinding("world-size-mismatch") && !hasFinding("stage-mismatch"));
        auto* use = ui.find<QToolButton>("checkFor");
        auto* depth = ui.find<QComboBox>("checkDepth");
        depth->setCurrentIndex(0); // names of files do not say it
        QTest::mouseClick(use, Qt::LeftButton);
        auto* chooser = ui.find<CheckTargetChooser>("checkTargetChooser");
        QVERIFY(chooser != nullptr && chooser->isVisible());
        chooser->findChild<QSpinBox*>(u"targetRanks"_s)->setValue(7);
        chooser->findChild<QComboBox*>(u"targetStage"_s)->setCurrentIndex(4);
        keepPicture(*chooser, u"check-for"_s);
        QTest::keyClick(chooser, Qt::Key_Return);
        QVERIFY(ui.settle());
        QVERIFY2(use->text().contains(u"7 GPUs, ZeRO-3"_s), qPrintable(use->text()));
        QVERIFY(hasFinding("world-size-mismatch") && hasFinding("stage-mismatch"));
        QCOMPARE(depth->currentData().toInt(), static_cast<int>(CheckDepth::Metadata));
        QVERIFY(ui.find<ElidedLabel>("checkFacts")->text().contains(u"· for 7 GPUs"_s));
        keepPicture(ui.window(), u"checked-for"_s);
        // A check that does not look for it says so.
        depth->setCurrentIndex(0);
        QTest::mouseClick(ui.find<QPushButton>("checkStart"), Qt::LeftButton);
        QVERIFY(ui.settle());
        QVERIFY2(ui.find<ElidedLabel>("checkFacts")->text().contains(u"not for 7 GPUs"_s),
            qPrintable(ui.find<ElidedLabel>("checkFacts")->text()));
        // And back.
        QTest::mouseClick(use, Qt::LeftButton);
        chooser = ui.find<CheckTargetChooser>("checkTargetChooser");
        QCOMPARE(chooser->findChild<QSpinBox*>(u"targetRanks"_s)->value(), 7);
        QTest::mouseClick(chooser->findChild<QPushButton*>(u"targetAny"_s), Qt::LeftButton);
        QVERIFY(ui.settle());
        QVERIFY(use->text().contains(u"any use"_s));
        QVERIFY(!hasFinding("world-size-mismatch"));
    }
};

SHARDSCOPE_UI_TEST(TestCheckpointJobs, WithDisplay)
#include "tst_checkpoint_jobs.moc"
