// SPDX-License-Identifier: Apache-2.0
#include "ui/jobs/job.h"

#include "ui/text/text.h"

#include <QTime>

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
    m_thread.request_stop();
    if (m_thread.joinable())
        m_thread.join();
}

void Job::start()
{
    // `this` outlives the thread, because the destructor joins it. Posted calls that have not run are dropped
    // with it.
    m_thread = std::jthread([this](const std::stop_token& token) {
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
}

void Job::cancel()
{
    if (m_state != JobState::Running)
        return;
    m_state = JobState::Cancelling;
    m_thread.request_stop();
    addLog(tr("Cancel was requested."));
    Q_EMIT stateChanged();
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

void JobList::add(Job* job)
{
    job->setParent(this);
    m_jobs.append(job);
    connect(job, &Job::stateChanged, this, [this, job] {
        if (job->isActive())
            return;
        Q_EMIT activeCountChanged(activeCount());
        Q_EMIT ended(job);
    });
    Q_EMIT added(job);
    job->start();
    Q_EMIT activeCountChanged(activeCount());
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
    for (Job* job : m_jobs)
        job->cancel();
}

} // namespace shardscope::ui
