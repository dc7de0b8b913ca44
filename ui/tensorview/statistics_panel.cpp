// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/statistics_panel.h"

#include "core/report/answers/answer.h"
#include "ui/text/text.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kPairLetters = 22; ///< of a name and its value
constexpr int kMaxColumns = 3;

} // namespace

StatisticsPanel::StatisticsPanel(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_facts(new QWidget(this))
    , m_grid(new QGridLayout(m_facts))
    , m_note(new QLabel(this))
    , m_exact(new QPushButton(this))
{
    setObjectName(u"statisticsPanel"_s);
    m_note->setObjectName(u"statisticsNote"_s);
    m_note->setForegroundRole(QPalette::PlaceholderText);
    m_note->setWordWrap(true);
    m_exact->setObjectName(u"statisticsExact"_s);
    // Its columns follow the width that it is given.
    m_facts->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(10);
    m_grid->setVerticalSpacing(2);
    for (const auto& [name, value] : statisticFacts({})) {
        auto* label = new QLabel(name, m_facts);
        label->setForegroundRole(QPalette::PlaceholderText);
        auto* number = new QLabel(m_facts);
        number->setObjectName(u"statistic%1"_s.arg(m_pairs.size()));
        number->setTextInteractionFlags(Qt::TextSelectableByMouse);
        number->setTextFormat(Qt::PlainText);
        m_pairs.append(std::pair(label, number));
    }
    auto* foot = new QHBoxLayout;
    foot->addWidget(m_note, 1);
    foot->addWidget(m_exact);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 4, 0, 0);
    rows->setSpacing(4);
    rows->addWidget(m_facts);
    rows->addLayout(foot);
    connect(m_exact, &QPushButton::clicked, this,
        [this] { m_running ? Q_EMIT cancelRequested() : Q_EMIT exactRequested(); });
    arrange();
}

void StatisticsPanel::show(const std::optional<TensorFindings>& findings, const QString& progress)
{
    m_running = !progress.isEmpty();
    const bool known = findings && !findings->error;
    const auto facts = statisticFacts(known ? findings->statistics : TensorStatistics{});
    for (qsizetype i = 0; i < m_pairs.size(); ++i)
        m_pairs[i].second->setText(known ? facts[static_cast<size_t>(i)].second : u"–"_s);
    const bool sampled = known && !findings->statistics.exact;
    const QString whole = sampled ? tr("≈ from %1 of %2 elements")
                                        .arg(countText(findings->statistics.found.elements),
                                            shortCountText(findings->statistics.elements))
        : known && findings->statistics.missing > 0 ? tr("Of the readable elements")
        : known                                     ? tr("Of every element")
                                                    : QString();
    m_note->setText(findings && findings->error ? errorText(*findings->error)
            : m_running                         ? progress
            : known ? QString(whole % u" · "_s % toText(computeText(findings->compute)))
                    : QString());
    const QString reason = known && !m_running ? sentenceText(findings->compute.reason) : QString();
    m_note->setToolTip(reason);
    m_note->setAccessibleDescription(reason);
    m_exact->setText(m_running ? tr("Cancel") : tr("&Exact"));
    m_exact->setToolTip(m_running ? QString() : tr("Read every element"));
    m_exact->setVisible(m_running || sampled);
}

QString StatisticsPanel::value(const QString& name) const
{
    for (const auto& [label, number] : m_pairs) {
        if (label->text() == name)
            return number->text();
    }
    return {};
}

void StatisticsPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void StatisticsPanel::arrange()
{
    const int columns
        = std::clamp(width() / (kPairLetters * fontMetrics().averageCharWidth()), 1, kMaxColumns);
    if (columns == m_columns)
        return;
    m_columns = columns;
    const auto count = static_cast<int>(m_pairs.size());
    const int lines = (count + columns - 1) / columns;
    for (int i = 0; i < count; ++i) { // down each column, so that related facts are together
        m_grid->addWidget(m_pairs[i].first, i % lines, 2 * (i / lines));
        m_grid->addWidget(m_pairs[i].second, i % lines, 2 * (i / lines) + 1);
    }
    for (int column = 0; column < kMaxColumns; ++column)
        m_grid->setColumnStretch(2 * column + 1, column < columns ? 1 : 0);
}

} // namespace shardscope::ui
