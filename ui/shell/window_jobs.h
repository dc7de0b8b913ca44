// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/summary/next_steps.h"
#include "ui/jobs/job.h"
#include "ui/jobs/latest_only.h"
#include "ui/session/far_jobs.h"
#include "ui/session/session.h"
#include "ui/session/write_job.h"
#include "ui/shell/desktop_notifier.h"
#include "ui/style/settings.h"

#include <QSet>

#include <functional>

class QMainWindow;

namespace shardscope::ui {

class ExportDialog;
class MessageBar;
class PlanDialog;
class ReshardDialog;

/// The jobs of a window: the dialogs that start them, those that an earlier process left, and what becomes of
/// them when the window is closed.
class WindowJobs : public QObject
{
    Q_OBJECT
public:
    WindowJobs(Session& session, Theme& theme, Settings& settings, QMainWindow* window);

    [[nodiscard]] JobList& list() { return m_list; }
    [[nodiscard]] FarJobs& farJobs() { return m_farJobs; }
    /// Where messages about jobs are shown.
    void setMessages(MessageBar* messages) { m_messages = messages; }
    /// The program that continues jobs in the background, with --headless; else this one.
    void setHeadlessProgram(const QString& path) { m_headlessProgram = path; }
    /// Lists each job that an earlier process left unfinished.
    void offerUnfinished();
    /// Removes what a job has finished, and its card.
    void discard(Job* job);
    ReshardDialog* showReshard();
    ExportDialog* showExport();
    void startRepair(const WritePlanPtr& plan, const QString& folder);
    void startUndo(const QString& folder);
    /// Asks which jobs can read the open checkpoint, if all of it was read: readingKnown() answers.
    void askWhatCanRead();
    [[nodiscard]] bool isAsking() const { return m_asker.isRunning(); }
    void startVerify();
    /// Copies the fingerprint if it is known; else a job computes it.
    void startFingerprint();
    /// Asks for the file, and writes a skeleton there.
    void askForSkeleton();
    /// What interrupted jobs left in the run folder, or in another one.
    void showClean();
    /// A clean-up still removes files; its dialog may be closed.
    [[nodiscard]] bool isRemoving() const;
    /// What shall become of the jobs that run when the window is to be closed; calls `close` when none runs
    /// any more, unless the window shall stay open.
    void askBeforeClosing(std::function<void()> close);

Q_SIGNALS:
    void readingKnown(const shardscope::ReadingJobs& jobs);
    /// A job needs the user.
    void attention();
    /// The window stays open, though it was to be closed, because a job failed.
    void closingFailed(const shardscope::Error& error);
    void repairWanted();
    void furtherFolderWanted();

private:
    [[nodiscard]] PlacedCheckpoint shown() const;
    /// The choice when the window was closed while jobs were running.
    enum class Closing : uint8_t { No, WhenDone, Detach, Now };

    [[nodiscard]] StoredJobs stored() const;
    [[nodiscard]] std::shared_ptr<const JobStore> storeOf(std::function<SavedPlan()> plan) const;
    void open(PlanDialog* dialog);
    /// Starts a job that writes to `target`, and remembers where.
    void start(Job* job, const Checkpoint& source, const io::Path& target);
    /// Starts it on the host that it writes to, where everything is that it reads.
    void startThere(const Checkpoint& source, const io::Path& target, const QString& command);
    void tellDesktop(const Job& job);
    void closeWhenIdle();
    void continueDetached();

    Session& m_session;
    Theme& m_theme;
    Settings& m_settings;
    QMainWindow* m_window;
    MessageBar* m_messages = nullptr;
    JobList m_list;
    FarJobs m_farJobs;
    DesktopNotifier m_notifier;
    Closing m_closing = Closing::No;
    std::function<void()> m_close; ///< of the last question
    QString m_headlessProgram;
    QStringList m_detached; ///< records of the jobs that go on without the window
    QSet<const Job*> m_seenFailures; ///< when it was chosen; only compared, never followed
    LatestOnly m_finder{WorkLength::Long};
    LatestOnly m_cleaner{WorkLength::Long};
    LatestOnly m_asker{WorkLength::Long};
};

} // namespace shardscope::ui
