// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/window_jobs.h"

#include "core/checkpoint/model/require.h"
#include "core/far/far_path.h"
#include "ui/dialogs/clean_dialog.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/session/fingerprint_store.h"
#include "ui/session/plans/repair_preview.h"
#include "ui/session/read_job.h"
#include "ui/session/shell_words.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFile>
#include <QMainWindow>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Whether the user should read the result of the job.
bool endedBadly(const Job& job)
{
    return job.state() == JobState::Failed
        || (job.state() == JobState::Succeeded && job.outcome().needsAttention);
}

} // namespace

WindowJobs::WindowJobs(Session& session, Theme& theme, Settings& settings, QMainWindow* window)
    : m_session(session)
    , m_theme(theme)
    , m_settings(settings)
    , m_window(window)
{
    connect(&m_list, &JobList::activeCountChanged, this, &WindowJobs::closeWhenIdle);
    connect(&m_list, &JobList::ended, this, [this](const Job* job) {
        tellDesktop(*job);
        if (job->outcome().bytesPerSecond > 0)
            m_settings.setWriteRate(job->outcome().bytesPerSecond);
    });
    connect(&m_farJobs, &FarJobs::failed, this, [this](const Error& error) { m_messages->showError(error); });
    connect(&m_farJobs, &FarJobs::started, this, &WindowJobs::attention);
    connect(&m_notifier, &DesktopNotifier::activated, this, [this] {
        m_window->setWindowState(m_window->windowState() & ~Qt::WindowMinimized);
        m_window->show();
        m_window->raise();
        m_window->activateWindow();
        Q_EMIT attention();
    });
}

StoredJobs WindowJobs::stored() const
{
    return StoredJobs(QDir(m_settings.folder()).filePath(u"jobs"_s));
}

std::shared_ptr<const JobStore> WindowJobs::storeOf(std::function<SavedPlan()> plan) const
{
    return std::make_shared<const JobStore>(JobStore{stored(), std::move(plan)});
}

/// Of a job that has ended while the user looks at something else.
void WindowJobs::tellDesktop(const Job& job)
{
    if (job.state() == JobState::Cancelled || QApplication::activeWindow() != nullptr)
        return;
    QApplication::alert(m_window);
    const bool failed = job.state() == JobState::Failed;
    m_notifier.notify((failed ? tr("Failed: %1") : tr("Finished: %1")).arg(job.title()),
        failed ? toText(job.error().message) : job.outcome().summary);
}

void WindowJobs::offerUnfinished()
{
    m_finder.run<QList<StoredJob>>(
        [&files = m_session.files(), jobs = stored()](const std::stop_token&,
            const std::function<void(QList<StoredJob>)>& deliver) { deliver(jobs.unfinished(files)); },
        [this](const QList<StoredJob>& unfinished) {
            for (const StoredJob& each : unfinished) {
                Job* job = makeStoredJob(m_session.files(), each, stored());
                job->setInterrupted();
                m_list.addInterrupted(job);
            }
        });
}

void WindowJobs::discard(Job* job)
{
    using State = CleanEntry::State;
    m_cleaner.run<Result<State>>(
        [&files = m_session.files(), folders = job->facts().workFolders, record = job->facts().record,
            jobs = stored()](const std::stop_token&, const std::function<void(Result<State>)>& deliver) {
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
                m_list.remove(job);
        });
}

/// One process for each job, as a queue would lose the others if it were killed.
void WindowJobs::continueDetached()
{
    const StoredJobs jobs = stored();
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

PlacedCheckpoint WindowJobs::shown() const
{
    return {m_session.checkpoint(), m_session.place()};
}

ReshardDialog* WindowJobs::showReshard()
{
    auto* dialog = new ReshardDialog(m_session.files(), shown(),
        m_settings.writeHistory(m_session.checkpoint()->runFolder), m_theme, m_window);
    const SelectedThing& selected = m_session.selection().current();
    dialog->follow(selected.param, selected.rank);
    open(dialog);
    return dialog;
}

ExportDialog* WindowJobs::showExport()
{
    auto* dialog = new ExportDialog(m_session.files(), shown(),
        m_settings.writeHistory(m_session.checkpoint()->runFolder), m_theme, m_window);
    open(dialog);
    return dialog;
}

void WindowJobs::open(PlanDialog* dialog)
{
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &PlanDialog::repairWanted, this, &WindowJobs::repairWanted);
    connect(dialog, &PlanDialog::furtherFolderWanted, this, &WindowJobs::furtherFolderWanted);
    connect(dialog, &PlanDialog::startRequested, this, [this, dialog] {
        if (far::isFar(dialog->wish()->target))
            return startThere(dialog->source(), dialog->wish()->target, dialog->command());
        ExecuteOptions options;
        options.destination = dialog->preview().folder;
        options.sourceRunFolder = ownFolderOf(dialog->source());
        options.verify = dialog->wish()->verify;
        options.force = dialog->wish()->force;
        start(makeWriteJob(m_session.files(), dialog->preview().plan, options, storeOf(dialog->toSave())),
            dialog->source(), dialog->wish()->target);
    });
    dialog->open();
}

void WindowJobs::start(Job* job, const Checkpoint& source, const io::Path& target)
{
    m_settings.setLastTarget(source.runFolder, target.parent_path());
    job->setSource(source.tagFolder);
    m_list.add(job);
}

void WindowJobs::startThere(const Checkpoint& source, const io::Path& target, const QString& command)
{
    m_settings.setLastTarget(source.runFolder, target.parent_path());
    const std::string host = far::farPathOf(target)->host;
    std::vector<std::string> words = unquotedWords(command);
    words.erase(words.begin()); // the program
    for (std::string& word : words) {
        if (const auto there = far::farPathOf(word); there && there->host == host)
            word = there->path.native();
    }
    m_farJobs.start(host, std::move(words));
}

void WindowJobs::startRepair(const WritePlanPtr& plan, const QString& folder)
{
    ExecuteOptions options;
    options.destination = far::typedPath(folder.toStdString());
    const Checkpoint& source = *plan->repair->source;
    if (far::isFar(options.destination)) {
        const RepairInput& asked = plan->repair->input;
        return startThere(source, options.destination,
            repairCommand({asked.path, asked.open}, asked.options,
                QString::fromStdString(options.destination.native())));
    }
    options.sourceRunFolder = ownFolderOf(source);
    const auto store = storeOf(
        [plan, to = options.destination] { return savePlan(*plan, *plan->repair->source, {}, to); });
    start(makeWriteJob(m_session.files(), plan, options, store), source, options.destination);
}

void WindowJobs::startUndo(const QString& folder)
{
    ExecuteOptions options;
    options.destination = toPath(folder);
    m_list.add(makeUndoJob(m_session.files(), m_session.checkpoint()->tagFolder, options));
}

void WindowJobs::askWhatCanRead()
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    if (!checkpoint || !checkpoint->fullyRead)
        return m_asker.cancel();
    m_asker.run<ReadingJobs>(
        [&files = m_session.files(), checkpoint](const std::stop_token&,
            const std::function<void(ReadingJobs)>& deliver) { deliver(readingJobs(files, *checkpoint)); },
        [this](const ReadingJobs& jobs) { Q_EMIT readingKnown(jobs); });
}

void WindowJobs::startVerify()
{
    m_list.add(makeVerifyJob(m_session.files(), shown(), m_session.fingerprints()));
}

void WindowJobs::startFingerprint()
{
    const QString known = m_session.fingerprints().of(m_session.checkpoint());
    if (known.isEmpty()) {
        m_list.add(makeFingerprintJob(m_session.files(), shown(), m_session.fingerprints()));
        return;
    }
    QApplication::clipboard()->setText(known);
    m_messages->showMessage(Severity::Info, tr("Copied the fingerprint: %1").arg(known));
}

void WindowJobs::askForSkeleton()
{
    const Checkpoint& checkpoint = *m_session.checkpoint();
    const io::Path& named = checkpoint.tag.empty() ? checkpoint.tagFolder : io::Path(checkpoint.tag);
    askForPath(m_window,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"skeletonDialog"_s,
            .title = tr("Save a Checkpoint Without Values"),
            .filters = tr("Skeleton (*.zip)"),
            .suggested = pathText(named.filename()) % u".zip"_s},
        [this, of = shown()](const QString& path) {
            SkeletonTarget to{toPath(path)};
            to.replaces = io::realFileSystem().stat(to.path).has_value(); // the dialog has asked
            m_list.add(makeSkeletonJob(m_session.files(), of, to));
        });
}

void WindowJobs::showClean()
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    auto* dialog = new CleanDialog(
        m_session.files(), m_theme, checkpoint ? ownFolderOf(*checkpoint) : io::Path(), m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &CleanDialog::removed, this,
        [this](const QString& text) { m_messages->showMessage(Severity::Info, text); });
    connect(dialog, &CleanDialog::failed, this, [this](const Error& error) { m_messages->showError(error); });
    dialog->open();
}

bool WindowJobs::isRemoving() const
{
    const auto dialogs = m_window->findChildren<CleanDialog*>();
    return std::any_of(
        dialogs.begin(), dialogs.end(), [](const CleanDialog* dialog) { return dialog->isRemoving(); });
}

void WindowJobs::askBeforeClosing(std::function<void()> close)
{
    m_close = std::move(close);
    m_closing = Closing::No; // an earlier answer is asked again
    if (m_window->findChild<QMessageBox*>(u"closeQuestion"_s) != nullptr)
        return;
    m_seenFailures.clear();
    for (Job* job : m_list.jobs())
        if (endedBadly(*job))
            m_seenFailures.insert(job);
    const bool onlyReads = std::all_of(m_list.jobs().begin(), m_list.jobs().end(),
        [](const Job* job) { return !job->isActive() || job->facts().onlyReads; });
    auto* box = new QMessageBox(QMessageBox::Question, tr("Jobs are running"),
        onlyReads ? tr("A job is still reading. Its result is lost if it is cancelled.")
                  : tr("A job is still writing. Finished parts are kept. To continue from there later, "
                       "start the same job again."),
        QMessageBox::NoButton, m_window);
    box->setObjectName(u"closeQuestion"_s);
    box->setAttribute(Qt::WA_DeleteOnClose);
    QPushButton* stop = box->addButton(tr("Cancel Jobs and Close"), QMessageBox::DestructiveRole);
    QPushButton* wait = box->addButton(tr("Close When Done"), QMessageBox::AcceptRole);
    QPushButton* detach = box->addButton(tr("Continue in the Background"), QMessageBox::ActionRole);
    detach->setObjectName(u"closeDetach"_s);
    const QList<Job*>& jobs = m_list.jobs();
    const bool canDetach = std::all_of(jobs.begin(), jobs.end(), [](const Job* job) {
        return !job->isActive() || (job->isRunning() && !job->facts().record.isEmpty());
    });
    detach->setEnabled(canDetach);
    detach->setToolTip(canDetach ? tr("A process without a window continues the jobs")
                                 : tr("Jobs that only read, repairs, and jobs that have not begun need the "
                                      "window"));
    box->addButton(tr("Stay Open"), QMessageBox::RejectRole);
    connect(stop, &QPushButton::clicked, this, [this] {
        m_closing = Closing::Now;
        m_list.cancelAll();
        closeWhenIdle();
    });
    connect(detach, &QPushButton::clicked, this, [this] {
        m_closing = Closing::Detach;
        m_detached.clear();
        for (const Job* job : m_list.jobs()) {
            if (job->isActive())
                m_detached.append(job->facts().record);
        }
        m_list.cancelAll(); // what is finished stays, and the process continues from there
        closeWhenIdle();
    });
    connect(wait, &QPushButton::clicked, this, [this] {
        m_closing = Closing::WhenDone;
        closeWhenIdle();
    });
    box->open();
}

void WindowJobs::closeWhenIdle()
{
    if (m_closing == Closing::No || m_list.activeCount() > 0)
        return;
    const Closing how = std::exchange(m_closing, Closing::No);
    if (how == Closing::Detach) {
        continueDetached();
        m_close();
        return;
    }
    const auto failed = std::find_if(m_list.jobs().begin(), m_list.jobs().end(),
        [this](const Job* job) { return endedBadly(*job) && !m_seenFailures.contains(job); });
    if (how == Closing::Now || failed == m_list.jobs().end()) {
        m_close();
        return;
    }
    const Job& job = **failed;
    Error error = job.state() == JobState::Failed
        ? job.error()
        : Error{ErrorCode::VerifyFailed, job.outcome().summary.toStdString(), {}, {}};
    error.message = tr("The window stays open: a job failed. %1: %2")
                        .arg(job.title(), toText(error.message))
                        .toStdString();
    Q_EMIT closingFailed(error);
    Q_EMIT attention();
}

} // namespace shardscope::ui
