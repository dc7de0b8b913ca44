// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"

#include <QObject>
#include <QStringList>

#include <functional>
#include <thread>

namespace shardscope::ui {

enum class JobState : uint8_t { Running, Cancelling, Succeeded, Failed, Cancelled };

/// The result of a job that did not fail.
struct JobOutcome {
    QString summary; ///< one sentence
    io::Path output; ///< the path to open; empty if there is none
    bool needsAttention = false; ///< the summary reports a problem
    uint64_t bytesPerSecond = 0; ///< that were written; 0 if too few to measure
};

/// One long piece of work on a thread of its own, as the Jobs dock shows it.
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
    [[nodiscard]] bool isActive() const
    {
        return m_state == JobState::Running || m_state == JobState::Cancelling;
    }
    [[nodiscard]] const Progress& progress() const { return m_progress; }
    [[nodiscard]] const QStringList& logLines() const { return m_log; }
    [[nodiscard]] const JobOutcome& outcome() const { return m_outcome; } ///< Succeeded
    [[nodiscard]] const Error& error() const { return m_error; } ///< Failed, Cancelled

    void start();
    void cancel();

Q_SIGNALS:
    void progressChanged();
    void logAdded(const QString& line);
    void stateChanged();

private:
    void finish(Result<JobOutcome> result);
    void addLog(const QString& line);

    QString m_title;
    QString m_subtitle;
    Work m_work;
    JobState m_state = JobState::Running;
    Progress m_progress;
    QStringList m_log;
    JobOutcome m_outcome;
    Error m_error;
    std::jthread m_thread;
};

/// All jobs of the window, newest last.
class JobList : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    /// Takes the job over and starts it.
    void add(Job* job);
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

private:
    QList<Job*> m_jobs;
};

} // namespace shardscope::ui
