// SPDX-License-Identifier: Apache-2.0
// Dialogs that start jobs, jobs that an earlier process left, and what the cards of jobs offer.
#include "core/checkpoint/model/require.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/export_form.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/jobs_panel.h"
#include "ui/session/write_job.h"
#include "ui/shell/main_window.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QProcess>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// How to run a plan, as the choices of its dialog say.
template <class Wish>
ExecuteOptions executeOptions(const Checkpoint& source, const io::Path& folder, const Wish& wish)
{
    ExecuteOptions options;
    options.destination = folder;
    options.sourceRunFolder = ownFolderOf(source);
    options.verify = wish.verify;
    options.force = wish.force;
    return options;
}

} // namespace

StoredJobs MainWindow::storedJobs() const
{
    return StoredJobs(QDir(m_settings.folder()).filePath(u"jobs"_s));
}

std::shared_ptr<const JobStore> MainWindow::storeOf(std::function<SavedPlan()> plan) const
{
    return std::make_shared<const JobStore>(JobStore{storedJobs(), std::move(plan)});
}

void MainWindow::connectJobs()
{
    connect(m_jobsPanel, &JobsPanel::openRequested, this, &MainWindow::openPath);
    connect(m_jobsPanel, &JobsPanel::compareRequested, this,
        [this](const QString& source, const QString& result) {
            const CheckpointPtr& open = m_session.checkpoint();
            if (!open || open->tagFolder != toPath(source))
                openPath(source);
            compareWith(result, true);
        });
    connect(m_jobsPanel, &JobsPanel::discardRequested, this, &MainWindow::discardJob);
    connect(m_jobsPanel, &JobsPanel::limitChanged, &m_settings, &Settings::setJobLimit);
    m_jobsPanel->setLimit(m_settings.jobLimit());
    connect(&m_notifier, &DesktopNotifier::activated, this, [this] {
        setWindowState(windowState() & ~Qt::WindowMinimized);
        show();
        raise();
        activateWindow();
        m_jobsDock->show();
        m_jobsDock->raise();
    });
}

/// Of a job that has ended while the user looks at something else.
void MainWindow::tellDesktop(const Job& job)
{
    if (job.state() == JobState::Cancelled || QApplication::activeWindow() != nullptr)
        return;
    QApplication::alert(this);
    const bool failed = job.state() == JobState::Failed;
    m_notifier.notify((failed ? tr("Failed: %1") : tr("Finished: %1")).arg(job.title()),
        failed ? toText(job.error().message) : job.outcome().summary);
}

void MainWindow::offerUnfinishedJobs()
{
    m_jobFinder.run<QList<StoredJob>>(
        [&files = m_session.files(), jobs = storedJobs()](const std::stop_token&,
            const std::function<void(QList<StoredJob>)>& deliver) { deliver(jobs.unfinished(files)); },
        [this](const QList<StoredJob>& unfinished) {
            for (const StoredJob& stored : unfinished) {
                Job* job = makeStoredJob(m_session.files(), stored, storedJobs());
                job->setInterrupted();
                m_jobs.addInterrupted(job);
            }
        });
}

void MainWindow::discardJob(Job* job)
{
    using State = CleanEntry::State;
    m_jobCleaner.run<Result<State>>(
        [&files = m_session.files(), folders = job->facts().workFolders, record = job->facts().record,
            jobs = storedJobs()](const std::stop_token&, const std::function<void(Result<State>)>& deliver) {
            deliver(jobs.discard(files, folders, record));
        },
        [this, job = QPointer<Job>(job)](const Result<State>& state) {
            if (!state)
                m_messages->showError(state.error());
            else if (*state == State::InUse)
                m_messages->showMessage(Severity::Warning, tr("The job runs in another process."));
            else if (*state == State::Foreign)
                m_messages->showMessage(Severity::Warning,
                    tr("The work folder is a link, or belongs to another user. It is kept."));
            else if (*state == State::HalfPublished)
                m_messages->showMessage(Severity::Warning,
                    tr("The job was publishing its files, and the target would be lost. Resume it."));
            else if (job)
                m_jobs.remove(job);
        });
}

/// One process for each job, as a queue would lose the others if it were killed.
void MainWindow::continueDetached()
{
    const StoredJobs jobs = storedJobs();
    for (const QString& record : m_detached) {
        if (!QFile::exists(jobs.planFile(record)))
            continue; // it has ended well meanwhile
        QProcess process;
        process.setProgram(
            m_headlessProgram.isEmpty() ? QCoreApplication::applicationFilePath() : m_headlessProgram);
        const QStringList arguments{u"--headless"_s, u"run"_s, jobs.planFile(record)};
        process.setArguments(arguments + jobs.runOptions(record));
        process.setStandardOutputFile(jobs.logFile(record));
        process.setStandardErrorFile(jobs.logFile(record));
        process.startDetached();
    }
}

MainWindow* MainWindow::openNewWindow()
{
    auto* window = new MainWindow(m_session.files(), m_theme, m_settings);
    window->setAttribute(Qt::WA_DeleteOnClose);
    window->resize(size());
    window->show();
    return window;
}

ReshardDialog* MainWindow::showReshardDialog()
{
    if (!m_actions.reshard->isEnabled())
        return nullptr;
    auto* dialog = new ReshardDialog(m_session.files(), {m_session.checkpoint(), m_session.place()},
        m_settings.writeHistory(m_session.checkpoint()->runFolder), m_theme, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ReshardDialog::repairWanted, this, &MainWindow::showRepair);
    connect(dialog, &ReshardDialog::furtherFolderWanted, this, &MainWindow::askForFurtherFolder);
    connect(dialog, &ReshardDialog::exportWanted, this, [this] {
        if (ExportDialog* exports = showExportDialog())
            exports->form()->setFormat(ExportFormat::Dcp);
    });
    connect(dialog, &ReshardDialog::startRequested, this,
        [this, source = PlacedCheckpoint{m_session.checkpoint(), m_session.place()}](
            const WritePlanPtr& plan, const ReshardWish& wish) {
            const auto store
                = storeOf([plan, source, to = wish.destination] { return savedPlanOf(*plan, source, to); });
            const ExecuteOptions options = executeOptions(*source.checkpoint, wish.destination, wish);
            startWriting(
                makeWriteJob(m_session.files(), plan, options, store), *source.checkpoint, wish.destination);
        });
    dialog->open();
    return dialog;
}

ExportDialog* MainWindow::showExportDialog()
{
    if (!m_actions.exportWeights->isEnabled())
        return nullptr;
    auto* dialog = new ExportDialog(m_session.files(), {m_session.checkpoint(), m_session.place()},
        m_settings.writeHistory(m_session.checkpoint()->runFolder), m_theme, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ExportDialog::startRequested, this,
        [this, source = PlacedCheckpoint{m_session.checkpoint(), m_session.place()}](
            const ExportPreview& preview, const ExportWish& wish) {
            const auto store = storeOf(
                [plan = preview.plan, source, to = wish.target] { return savedPlanOf(*plan, source, to); });
            const ExecuteOptions options = executeOptions(*source.checkpoint, preview.folder, wish);
            startWriting(makeWriteJob(m_session.files(), preview.plan, options, store), *source.checkpoint,
                wish.target);
        });
    dialog->open();
    return dialog;
}

void MainWindow::startWriting(Job* job, const Checkpoint& source, const io::Path& target)
{
    m_settings.setLastTarget(source.runFolder, target.parent_path());
    job->setSource(source.tagFolder);
    m_jobs.add(job);
}

void MainWindow::startRepair(const WritePlanPtr& plan, const QString& folder)
{
    ExecuteOptions options;
    options.destination = toPath(folder);
    options.sourceRunFolder = ownFolderOf(*plan->repair->source);
    const auto store = storeOf(
        [plan, to = options.destination] { return savePlan(*plan, *plan->repair->source, {}, to); });
    startWriting(
        makeWriteJob(m_session.files(), plan, options, store), *plan->repair->source, options.destination);
}

void MainWindow::startUndo(const QString& folder)
{
    ExecuteOptions options;
    options.destination = toPath(folder);
    m_jobs.add(makeUndoJob(m_session.files(), m_session.checkpoint()->tagFolder, options));
}

void MainWindow::showRepair()
{
    showPage(u"findings"_s);
    m_findings->prepareRepair();
}

} // namespace shardscope::ui
