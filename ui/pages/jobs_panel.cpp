// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/jobs_panel.h"

#include "ui/controls/job_card.h"
#include "ui/session/far_jobs.h"

#include <QLabel>
#include <QScrollBar>
#include <QSpinBox>
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
    m_empty = new QLabel(tr("No jobs yet. Verify, Repair, Reshard, Convert and Export start jobs."), body);
    m_empty->setObjectName(u"jobsEmpty"_s);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_cards->addWidget(makeLimit(body));
    m_cards->addWidget(m_empty);
    m_cards->addStretch();
    setWidget(body);
    connect(&jobs, &JobList::added, this, [this](Job* job) {
        JobCard* card = addCard(job);
        connect(card, &JobCard::resumeRequested, &m_jobs, &JobList::resume);
        connect(card, &JobCard::dismissed, &m_jobs, &JobList::remove);
    });
    connect(&jobs, &JobList::removed, this, &JobsPanel::removeCard);
}

QWidget* JobsPanel::makeLimit(QWidget* parent)
{
    auto* row = new QWidget(parent);
    auto* line = new QHBoxLayout(row);
    line->setContentsMargins(0, 0, 0, 0);
    auto* label = new QLabel(tr("Jobs at &once"), row);
    m_limit = new QSpinBox(row);
    m_limit->setObjectName(u"jobLimit"_s);
    m_limit->setRange(1, JobList::kMaxLimit);
    m_limit->setValue(m_jobs.limit());
    m_limit->setToolTip(tr("The others wait. One at a time is fastest where they share a disk."));
    label->setBuddy(m_limit);
    line->addWidget(label);
    line->addWidget(m_limit);
    line->addStretch();
    connect(m_limit, &QSpinBox::valueChanged, &m_jobs, &JobList::setLimit);
    connect(m_limit, &QSpinBox::valueChanged, this, &JobsPanel::limitChanged);
    return row;
}

void JobsPanel::setLimit(int jobs)
{
    m_limit->setValue(jobs);
}

void JobsPanel::showFarJobs(FarJobs& jobs)
{
    m_farJobs = &jobs;
    connect(&jobs, &FarJobs::added, this, [this](FarJob* job) {
        JobCard* card = addCard(job);
        connect(card, &JobCard::resumeRequested, job, &FarJob::resume);
        connect(card, &JobCard::dismissed, job, &FarJob::forget);
    });
    connect(&jobs, &FarJobs::removed, this, &JobsPanel::removeCard);
}

void JobsPanel::showEvent(QShowEvent* event)
{
    QScrollArea::showEvent(event);
    if (m_farJobs)
        m_farJobs->setLookedAt(true);
}

void JobsPanel::hideEvent(QHideEvent* event)
{
    QScrollArea::hideEvent(event);
    if (m_farJobs)
        m_farJobs->setLookedAt(false);
}

JobCard* JobsPanel::addCard(Job* job)
{
    auto* card = new JobCard(m_theme, m_jobs, job, widget());
    m_cards->insertWidget(1, card); // below the limit
    m_empty->hide();
    connect(card, &JobCard::openRequested, this, &JobsPanel::openRequested);
    connect(card, &JobCard::compareRequested, this, &JobsPanel::compareRequested);
    connect(card, &JobCard::placeRequested, this, &JobsPanel::placeRequested);
    connect(card, &JobCard::discardRequested, this, &JobsPanel::discardRequested);
    verticalScrollBar()->setValue(0);
    return card;
}

void JobsPanel::removeCard(const Job* job)
{
    for (JobCard* card : widget()->findChildren<JobCard*>())
        if (card->job() == job)
            card->deleteLater();
    m_empty->setVisible(m_jobs.jobs().isEmpty() && (!m_farJobs || m_farJobs->jobs().isEmpty()));
}

} // namespace shardscope::ui
