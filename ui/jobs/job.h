// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/base/parallel.h"
#include "core/io/file_system.h"

#include <QObject>
#include <QStringList>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace shardscope::ui {

struct OpenedPlace; // ui/session/session.h

enum class JobState : uint8_t { Queued, Running, Cancelling, Succeeded, Failed, Cancelled };

/// The result of a job that did not fail.
struct JobOutcome {
    QString summary; ///< one sentence
    io::Path output = {}; ///< what was written, if it can be opened; else empty
    bool needsAttention = false; ///< the summary reports a problem
    uint64_t bytesPerSecond = 0; ///< that were written; 0 if too few to measure
    io::Path place = {}; ///< where to open the output: the run folder of a tag
    std::string tag = {}; ///< in that run folder
    QString figure = {}; ///< that the job was for, to be copied
    std::vector<Finding> problems = {}; ///< that it found in `checkpoint`
    io::Path checkpoint = {}; ///< the tag folder that was read, if there can be problems
    std::shared_ptr<const OpenedPlace> readFrom = {}; ///< what opens `checkpoint` as it was read
};

/// What a job that writes needs besides its work.
struct JobFacts {
    io::Path source; ///< what the result can be compared with; empty: nothing
    std::vector<io::Path> workFolders; ///< where it may keep what is finished
    QString record; ///< name of the stored job (stored_jobs.h); empty if it is not stored
    bool onlyReads = false; ///< nothing of it is kept if it ends early
    QString host = {}; ///< where it runs; empty: in this process
    QString when = {}; ///< its start and end, if it runs elsewhere
    QString unknown = {}; ///< why nothing is known now of a job that runs elsewhere; empty: it is
};

/// One long piece of work on a thread of its own, as the Jobs dock shows it. It can be started again after it
/// has failed or was cancelled.
///
/// Lives on the GUI thread; the work reports through its JobContext and never touches widgets. Destroying a
/// running job requests a stop and waits for it.
class Job : public QObject
{
    Q_OBJECT
public:
    using Work = std::function<Result<JobOutcome>(JobContext&)>;

    Job(QString title, QString subtitle, Work work, QObject* parent = nullptr);
    ~Job() override;

    [[nodiscard]] const QString& title() const { return m_title; }
    [[nodiscard]] const QString& subtitle() const { return m_subtitle; }
    [[nodiscard]] JobState state() const { return m_state; }
    [[nodiscard]] bool isActive() const { return m_state == JobState::Queued || isRunning(); }
    [[nodiscard]] bool isRunning() const
    {
        return m_state == JobState::Running || m_state == JobState::Cancelling;
    }
    [[nodiscard]] const JobFacts& facts() const { return m_facts; }
    void setFacts(JobFacts facts) { m_facts = std::move(facts); }
    void setSource(io::Path source) { m_facts.source = std::move(source); }
    [[nodiscard]] const Progress& progress() const { return m_progress; }
    [[nodiscard]] const QStringList& logLines() const { return m_log; }
    [[nodiscard]] const JobOutcome& outcome() const { return m_outcome; } ///< Succeeded
    [[nodiscard]] const Error& error() const { return m_error; } ///< Failed, Cancelled

    void start();
    /// A queued job ends at once, a running one as soon as it can.
    virtual void cancel();
    /// Waits for its turn, once more.
    void enqueue();
    /// Not started, but left by a process that ended: it can be started or discarded.
    void setInterrupted();

Q_SIGNALS:
    void progressChanged();
    void logAdded(const QString& line);
    void stateChanged();

protected:
    /// Of a job that runs in another process.
    struct Known {
        JobState state = JobState::Running;
        Progress progress = {};
        JobOutcome outcome = {};
        Error error = {};
    };
    /// In place of start(): what is known of it now. Without an entry in the log.
    void setKnown(Known now);

private:
    void finish(Result<JobOutcome> result);
    void addLog(const QString& line);

    QString m_title;
    QString m_subtitle;
    Work m_work;
    JobFacts m_facts;
    JobState m_state = JobState::Queued;
    Progress m_progress;
    QStringList m_log;
    JobOutcome m_outcome;
    Error m_error;
    std::stop_source m_stop;
    Thread m_thread;
};

/// All jobs of the window, newest last. At most limit() of them run; the others wait in their order.
class JobList : public QObject
{
    Q_OBJECT
public:
    static constexpr int kMaxLimit = 8;
    using QObject::QObject;
    /// Sends no signals about jobs that it still has.
    ~JobList() override { blockSignals(true); }

    /// Takes the job over, and starts it when it is its turn.
    void add(Job* job);
    /// Takes over a job that another process left (Job::setInterrupted()).
    void addInterrupted(Job* job);
    /// Puts a job that has ended, other than well, into the queue again.
    void resume(Job* job);
    /// Lets a queued job run before the others that wait.
    void moveUp(Job* job);
    /// How many jobs run at once; 1 is fastest where they share a disk.
    [[nodiscard]] int limit() const { return m_limit; }
    void setLimit(int jobs);
    /// How many jobs run before this queued one.
    [[nodiscard]] int jobsBefore(const Job* job) const;
    /// Forgets a job that has ended.
    void remove(Job* job);
    [[nodiscard]] const QList<Job*>& jobs() const { return m_jobs; }
    [[nodiscard]] int activeCount() const;
    void cancelAll();

Q_SIGNALS:
    void added(shardscope::ui::Job* job);
    void removed(shardscope::ui::Job* job);
    void activeCountChanged(int count);
    void ended(shardscope::ui::Job* job);
    /// Jobs were moved, started or ended.
    void queueChanged();

private:
    void takeOver(Job* job);
    void startNext();

    QList<Job*> m_jobs;
    int m_limit = 1;
    bool m_starting = false;
};

} // namespace shardscope::ui
