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

namespace shardscope::ui {

class ElidedLabel;

/// One job: title, progress, rate, time left; cancel, log, open the result, dismiss.
class JobCard : public QFrame
{
    Q_OBJECT
public:
    JobCard(Theme& theme, Job* job, QWidget* parent = nullptr);

    [[nodiscard]] Job* job() const { return m_job; }

Q_SIGNALS:
    void openRequested(const QString& path);
    void dismissed(shardscope::ui::Job* job);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void makeLayout();
    void connectWidgets();
    void showProgress();
    void showState();

    Theme& m_theme;
    Job* m_job;
    QLabel* m_icon;
    ElidedLabel* m_status;
    QProgressBar* m_bar;
    QPushButton* m_cancel;
    QPushButton* m_open;
    QToolButton* m_logButton;
    QToolButton* m_dismiss;
    QPlainTextEdit* m_log;
};

} // namespace shardscope::ui
