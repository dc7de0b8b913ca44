// SPDX-License-Identifier: Apache-2.0
// Closing the window while jobs run.
#include "ui/shell/main_window.h"

#include "ui/text/text.h"

#include <QAction>
#include <QCloseEvent>
#include <QDockWidget>
#include <QMessageBox>
#include <QPushButton>

#include <algorithm>

namespace shardscope::ui {

namespace {

/// Whether the user should read the result of the job.
bool endedBadly(const Job& job)
{
    return job.state() == JobState::Failed
        || (job.state() == JobState::Succeeded && job.outcome().needsAttention);
}

} // namespace

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (m_jobs.activeCount() > 0) {
        event->ignore();
        askAboutJobs();
        return;
    }
    rememberRecent(m_session.shown(), {});
    if (!m_actions.fullScreen->isChecked())
        m_settings.setWindow(
            saveGeometry(), m_openDocks.isEmpty() ? saveState(Settings::kFormat) : m_openDocks);
    QMainWindow::closeEvent(event);
}

void MainWindow::askAboutJobs()
{
    if (findChild<QMessageBox*>(QStringLiteral("closeQuestion")) != nullptr)
        return;
    m_seenFailures.clear();
    for (Job* job : m_jobs.jobs())
        if (endedBadly(*job))
            m_seenFailures.insert(job);
    auto* box = new QMessageBox(QMessageBox::Question, tr("Jobs are running"),
        tr("A job is still writing. Finished parts are kept. To continue from there later, start the same "
           "job again."),
        QMessageBox::NoButton, this);
    box->setObjectName(QStringLiteral("closeQuestion"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    QPushButton* stop = box->addButton(tr("Cancel Jobs and Close"), QMessageBox::DestructiveRole);
    QPushButton* wait = box->addButton(tr("Close When Done"), QMessageBox::AcceptRole);
    QPushButton* detach = box->addButton(tr("Continue in the Background"), QMessageBox::ActionRole);
    detach->setObjectName(QStringLiteral("closeDetach"));
    const QList<Job*>& jobs = m_jobs.jobs();
    const bool canDetach = std::all_of(jobs.begin(), jobs.end(), [](const Job* job) {
        return !job->isActive() || (job->isRunning() && !job->facts().record.isEmpty());
    });
    detach->setEnabled(canDetach);
    detach->setToolTip(canDetach ? tr("A process without a window continues the jobs")
                                 : tr("Repairs, and jobs that have not begun, need the window"));
    box->addButton(tr("Stay Open"), QMessageBox::RejectRole);
    connect(stop, &QPushButton::clicked, this, [this] {
        m_closing = Closing::Now;
        m_jobs.cancelAll();
        closeWhenIdle();
    });
    connect(detach, &QPushButton::clicked, this, [this] {
        m_closing = Closing::Detach;
        m_detached.clear();
        for (const Job* job : m_jobs.jobs()) {
            if (job->isActive())
                m_detached.append(job->facts().record);
        }
        m_jobs.cancelAll(); // what is finished stays, and the process continues from there
        closeWhenIdle();
    });
    connect(wait, &QPushButton::clicked, this, [this] {
        m_closing = Closing::WhenDone;
        closeWhenIdle();
    });
    box->open();
}

void MainWindow::closeWhenIdle()
{
    if (m_closing == Closing::No || m_jobs.activeCount() > 0)
        return;
    const Closing how = std::exchange(m_closing, Closing::No);
    if (how == Closing::Detach) {
        continueDetached();
        close();
        return;
    }
    const auto failed = std::find_if(m_jobs.jobs().begin(), m_jobs.jobs().end(),
        [this](const Job* job) { return endedBadly(*job) && !m_seenFailures.contains(job); });
    if (how == Closing::Now || failed == m_jobs.jobs().end()) {
        close();
        return;
    }
    const Job& job = **failed;
    Error error = job.state() == JobState::Failed
        ? job.error()
        : Error{ErrorCode::VerifyFailed, job.outcome().summary.toStdString(), {}, {}};
    error.message = tr("The window stays open: a job failed. %1: %2")
                        .arg(job.title(), toText(error.message))
                        .toStdString();
    showOpenError(error);
    m_jobsDock->show();
    m_jobsDock->raise();
}

} // namespace shardscope::ui
