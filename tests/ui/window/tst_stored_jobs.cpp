// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/open.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/places.h"
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/job_card.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/jobs_panel.h"
#include "ui/session/stored_jobs.h"

#include <QDir>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>

#include <cerrno>
#include <thread>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Cannot publish while `broken`: a job then fails at its end and keeps its work folder.
class BrokenDisk : public io::FaultingFileSystem
{
public:
    BrokenDisk()
        : io::FaultingFileSystem(io::realFileSystem())
    {
    }
    Status renameNoReplace(const io::Path& from, const io::Path& to) override
    {
        if (broken)
            return fail(ErrorCode::WriteFailed, "the disk is broken", to.native());
        return io::FaultingFileSystem::renameNoReplace(from, to);
    }
    std::atomic<bool> broken = true;
};

/// Creates no more files while `held`, after the first two.
class HeldDisk : public io::FaultingFileSystem
{
public:
    HeldDisk()
        : io::FaultingFileSystem(io::realFileSystem())
    {
    }
    Result<std::unique_ptr<io::WriteFile>> create(const io::Path& path, uint32_t mode) override
    {
        if (++made > 2) {
            while (held)
                std::this_thread::yield();
        }
        return io::FaultingFileSystem::create(path, mode);
    }
    std::atomic<bool> held = true;
    std::atomic<int> made = 0;
};

Job* makeHeldJob(const std::shared_ptr<std::atomic<bool>>& released)
{
    return new Job(u"Held"_s, u"until released"_s, [released](JobContext& context) -> Result<JobOutcome> {
        while (!*released && !context.cancelled())
            std::this_thread::yield();
        if (context.cancelled())
            return fail(ErrorCode::Cancelled, "cancelled");
        return JobOutcome{u"done"_s, {}};
    });
}

JobCard* cardOf(MainWindow& window, const Job* job)
{
    for (JobCard* card : window.findChildren<JobCard*>())
        if (card->job() == job)
            return card;
    return nullptr;
}

bool isOffered(const JobCard* card, const char* button)
{
    const auto* found = card->findChild<QPushButton*>(QString::fromLatin1(button));
    return found != nullptr && found->isVisibleTo(card);
}

void press(const JobCard* card, const char* button)
{
    card->findChild<QPushButton*>(QString::fromLatin1(button))->click();
}

/// Starts the reshard of the open checkpoint to three GPUs into a folder; null if it cannot.
Job* startReshard(WindowFixture& ui, const QString& to)
{
    ReshardDialog* dialog = ui.window().showReshardDialog();
    dialog->form()->setTarget(to);
    dialog->form()->setWorldSize(3);
    QSignalSpy shown(dialog, &ReshardDialog::previewShown);
    if (!shown.wait(30'000) || !dialog->startButton()->isEnabled())
        return nullptr;
    dialog->startButton()->click();
    return ui.window().jobs().jobs().last();
}

/// The job of a reshard that fails, as on a BrokenDisk; null if it cannot start.
Job* failedReshard(WindowFixture& ui, const QString& path)
{
    Job* job = ui.open(path) ? startReshard(ui, ui.folder(u"out"_s)) : nullptr;
    return job != nullptr && QTest::qWaitFor([job] { return !job->isActive(); }, 30'000) ? job : nullptr;
}

QStringList storedFiles(const WindowFixture& ui)
{
    return QDir(ui.folder(u"jobs"_s)).entryList(QDir::Files);
}

} // namespace

class TestStoredJobs : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void aFailedJobIsTriedAgain()
    {
        BrokenDisk disk;
        WindowFixture ui(ThemeMode::Light, disk);
        Job* job = failedReshard(ui, samplePath("zero2-w2"));
        QVERIFY(job != nullptr && job->state() == JobState::Failed);
        JobCard* card = cardOf(ui.window(), job);
        QVERIFY(isOffered(card, "jobResume") && isOffered(card, "jobDiscard"));
        QCOMPARE(storedFiles(ui).size(), 2); // the plan and the job
        disk.broken = false;
        press(card, "jobResume");
        QTRY_VERIFY2(job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY2(job->outcome().summary.contains(u"kept from an interrupted run"_s),
            qPrintable(job->outcome().summary));
        QTRY_VERIFY(storedFiles(ui).isEmpty());
        QVERIFY(isOffered(card, "jobOpen") && isOffered(card, "jobCompare"));
        // The result and its source are the same training state.
        press(card, "jobCompare");
        QVERIFY(ui.settle());
        auto* verdict = ui.window().findChild<QLabel*>(u"compareVerdict"_s);
        QVERIFY(verdict != nullptr);
        QTRY_VERIFY2(verdict->text().contains(u"same training state"_s, Qt::CaseInsensitive),
            qPrintable(verdict->text()));
    }

    void aJobOfAnEarlierWindowIsOffered()
    {
        BrokenDisk disk;
        WindowFixture ui(ThemeMode::Light, disk);
        Job* job = failedReshard(ui, samplePath("zero3-w4"));
        QVERIFY(job != nullptr && job->state() == JobState::Failed);
        disk.broken = false;
        {
            MainWindow next(disk, ui.theme(), ui.settings());
            next.show();
            next.offerUnfinishedJobs();
            QTRY_COMPARE(next.jobs().jobs().size(), 1);
            Job* again = next.jobs().jobs().first();
            QCOMPARE(again->title(), u"Reshard to 3 GPUs"_s);
            QVERIFY(!again->isActive());
            JobCard* card = cardOf(next, again);
            QVERIFY(isOffered(card, "jobResume"));
            if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty())
                QVERIFY(next.grab().save(QString::fromLocal8Bit(to) + u"/unfinished.png"_s));
            press(card, "jobResume");
            QTRY_VERIFY2(again->state() == JobState::Succeeded, describe(again->error()).c_str());
            QCOMPARE(again->outcome().output, io::Path(ui.folder(u"out/global_step5"_s).toStdString()));
        }
        QVERIFY(storedFiles(ui).isEmpty());
        MainWindow last(disk, ui.theme(), ui.settings());
        last.offerUnfinishedJobs();
        QTest::qWait(200);
        QVERIFY(last.jobs().jobs().isEmpty());
    }

    void aRepairOfAnEarlierWindowIsOffered()
    {
        BrokenDisk disk;
        WindowFixture ui(ThemeMode::Light, disk);
        const QString broken = brokenSample(ui);
        JobContext context;
        const auto plan = planRepair(
            disk, broken.toStdString(), {}, {.fixes = {"rank-missing"}, .values = {"step=9"}}, context);
        QVERIFY(plan.has_value());
        QVERIFY(ui.open(broken));
        Q_EMIT ui.find<FindingsPage>("findingsPage")->repairRequested(*plan, ui.folder(u"repaired"_s));
        Job* job = ui.window().jobs().jobs().last();
        QTRY_VERIFY_WITH_TIMEOUT(!job->isActive(), 30'000);
        QVERIFY(job->state() == JobState::Failed && storedFiles(ui).size() == 2);
        disk.broken = false;
        MainWindow next(disk, ui.theme(), ui.settings());
        next.show();
        next.offerUnfinishedJobs();
        QTRY_COMPARE(next.jobs().jobs().size(), 1);
        Job* again = next.jobs().jobs().first();
        press(cardOf(next, again), "jobResume");
        QTRY_VERIFY2_WITH_TIMEOUT(
            again->state() == JobState::Succeeded, describe(again->error()).c_str(), 30'000);
        QVERIFY2(
            again->outcome().summary.contains(u"it is repaired"_s), qPrintable(again->outcome().summary));
        QVERIFY2(again->outcome().summary.contains(u"kept from an interrupted run"_s),
            qPrintable(again->outcome().summary));
        QVERIFY(storedFiles(ui).isEmpty());
    }

    void aJobIsDiscarded()
    {
        BrokenDisk disk;
        WindowFixture ui(ThemeMode::Light, disk);
        Job* job = failedReshard(ui, samplePath("zero2-w2"));
        QVERIFY(job != nullptr && job->state() == JobState::Failed);
        const QDir out(ui.folder(u"out"_s));
        const auto hidden = QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot;
        QCOMPARE(out.entryList(hidden).size(), 1);
        // The dialog offers to continue it.
        ReshardDialog* dialog = ui.window().showReshardDialog();
        dialog->form()->setTarget(ui.folder(u"out"_s));
        dialog->form()->setWorldSize(3);
        QSignalSpy shown(dialog, &ReshardDialog::previewShown);
        QVERIFY(shown.wait(30'000));
        QCOMPARE(dialog->startButton()->text(), u"Resume"_s);
        QVERIFY(dialog->findChild<QLabel*>(u"messageText"_s)->text().contains(u"interrupted"_s));
        dialog->reject();
        press(cardOf(ui.window(), job), "jobDiscard");
        QTRY_VERIFY(ui.window().jobs().jobs().isEmpty());
        QVERIFY(out.entryList(hidden).isEmpty());
        QVERIFY(storedFiles(ui).isEmpty());
    }

    void aChangedSourceIsRefused()
    {
        BrokenDisk disk;
        WindowFixture ui(ThemeMode::Light, disk);
        const QString copy = copiedSample("zero2-w2", ui.folder(u"run"_s));
        Job* job = failedReshard(ui, copy);
        QVERIFY(job != nullptr && job->state() == JobState::Failed);
        disk.broken = false;
        QFile model(copy + u"/global_step6/mp_rank_00_model_states.pt"_s);
        QVERIFY(model.open(QIODevice::ReadWrite));
        QVERIFY(
            model.setFileTime(QDateTime::currentDateTime().addDays(1), QFileDevice::FileModificationTime));
        model.close();
        MainWindow next(disk, ui.theme(), ui.settings());
        next.offerUnfinishedJobs();
        QTRY_COMPARE(next.jobs().jobs().size(), 1);
        Job* again = next.jobs().jobs().first();
        next.jobs().resume(again);
        QTRY_VERIFY(again->state() == JobState::Failed);
        QCOMPARE(again->error().code, ErrorCode::SourceChanged);
        QVERIFY(!QFileInfo::exists(ui.folder(u"out/global_step6"_s)));
    }

    void jobsWaitForOneAnother()
    {
        WindowFixture ui;
        JobList& jobs = ui.window().jobs();
        std::vector<std::shared_ptr<std::atomic<bool>>> released;
        QList<Job*> made;
        for (int i = 0; i < 4; ++i) {
            released.push_back(std::make_shared<std::atomic<bool>>(false));
            made.append(makeHeldJob(released.back()));
            jobs.add(made.last());
        }
        QVERIFY(made[0]->isRunning());
        QVERIFY(!made[1]->isRunning() && made[1]->isActive());
        QCOMPARE(jobs.activeCount(), 4);
        QCOMPARE(jobs.jobsBefore(made[3]), 3);
        JobCard* last = cardOf(ui.window(), made[3]);
        QVERIFY(isOffered(last, "jobMoveUp"));
        QVERIFY(!isOffered(cardOf(ui.window(), made[1]), "jobMoveUp")); // it is the next one
        press(last, "jobMoveUp");
        QCOMPARE(jobs.jobsBefore(made[3]), 1);
        *released[0] = true;
        QTRY_VERIFY(made[0]->state() == JobState::Succeeded);
        QTRY_VERIFY(made[3]->isRunning());
        QVERIFY(!made[1]->isRunning());
        press(cardOf(ui.window(), made[2]), "jobCancel"); // before it began
        QVERIFY(made[2]->state() == JobState::Cancelled);
        ui.find<QSpinBox>("jobLimit")->setValue(2);
        QTRY_VERIFY(made[1]->isRunning());
        QCOMPARE(ui.settings().jobLimit(), 2);
        *released[1] = true;
        *released[3] = true;
        QTRY_COMPARE(jobs.activeCount(), 0);
    }

    void closingOffersTheBackground()
    {
        WindowFixture ui;
        const auto released = std::make_shared<std::atomic<bool>>(false);
        ui.window().jobs().add(makeHeldJob(released)); // is not stored, so it needs the window
        QVERIFY(!ui.window().close());
        QTRY_VERIFY(ui.find<QPushButton>("closeDetach") != nullptr);
        QVERIFY(!ui.find<QPushButton>("closeDetach")->isEnabled());
        *released = true;
        QTRY_COMPARE(ui.window().jobs().activeCount(), 0);
    }

    void aClosedWindowContinuesItsJobs()
    {
        HeldDisk disk;
        WindowFixture ui(ThemeMode::Light, disk);
        ui.window().setHeadlessProgram(QString::fromStdString(windowPath()));
        QVERIFY(ui.open(samplePath("zero3-w4")));
        Job* job = startReshard(ui, ui.folder(u"out"_s));
        QVERIFY(job != nullptr);
        QTRY_VERIFY(disk.made > 2);
        QVERIFY(!ui.window().close());
        QTRY_VERIFY(ui.find<QPushButton>("closeDetach") != nullptr);
        QVERIFY(ui.find<QPushButton>("closeDetach")->isEnabled());
        ui.find<QPushButton>("closeDetach")->click();
        QVERIFY(ui.window().isVisible()); // until the job has stopped
        disk.held = false;
        QTRY_VERIFY(!ui.window().isVisible());
        const QString result = ui.folder(u"out/global_step5"_s);
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(result), 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(ui.folder(u"out/latest"_s)), 30'000);
        JobContext context;
        const auto opened = openCheckpoint(io::realFileSystem(), result.toStdString(), {}, context);
        QVERIFY(opened && opened->checkpoint->complete);
        QCOMPARE(opened->checkpoint->parallel.dp, 3U);
        // The next window finds nothing left to do.
        MainWindow next(io::realFileSystem(), ui.theme(), ui.settings());
        next.offerUnfinishedJobs();
        QTRY_VERIFY(QDir(ui.folder(u"jobs"_s)).entryList(QDir::Files).isEmpty());
        QVERIFY(next.jobs().jobs().isEmpty());
    }

    void recentAndNewWindows()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* recent = ui.find<QMenu>("recentMenu");
        Q_EMIT recent->aboutToShow();
        QCOMPARE(recent->actions().size(), 1);
        QVERIFY(recent->actions().first()->text().contains(u"zero2-w2"_s));
        MainWindow* other = ui.window().openNewWindow();
        QVERIFY(other->isVisible() && other->session().checkpoint() == nullptr);
        Q_EMIT other->findChild<QMenu*>(u"recentMenu"_s)->aboutToShow();
        other->findChild<QMenu*>(u"recentMenu"_s)->actions().first()->trigger();
        QTRY_VERIFY(other->session().checkpoint() != nullptr);
        QTRY_VERIFY(other->isSettled());
        QPointer<MainWindow> gone(other);
        QVERIFY(other->close());
        QTRY_VERIFY(gone.isNull());
        QVERIFY(ui.checkpoint() != nullptr);
    }
};

SHARDSCOPE_UI_TEST(TestStoredJobs, WithDisplay)
#include "tst_stored_jobs.moc"
