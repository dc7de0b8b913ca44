// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/job.h"
#include "ui/style/theme.h"

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace shardscope::ui {

class ElidedLabel;

/// One job: title, progress, rate, time left; its place in the queue, cancel, log; the result to open or to
/// compare with the source, or its figure to copy; a link to each problem that it found; resume and discard
/// where it ended early; dismiss. Of one on another host also where and when it runs, and why its state is
/// not known.
class JobCard : public QFrame
{
    Q_OBJECT
public:
    JobCard(Theme& theme, JobList& jobs, Job* job, QWidget* parent = nullptr);

    [[nodiscard]] Job* job() const { return m_job; }

Q_SIGNALS:
    void openRequested(const QString& path, const QString& tag);
    void compareRequested(const QString& source, const QString& result);
    /// Show a place in the checkpoint that the job has read.
    void placeRequested(const shardscope::ui::Job* job, const shardscope::Place& where);
    /// What the job has finished is to be removed.
    void discardRequested(shardscope::ui::Job* job);
    void resumeRequested(shardscope::ui::Job* job);
    /// The card is to go; of a job on another host also its record there.
    void dismissed(shardscope::ui::Job* job);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void makeLayout();
    void connectWidgets();
    void showProgress();
    void showState();
    void showElsewhere();
    void showProblems();

    [[nodiscard]] QString queueText() const;
    [[nodiscard]] QString endText() const;

    Theme& m_theme;
    JobList& m_jobs;
    Job* m_job;
    QLabel* m_icon;
    ElidedLabel* m_status;
    QProgressBar* m_bar;
    QPushButton* m_cancel;
    QPushButton* m_moveUp;
    QPushButton* m_resume;
    QPushButton* m_discard;
    QPushButton* m_compare;
    QPushButton* m_open;
    QPushButton* m_copy;
    QToolButton* m_logButton;
    QToolButton* m_dismiss;
    QPlainTextEdit* m_log;
    QVBoxLayout* m_problems;
};

} // namespace shardscope::ui
