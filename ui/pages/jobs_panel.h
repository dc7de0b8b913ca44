// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/job.h"
#include "ui/style/theme.h"

#include <QPointer>
#include <QScrollArea>

class QLabel;
class QSpinBox;
class QVBoxLayout;

namespace shardscope::ui {

class FarJobs;
class JobCard;

/// The Jobs dock's content: one card per job, newest on top; also of jobs on other hosts.
class JobsPanel : public QScrollArea
{
    Q_OBJECT
public:
    JobsPanel(Theme& theme, JobList& jobs, QWidget* parent = nullptr);

    void setLimit(int jobs);
    /// Shows these jobs, too. They are asked for while this is visible.
    void showFarJobs(FarJobs& jobs);
    [[nodiscard]] QSize sizeHint() const override { return {600, 150}; }

Q_SIGNALS:
    void openRequested(const QString& path, const QString& tag);
    void compareRequested(const QString& source, const QString& result);
    void placeRequested(const shardscope::ui::Job* job, const shardscope::Place& where);
    void discardRequested(shardscope::ui::Job* job);
    void limitChanged(int jobs);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    QWidget* makeLimit(QWidget* parent);
    JobCard* addCard(Job* job);
    void removeCard(const Job* job);

    Theme& m_theme;
    JobList& m_jobs;
    QPointer<FarJobs> m_farJobs; ///< can end before a visible window hides this
    QVBoxLayout* m_cards;
    QLabel* m_empty;
    QSpinBox* m_limit = nullptr;
};

} // namespace shardscope::ui
