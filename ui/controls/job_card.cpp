// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/job_card.h"

#include "ui/session/findings/finding_ways.h"
#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/text/progress_text.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/link_button.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <span>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kSteps = 1000;
constexpr size_t kMostLinks = 6;

bool foundErrors(const JobOutcome& outcome)
{
    return std::ranges::any_of(
        outcome.problems, [](const Finding& problem) { return problem.severity == Severity::Error; });
}

} // namespace

JobCard::JobCard(Theme& theme, JobList& jobs, Job* job, QWidget* parent)
    : QFrame(parent)
    , m_theme(theme)
    , m_jobs(jobs)
    , m_job(job)
    , m_icon(new QLabel(this))
    , m_status(new ElidedLabel(this))
    , m_bar(new QProgressBar(this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
    , m_moveUp(new QPushButton(tr("Run Next"), this))
    , m_resume(new QPushButton(tr("Resume"), this))
    , m_discard(new QPushButton(tr("Discard"), this))
    , m_compare(new QPushButton(tr("Compare with Source"), this))
    , m_open(new QPushButton(tr("Open Result"), this))
    , m_copy(new QPushButton(tr("Copy Fingerprint"), this))
    , m_logButton(new QToolButton(this))
    , m_dismiss(new QToolButton(this))
    , m_log(new QPlainTextEdit(this))
    , m_problems(new QVBoxLayout)
{
    setObjectName(u"jobCard"_s);
    setAccessibleName(job->title());
    m_status->setObjectName(u"jobStatus"_s);
    m_status->setIsSentence(true);
    m_bar->setObjectName(u"jobProgress"_s);
    m_bar->setTextVisible(false);
    m_bar->setFixedHeight(6);
    m_bar->setRange(0, 0);
    m_cancel->setObjectName(u"jobCancel"_s);
    m_moveUp->setObjectName(u"jobMoveUp"_s);
    m_moveUp->setToolTip(tr("Runs it before the others that wait"));
    m_resume->setObjectName(u"jobResume"_s);
    m_resume->setToolTip(
        job->facts().onlyReads ? QString() : tr("Continues the job; what it has finished is kept"));
    m_discard->setObjectName(u"jobDiscard"_s);
    m_discard->setToolTip(tr("Removes what the job has finished"));
    m_compare->setObjectName(u"jobCompare"_s);
    m_compare->setToolTip(tr("Whether both are the same training state"));
    m_open->setObjectName(u"jobOpen"_s);
    m_copy->setObjectName(u"jobCopy"_s);
    m_logButton->setObjectName(u"jobLogButton"_s);
    m_logButton->setText(tr("Log"));
    m_logButton->setCheckable(true);
    m_dismiss->setObjectName(u"jobDismiss"_s);
    m_dismiss->setAutoRaise(true);
    m_dismiss->setIcon(themedIcon(theme, u"close"_s, ThemeRole::MutedText));
    m_dismiss->setToolTip(tr("Dismiss"));
    m_dismiss->setAccessibleName(tr("Dismiss this job"));
    m_log->setObjectName(u"jobLog"_s);
    m_log->setReadOnly(true);
    m_log->setMaximumBlockCount(5000);
    m_log->setFixedHeight(120);
    m_log->setAccessibleName(tr("Log of this job"));
    m_log->hide();
    makeLayout();
    if (!job->facts().host.isEmpty())
        showElsewhere();
    connectWidgets();
    for (const QString& entry : job->logLines())
        m_log->appendPlainText(entry);
    showState();
    showProgress();
}

void JobCard::makeLayout()
{
    auto* title = new QLabel(m_job->title(), this);
    title->setTextFormat(Qt::PlainText);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    auto* subtitle = new ElidedLabel(this);
    subtitle->setText(m_job->subtitle());
    subtitle->setForegroundRole(QPalette::PlaceholderText);

    auto* texts = new QVBoxLayout;
    texts->setSpacing(3);
    auto* heading = new QHBoxLayout;
    heading->setSpacing(10);
    heading->addWidget(title);
    heading->addWidget(subtitle, 1);
    texts->addLayout(heading);
    texts->addWidget(m_bar);
    texts->addWidget(m_status);
    m_problems->setSpacing(2);
    texts->addLayout(m_problems);
    auto* line = new QHBoxLayout;
    line->setSpacing(10);
    line->addWidget(m_icon, 0, Qt::AlignVCenter);
    line->addLayout(texts, 1);
    line->addWidget(m_logButton);
    for (QPushButton* button : {m_moveUp, m_cancel, m_resume, m_discard, m_compare, m_copy, m_open})
        line->addWidget(button);
    line->addWidget(m_dismiss);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(12, 9, 10, 9);
    rows->addLayout(line);
    rows->addWidget(m_log);
}

/// The words of a job that does not need this window.
void JobCard::showElsewhere()
{
    const QString& host = m_job->facts().host;
    m_cancel->setText(tr("Stop"));
    m_cancel->setToolTip(tr("Stops the job on %1; what it has finished is kept").arg(host));
    m_dismiss->setText(tr("Forget"));
    m_dismiss->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_dismiss->setToolTip(tr("Removes the record of the job on %1; files that it wrote stay").arg(host));
    m_dismiss->setAccessibleName(tr("Forget this job"));
    m_logButton->hide();
}

void JobCard::connectWidgets()
{
    connect(m_job, &Job::progressChanged, this, &JobCard::showProgress);
    connect(m_job, &Job::stateChanged, this, &JobCard::showState);
    connect(m_job, &Job::logAdded, m_log, &QPlainTextEdit::appendPlainText);
    connect(m_logButton, &QToolButton::toggled, m_log, &QWidget::setVisible);
    connect(m_cancel, &QPushButton::clicked, m_job, &Job::cancel);
    connect(m_open, &QPushButton::clicked, this, [this] {
        const JobOutcome& outcome = m_job->outcome();
        Q_EMIT openRequested(
            QString::fromStdString(outcome.place.native()), QString::fromStdString(outcome.tag));
    });
    connect(m_compare, &QPushButton::clicked, this, [this] {
        Q_EMIT compareRequested(QString::fromStdString(m_job->facts().source.native()),
            QString::fromStdString(m_job->outcome().output.native()));
    });
    connect(m_copy, &QPushButton::clicked, this,
        [this] { QApplication::clipboard()->setText(m_job->outcome().figure); });
    connect(m_moveUp, &QPushButton::clicked, this, [this] { m_jobs.moveUp(m_job); });
    connect(m_resume, &QPushButton::clicked, this, [this] { Q_EMIT resumeRequested(m_job); });
    connect(m_discard, &QPushButton::clicked, this, [this] { Q_EMIT discardRequested(m_job); });
    connect(&m_jobs, &JobList::queueChanged, this, &JobCard::showState);
    connect(m_dismiss, &QToolButton::clicked, this, [this] { Q_EMIT dismissed(m_job); });
    connect(&m_theme, &Theme::changed, this, &JobCard::showState);
}

QString JobCard::queueText() const
{
    const int before = m_jobs.jobsBefore(m_job);
    return before == 0 ? tr("Waiting")
        : before == 1  ? tr("Waiting for 1 job")
                       : tr("Waiting for %1 jobs").arg(before);
}

void JobCard::showProgress()
{
    if (!m_job->isRunning())
        return;
    const Progress& progress = m_job->progress();
    QStringList facts;
    if (!m_job->facts().unknown.isEmpty())
        facts.append(m_job->facts().unknown % u' ' % tr("Last known:"));
    const bool cancels = m_job->state() == JobState::Cancelling;
    facts.append(cancels && m_job->facts().onlyReads ? tr("Cancelling")
            : cancels                                ? tr("Cancelling, waiting for the last write")
            : progress.phase.empty()                 ? tr("Starting")
                                                     : toText(progress.phase));
    if (progress.bytesTotal > 0) {
        const double share
            = static_cast<double>(progress.bytesDone) / static_cast<double>(progress.bytesTotal);
        m_bar->setRange(0, kSteps);
        m_bar->setValue(static_cast<int>(std::clamp(share, 0.0, 1.0) * kSteps));
    } else {
        m_bar->setRange(0, 0);
    }
    facts.append(progressFacts(progress));
    if (!m_job->facts().when.isEmpty())
        facts.append(m_job->facts().when);
    m_status->setText(facts.join(u" · "_s));
}

void JobCard::showState()
{
    const bool active = m_job->isActive();
    const bool endedEarly = m_job->state() == JobState::Failed || m_job->state() == JobState::Cancelled;
    const bool opens = m_job->state() == JobState::Succeeded && !m_job->outcome().output.empty();
    m_bar->setVisible(m_job->isRunning());
    m_cancel->setVisible(active);
    const bool isKnown = m_job->facts().unknown.isEmpty();
    m_cancel->setEnabled(m_job->state() != JobState::Cancelling && isKnown);
    m_dismiss->setEnabled(isKnown);
    m_moveUp->setVisible(m_job->state() == JobState::Queued && m_jobs.jobsBefore(m_job) > 1);
    m_resume->setVisible(endedEarly && isKnown);
    const bool reads = m_job->facts().onlyReads;
    m_resume->setText(m_job->state() == JobState::Failed ? tr("Try Again")
            : reads                                      ? tr("Start Again")
                                                         : tr("Resume"));
    m_discard->setVisible(endedEarly && !m_job->facts().workFolders.empty());
    m_dismiss->setVisible(!active);
    m_compare->setVisible(opens && !m_job->facts().source.empty());
    m_open->setVisible(opens);
    m_copy->setVisible(m_job->state() == JobState::Succeeded && !m_job->outcome().figure.isEmpty());
    m_status->setWraps(!active); // what it has found, or why it failed, is read to its end
    QString icon = u"job"_s;
    ThemeRole role = ThemeRole::Accent;
    const auto show = [&](const QString& name, ThemeRole colour) {
        icon = name;
        role = colour;
    };
    switch (m_job->state()) {
    case JobState::Queued:
        m_status->setText(queueText());
        break;
    case JobState::Running:
    case JobState::Cancelling:
        showProgress();
        break;
    case JobState::Succeeded:
        if (foundErrors(m_job->outcome()))
            show(u"error"_s, ThemeRole::Error);
        else if (m_job->outcome().needsAttention)
            show(u"warning"_s, ThemeRole::Warning);
        else
            show(u"ok"_s, ThemeRole::Success);
        break;
    case JobState::Failed:
        show(u"error"_s, ThemeRole::Error);
        break;
    case JobState::Cancelled:
        show(u"warning"_s, ThemeRole::Warning);
        break;
    }
    if (!active)
        m_status->setText(endText());
    if (!m_job->facts().unknown.isEmpty())
        show(u"warning"_s, ThemeRole::Warning);
    m_icon->setPixmap(themedIcon(m_theme, icon, role).pixmap(iconSize(24), devicePixelRatioF()));
    showProblems();
    update();
}

/// Of a job that is not active. Of one elsewhere, whose state may have changed, only why it is not known.
QString JobCard::endText() const
{
    const JobFacts& facts = m_job->facts();
    QString text;
    if (!facts.unknown.isEmpty())
        text = facts.unknown;
    else if (m_job->state() == JobState::Succeeded)
        text = m_job->outcome().summary;
    else if (m_job->state() == JobState::Failed)
        text = errorText(m_job->error()).replace(u'\n', QChar::LineSeparator);
    else
        text = facts.onlyReads ? tr("Cancelled.")
            : !facts.host.isEmpty() || m_job->logLines().isEmpty()
            ? tr("Interrupted. What it has finished is kept.")
            : tr("Cancelled. What it has finished is kept.");
    return facts.when.isEmpty() ? text : QString(text % u" · "_s % facts.when);
}

void JobCard::showProblems()
{
    while (QLayoutItem* item = m_problems->takeAt(0)) {
        item->widget()->deleteLater(); // one of them may be what was clicked
        delete item;
    }
    if (m_job->state() != JobState::Succeeded)
        return;
    const std::vector<Finding>& problems = m_job->outcome().problems;
    for (const Finding& problem : std::span(problems).first(std::min(problems.size(), kMostLinks))) {
        const QString where = placeText(problem.where);
        const QString text = sentenceText(problem.message);
        auto* link = new LinkButton(where.isEmpty() ? text : QString(where % u" · "_s % text), this);
        link->setObjectName(u"jobProblem"_s);
        connect(link, &QAbstractButton::clicked, this,
            [this, place = problem.where] { Q_EMIT placeRequested(m_job, place); });
        m_problems->addWidget(link);
    }
    if (problems.size() > kMostLinks) {
        auto* more = new ElidedLabel(this);
        more->setText(tr("and %1 more in the log").arg(countText(problems.size() - kMostLinks)));
        more->setForegroundRole(QPalette::PlaceholderText);
        m_problems->addWidget(more);
    }
}

void JobCard::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(m_theme.colour(ThemeRole::Border));
    painter.setBrush(m_theme.colour(ThemeRole::Surface));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
}

} // namespace shardscope::ui
