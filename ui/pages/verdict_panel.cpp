// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/verdict_panel.h"

#include "ui/style/icons.h"
#include "ui/text/progress_text.h"
#include "ui/text/text.h"

#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kSteps = 1000;
constexpr int kMinCauseLines = 2;
constexpr int kMaxCauseLines = 6;
constexpr int kPageShare = 10; ///< of the page's height, for the causes
constexpr int kMaxEvidence = 8;

QString sideText(DiffSide side)
{
    return side == DiffSide::Left ? VerdictPanel::tr("left")
        : side == DiffSide::Right ? VerdictPanel::tr("right")
                                  : QString();
}

QString causeText(const DiffCause& cause)
{
    // Most sentences name the side themselves.
    const bool names = cause.message.find("the left") != std::string::npos
        || cause.message.find("the right") != std::string::npos;
    const QString side = names ? QString() : sideText(cause.side);
    QString text = u"•  "_s % (side.isEmpty() ? QString() : QString(side % u": "_s))
        % sentenceText(cause.message) % u"  ["_s % toText(cause.code) % u']';
    for (size_t i = 0; i < cause.evidence.size() && i < kMaxEvidence; ++i)
        text += u"\n     – "_s % toText(cause.evidence[i]);
    if (cause.evidence.size() > kMaxEvidence)
        text += u"\n     – "_s
            % VerdictPanel::tr("and %1 more").arg(countText(cause.evidence.size() - kMaxEvidence));
    return text;
}

/// None where all is on this machine.
QStringList whereFacts(const CompareRun& run)
{
    return run.whereText().isEmpty() ? QStringList() : QStringList{run.whereText()};
}

} // namespace

VerdictPanel::VerdictPanel(Theme& theme, QWidget* parent)
    : QFrame(parent)
    , m_theme(theme)
    , m_icon(new QLabel(this))
    , m_headline(new QLabel(this))
    , m_facts(new QLabel(this))
    , m_bar(new QProgressBar(this))
    , m_scroll(new QScrollArea(this))
    , m_causes(new QLabel(m_scroll))
{
    setObjectName(u"verdictPanel"_s);
    m_headline->setObjectName(u"compareVerdict"_s);
    m_facts->setObjectName(u"compareFacts"_s);
    m_causes->setObjectName(u"compareCauses"_s);
    m_bar->setObjectName(u"compareProgress"_s);
    m_bar->setTextVisible(false);
    m_bar->setFixedHeight(6);
    QFont font = m_headline->font();
    font.setPointSizeF(font.pointSizeF() * 1.15);
    font.setBold(true);
    m_headline->setFont(font);
    for (QLabel* label : {m_headline, m_facts, m_causes}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        label->setFocusPolicy(Qt::NoFocus);
    }
    m_causes->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_scroll->setObjectName(u"compareCausesScroll"_s);
    m_scroll->setAccessibleName(tr("What explains the difference"));
    m_scroll->setWidget(m_causes);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->viewport()->setAutoFillBackground(false);
    m_causes->setAutoFillBackground(false);
    auto* texts = new QVBoxLayout;
    texts->setSpacing(4);
    texts->addWidget(m_headline);
    texts->addWidget(m_bar);
    texts->addWidget(m_facts);
    texts->addWidget(m_scroll);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 10, 14, 10);
    row->setSpacing(12);
    row->addWidget(m_icon, 0, Qt::AlignTop);
    row->addLayout(texts, 1);
    // Not Fixed: the height of the usual width would limit that of narrower ones.
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    connect(&theme, &Theme::changed, this, &VerdictPanel::applyTheme);
}

QString VerdictPanel::headline() const
{
    return m_headline->text();
}

void VerdictPanel::show(const CompareRun& run)
{
    setVisible(run.isRunning() || run.outcome() || run.error());
    m_bar->setVisible(run.isRunning());
    m_causes->clear();
    m_good = false;
    m_severity = Severity::Info;
    if (run.isRunning()) {
        const Progress& progress = run.progress();
        m_headline->setText(progress.bytesTotal > 0 ? tr("Comparing") : tr("Reading the other checkpoint"));
        m_bar->setRange(0, progress.bytesTotal > 0 ? kSteps : 0);
        if (progress.bytesTotal > 0)
            m_bar->setValue(static_cast<int>(
                static_cast<double>(progress.bytesDone) / static_cast<double>(progress.bytesTotal) * kSteps));
        m_facts->setText((progressFacts(progress) + whereFacts(run)).join(u" · "_s));
    } else if (run.error()) {
        m_severity = Severity::Error;
        m_headline->setText(tr("The two cannot be compared"));
        m_facts->setText(errorText(*run.error()));
    } else if (run.outcome()) {
        showOutcome(*run.outcome(), whereFacts(run));
    }
    setAccessibleName(m_headline->text());
    setAccessibleDescription(m_causes->text().isEmpty() ? m_facts->text() : m_causes->text());
    applyTheme();
    fit();
}

void VerdictPanel::showOutcome(const CompareOutcome& outcome, const QStringList& where)
{
    const JudgedDiff& judged = *outcome.judged;
    m_good = judged.verdict == DiffVerdict::Same || judged.verdict == DiffVerdict::Padding;
    const bool fine = m_good || judged.verdict == DiffVerdict::Bookkeeping
        || judged.verdict == DiffVerdict::LastBit || judged.verdict == DiffVerdict::Alike;
    m_severity = fine ? Severity::Info : Severity::Warning;
    m_headline->setText(sentenceText(verdictText(judged.verdict, judged.diff)));
    const StateDiff& diff = judged.diff;
    QStringList compared{tr("Compared: %1").arg(parametersText(diff.parameters - diff.buffers))};
    if (diff.buffers > 0)
        compared.append(diff.buffers == 1 ? tr("1 buffer") : tr("%1 buffers").arg(countText(diff.buffers)));
    compared.append(tr("%1 tensors").arg(countText(diff.tensors)));
    compared.append(tr("%1 elements").arg(shortCountText(diff.elements)));
    compared.append(tr("%1 scalars").arg(countText(diff.scalars)));
    m_facts->setText((compared + where).join(u" · "_s));
    QStringList causes;
    for (const DiffCause& cause : judged.causes)
        causes.append(causeText(cause));
    m_causes->setText(causes.join(u'\n'));
}

void VerdictPanel::applyTheme()
{
    const int side = fontMetrics().height() + 6;
    const bool error = m_severity == Severity::Error;
    const ThemeRole role = m_good         ? ThemeRole::Success
        : error                           ? ThemeRole::Error
        : m_severity == Severity::Warning ? ThemeRole::Warning
                                          : ThemeRole::Info;
    const QString name = m_good           ? u"ok"_s
        : error                           ? u"error"_s
        : m_severity == Severity::Warning ? u"warning"_s
                                          : u"info"_s;
    m_icon->setPixmap(themedIcon(m_theme, name, role).pixmap(QSize(side, side), devicePixelRatioF()));
    update();
}

void VerdictPanel::fit()
{
    const bool any = !m_causes->text().isEmpty();
    m_scroll->setVisible(any);
    if (!any)
        return;
    const int width = std::max(100, m_scroll->viewport()->width());
    const int wanted = m_causes->heightForWidth(width) + 2;
    const int line = m_causes->fontMetrics().lineSpacing();
    const int room = std::clamp(m_pageHeight / kPageShare, kMinCauseLines * line, kMaxCauseLines * line);
    m_scroll->setFixedHeight(std::min(wanted, room));
    m_scroll->setFocusPolicy(wanted > m_scroll->height() ? Qt::StrongFocus : Qt::NoFocus);
}

void VerdictPanel::setPageHeight(int height)
{
    m_pageHeight = height;
    fit();
}

void VerdictPanel::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fit();
    updateGeometry(); // the least height of the page depends on its width
}

void VerdictPanel::paintEvent(QPaintEvent* /*event*/)
{
    const ThemeRole tint = m_good         ? ThemeRole::SuccessTint
        : m_severity == Severity::Error   ? ThemeRole::ErrorTint
        : m_severity == Severity::Warning ? ThemeRole::WarningTint
                                          : ThemeRole::InfoTint;
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.colour(tint));
}

} // namespace shardscope::ui
