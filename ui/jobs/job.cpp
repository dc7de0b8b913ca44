// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/job.h"

#include "core/base/current_stop.h"
#include "ui/text/text.h"

#include <QTime>

#include <algorithm>
#include <utility>

namespace shardscope::ui {

Job::Job(QString title, QString subtitle, Work work, QObject* parent)
    : QObject(parent)
    , m_title(std::move(title))
    , m_subtitle(std::move(subtitle))
    , m_work(std::move(work))
{
}

Job::~Job()
{
    m_stop.request_stop();
    m_thread.join();
}

void Job::start()
{
    m_state = JobState::Running;
    m_progress = {};
    m_error = {};
    Q_EMIT stateChanged();
    // `this` outlives the thread, because the destructor joins it. Posted calls that have not run are dropped
    // with it.
    m_stop = std::stop_source();
    m_thread = Thread::start([this, token = m_stop.get_token()] {
        const StopScope scope(token);
        JobContext context(
            token,
            [this](const Progress& progress) {
                QMetaObject::invokeMethod(this, [this, progress] {
                    m_progress = progress;
                    Q_EMIT progressChanged();
                });
            },
            [this](std::string_view line) {
                QMetaObject::invokeMethod(this, [this, text = toText(line)] { addLog(text); });
            });
        auto result = std::make_shared<Result<JobOutcome>>(m_work(context));
        QMetaObject::invokeMethod(this, [this, result] { finish(std::move(*result)); });
    });
    if (!m_thread.isStarted()) // the caller may be starting others
        QMetaObject::invokeMethod(
            this, [this] { finish(forward(noThread())); }, Qt::QueuedConnection);
}

void Job::enqueue()
{
    m_state = JobState::Queued;
    Q_EMIT stateChanged();
}

void Job::setInterrupted()
{
    m_state = JobState::Cancelled;
    m_error = Error{ErrorCode::Cancelled, tr("interrupted").toStdString(), {}, {}};
}

void Job::cancel()
{
    if (m_state == JobState::Queued) {
        m_state = JobState::Cancelled;
        m_error = Error{ErrorCode::Cancelled, tr("cancelled").toStdString(), {}, {}};
        addLog(tr("Cancelled before it began."));
        Q_EMIT stateChanged();
        return;
    }
    if (m_state != JobState::Running)
        return;
    m_state = JobState::Cancelling;
    m_stop.request_stop();
    addLog(tr("Cancel was requested."));
    Q_EMIT stateChanged();
}

void Job::setKnown(Known now)
{
    m_state = now.state;
    m_progress = std::move(now.progress);
    m_outcome = std::move(now.outcome);
    m_error = std::move(now.error);
    Q_EMIT stateChanged();
    Q_EMIT progressChanged();
}

void Job::finish(Result<JobOutcome> result)
{
    if (result) {
        m_outcome = std::move(*result);
        m_state = JobState::Succeeded;
        addLog(m_outcome.summary);
    } else {
        m_error = std::move(result).error();
        m_state = m_error.code == ErrorCode::Cancelled ? JobState::Cancelled : JobState::Failed;
        addLog(errorText(m_error));
    }
    Q_EMIT stateChanged();
}

void Job::addLog(const QString& line)
{
    m_log.append(QTime::currentTime().toString(QStringLiteral("HH:mm:ss  ")) % line);
    Q_EMIT logAdded(m_log.last());
}

void JobList::takeOver(Job* job)
{
    job->setParent(this);
    m_jobs.append(job);
    connect(job, &Job::stateChanged, this, [this, job] {
        if (!job->isActive()) {
            Q_EMIT activeCountChanged(activeCount());
            Q_EMIT ended(job);
            startNext();
        }
        Q_EMIT queueChanged();
    });
    Q_EMIT added(job);
}

void JobList::add(Job* job)
{
    takeOver(job);
    Q_EMIT activeCountChanged(activeCount());
    startNext();
}

void JobList::addInterrupted(Job* job)
{
    takeOver(job);
}

void JobList::resume(Job* job)
{
    if (job->isActive() || job->state() == JobState::Succeeded)
        return;
    job->enqueue();
    m_jobs.removeOne(job);
    m_jobs.append(job); // behind those that wait
    Q_EMIT activeCountChanged(activeCount());
    startNext();
    Q_EMIT queueChanged();
}

void JobList::startNext()
{
    // Starting one reports a change, which leads here again.
    if (std::exchange(m_starting, true))
        return;
    auto running
        = std::count_if(m_jobs.begin(), m_jobs.end(), [](const Job* job) { return job->isRunning(); });
    for (Job* job : QList<Job*>(m_jobs)) {
        if (job->state() == JobState::Queued && running < m_limit) {
            job->start();
            ++running;
        }
    }
    m_starting = false;
}

void JobList::moveUp(Job* job)
{
    const auto first = std::find_if(
        m_jobs.begin(), m_jobs.end(), [](const Job* other) { return other->state() == JobState::Queued; });
    const auto at = std::find(first, m_jobs.end(), job);
    if (job->state() != JobState::Queued || at == first || at == m_jobs.end())
        return;
    m_jobs.move(at - m_jobs.begin(), first - m_jobs.begin());
    Q_EMIT queueChanged();
}

void JobList::setLimit(int jobs)
{
    m_limit = std::clamp(jobs, 1, kMaxLimit);
    startNext();
    Q_EMIT queueChanged();
}

int JobList::jobsBefore(const Job* job) const
{
    int count = 0;
    for (const Job* other : m_jobs) {
        if (other->isRunning() || (other->state() == JobState::Queued && other != job))
            ++count;
        if (other == job)
            break;
    }
    return count;
}

void JobList::remove(Job* job)
{
    if (job->isActive() || !m_jobs.removeOne(job))
        return;
    Q_EMIT removed(job);
    job->deleteLater();
}

int JobList::activeCount() const
{
    int count = 0;
    for (const Job* job : m_jobs)
        count += job->isActive() ? 1 : 0;
    return count;
}

void JobList::cancelAll()
{
    // Those that wait first: the end of one starts the next.
    for (const bool running : {false, true}) {
        for (Job* job : QList<Job*>(m_jobs)) {
            if (job->isRunning() == running)
                job->cancel();
        }
    }
}

} // namespace shardscope::ui
