// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/jobs_panel.h"

#include "ui/controls/job_card.h"

#include <QLabel>
#include <QScrollBar>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

JobsPanel::JobsPanel(Theme& theme, JobList& jobs, QWidget* parent)
    : QScrollArea(parent)
    , m_theme(theme)
    , m_jobs(jobs)
{
    setObjectName(u"jobsPanel"_s);
    setWidgetResizable(true);
    setFrameShape(NoFrame);
    auto* body = new QWidget(this);
    body->setObjectName(u"jobsBody"_s);
    m_cards = new QVBoxLayout(body);
    m_cards->setContentsMargins(10, 10, 10, 10);
    m_cards->setSpacing(8);
    m_empty = new QLabel(tr("No jobs yet. Reshard and Export start jobs."), body);
    m_empty->setObjectName(u"jobsEmpty"_s);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_cards->addWidget(m_empty);
    m_cards->addStretch();
    setWidget(body);
    connect(&jobs, &JobList::added, this, &JobsPanel::addCard);
    connect(&jobs, &JobList::removed, this, &JobsPanel::removeCard);
}

void JobsPanel::addCard(Job* job)
{
    auto* card = new JobCard(m_theme, job, widget());
    m_cards->insertWidget(0, card);
    m_empty->hide();
    connect(card, &JobCard::openRequested, this, &JobsPanel::openRequested);
    connect(card, &JobCard::dismissed, &m_jobs, &JobList::remove);
    verticalScrollBar()->setValue(0);
}

void JobsPanel::removeCard(const Job* job)
{
    for (JobCard* card : widget()->findChildren<JobCard*>())
        if (card->job() == job)
            card->deleteLater();
    m_empty->setVisible(m_jobs.jobs().isEmpty());
}

} // namespace shardscope::ui
