// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/histogram_view.h"

#include "ui/tensorview/number_format.h"
#include "ui/text/text.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint32_t kBars = 64;

} // namespace

HistogramView::HistogramView(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    makeCellsAccessible(); // before its name is set, for which Qt asks for the interface
    setObjectName(u"histogram"_s);
    setAccessibleName(tr("Histogram"));
    setFocusPolicy(Qt::StrongFocus);
    setLayoutDirection(Qt::LeftToRight); // small values are at the left in every language
    setMinimumSize(160, 80);
    connect(&theme, &Theme::changed, this, QOverload<>::of(&QWidget::update));
}

void HistogramView::setStatistics(const std::optional<TensorStatistics>& statistics)
{
    const auto kept = brushed();
    m_statistics = statistics;
    rebuild();
    setBrushed(kept);
}

void HistogramView::setByExponent(bool byExponent)
{
    m_byExponent = byExponent;
    rebuild();
    Q_EMIT brushChanged();
}

void HistogramView::setLogarithmic(bool logarithmic)
{
    m_logarithmic = logarithmic;
    update();
}

void HistogramView::rebuild()
{
    m_bars.clear();
    m_brush.reset();
    m_most = 0;
    if (m_statistics && m_byExponent) {
        for (const ValueHistogram::Octave& octave : m_statistics->histogram.octaves()) {
            while (!m_bars.empty() && m_bars.back().low + 1 < octave.exponent) // empty bars keep their space
                m_bars.push_back({m_bars.back().low + 1, m_bars.back().high + 1, 0});
            m_bars.push_back({static_cast<double>(octave.exponent), octave.exponent + 1.0, octave.count});
        }
    } else if (m_statistics && m_statistics->found.finite() > 0) {
        const Statistics& found = m_statistics->found;
        const auto bars = m_statistics->histogram.bars(found.min, found.max, kBars);
        for (size_t i = 0; i < bars.counts.size(); ++i)
            m_bars.push_back({bars.edges[i], bars.edges[i + 1], bars.counts[i]});
        if (m_bars.empty()) // all values are one
            m_bars.push_back({found.min, found.max, found.finite()});
    }
    for (const Bar& bar : m_bars)
        m_most = std::max(m_most, bar.count);
    report();
    update();
}

std::optional<std::pair<double, double>> HistogramView::brushed() const
{
    if (!m_brush || m_byExponent || m_bars.empty())
        return {};
    return std::pair(
        m_bars[static_cast<size_t>(m_brush->first)].low, m_bars[static_cast<size_t>(m_brush->second)].high);
}

void HistogramView::setBrushed(std::optional<std::pair<double, double>> range)
{
    m_brush.reset();
    for (int i = 0; range && !m_byExponent && i < static_cast<int>(m_bars.size()); ++i) {
        const Bar& bar = m_bars[static_cast<size_t>(i)];
        if (bar.high > range->first && bar.low < range->second)
            m_brush = m_brush ? std::pair(m_brush->first, i) : std::pair(i, i);
    }
    report();
    announceCurrentCell(this);
    update();
    Q_EMIT brushChanged();
}

QRect HistogramView::plot() const
{
    const int line = fontMetrics().height();
    return rect().adjusted(2, 4, -2, -(line + 6));
}

int HistogramView::barAt(int x) const
{
    const QRect area = plot();
    const auto count = static_cast<int>(m_bars.size());
    return std::clamp((x - area.left()) * count / std::max(area.width(), 1), 0, count - 1);
}

double HistogramView::heightOf(const Bar& bar) const
{
    if (m_most == 0 || bar.count == 0)
        return 0;
    if (!m_logarithmic)
        return static_cast<double>(bar.count) / static_cast<double>(m_most);
    return std::log10(1.0 + static_cast<double>(bar.count)) / std::log10(1.0 + static_cast<double>(m_most));
}

QString HistogramView::rangeText(const Bar& bar) const
{
    if (!m_byExponent)
        return tr("%1 to %2").arg(shortNumber(bar.low), shortNumber(bar.high));
    return bar.low <= -127 ? tr("zero and smaller than 2^-126") : tr("magnitudes from 2^%1").arg(bar.low);
}

QString HistogramView::barCount(const Bar& bar) const
{
    return (m_statistics->exact ? QString() : u"≈ "_s) % countText(bar.count);
}

CellTable HistogramView::cellTable() const
{
    CellTable out{cellCount(m_bars.size()), 1};
    if (m_brush)
        out.current = CellTable::Cell{m_brush->first, 0};
    return out;
}

QString HistogramView::cellValue(int row, int /*column*/) const
{
    return barCount(m_bars[static_cast<size_t>(row)]);
}

QString HistogramView::rowName(int row) const
{
    return rangeText(m_bars[static_cast<size_t>(row)]);
}

QString HistogramView::columnName(int /*column*/) const
{
    return tr("number of values");
}

QRect HistogramView::cellRect(int row, int /*column*/) const
{
    const QRect area = plot();
    const auto count = static_cast<int>(m_bars.size());
    const int left = row * area.width() / count;
    return {
        area.left() + left, area.top(), std::max((row + 1) * area.width() / count - left, 1), area.height()};
}

std::optional<CellTable::Cell> HistogramView::cellUnder(const QPoint& point) const
{
    if (m_bars.empty() || !plot().contains(point))
        return {};
    return CellTable::Cell{barAt(point.x()), 0};
}

bool HistogramView::isCellSelected(int row, int /*column*/) const
{
    return m_brush && row >= m_brush->first && row <= m_brush->second;
}

void HistogramView::report()
{
    if (m_bars.empty())
        return setAccessibleDescription(tr("No finite values"));
    const QString whole = tr("%1 bars, from %2 to %3")
                              .arg(m_bars.size())
                              .arg(shortNumber(m_bars.front().low), shortNumber(m_bars.back().high));
    const auto range = brushed();
    setAccessibleDescription(range
            ? tr("%1; chosen: %2 to %3").arg(whole, shortNumber(range->first), shortNumber(range->second))
            : whole);
}

void HistogramView::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // a minus is at the left of its number in every language
    const QRect area = plot();
    painter.fillRect(area, m_theme.colour(ThemeRole::Surface));
    if (m_bars.empty()) {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(area, Qt::AlignCenter, m_statistics ? tr("No finite values.") : QString());
        return;
    }
    const auto count = static_cast<int>(m_bars.size());
    for (int i = 0; i < count; ++i) {
        const Bar& bar = m_bars[static_cast<size_t>(i)];
        const int left = area.left() + i * area.width() / count;
        const int right = area.left() + (i + 1) * area.width() / count;
        const bool out = m_brush && (i < m_brush->first || i > m_brush->second);
        // One element stays visible next to a billion.
        const int height = bar.count == 0 ? 0 : std::max(2, static_cast<int>(heightOf(bar) * area.height()));
        painter.fillRect(QRect(left, area.bottom() - height + 1, std::max(right - left - 1, 1), height),
            m_theme.colour(out ? ThemeRole::Border : ThemeRole::Accent));
    }
    if (m_brush) {
        painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1, Qt::DashLine));
        const int left = area.left() + m_brush->first * area.width() / count;
        const int right = area.left() + (m_brush->second + 1) * area.width() / count;
        painter.drawLine(left, area.top(), left, area.bottom());
        painter.drawLine(right - 1, area.top(), right - 1, area.bottom());
    }
    painter.setPen(m_theme.colour(hasFocus() ? ThemeRole::Accent : ThemeRole::Border));
    painter.drawRect(area.adjusted(0, 0, -1, 0));
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    const QRect line(area.left(), area.bottom() + 4, area.width(), fontMetrics().height());
    const auto edge = [this](double value) {
        return m_byExponent ? (value <= -127 ? u"0"_s : u"2^%1"_s.arg(value)) : shortNumber(value);
    };
    painter.drawText(line, Qt::AlignLeft, edge(m_bars.front().low));
    painter.drawText(line, Qt::AlignRight, edge(m_bars.back().high));
    const auto range = brushed();
    painter.drawText(line, Qt::AlignHCenter,
        range ? tr("%1 … %2").arg(shortNumber(range->first), shortNumber(range->second))
              : tr("max count %1").arg((m_statistics->exact ? QString() : u"≈ "_s) % countText(m_most)));
}

void HistogramView::brush(int first, int last)
{
    if (m_bars.empty() || m_byExponent)
        return;
    const int most = static_cast<int>(m_bars.size()) - 1;
    first = std::clamp(first, 0, most);
    last = std::clamp(last, first, most);
    if (m_brush == std::pair(first, last))
        return;
    m_brush = std::pair(first, last);
    report();
    announceCurrentCell(this);
    update();
    Q_EMIT brushChanged();
}

void HistogramView::keyPressEvent(QKeyEvent* event)
{
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step != 0) {
        const auto [first, last] = m_brush.value_or(std::pair(0, static_cast<int>(m_bars.size()) - 1));
        if ((event->modifiers() & Qt::ShiftModifier) != 0)
            brush(first, std::max(last + step, first));
        else
            brush(std::min(first + step, last), last);
    } else if (event->key() == Qt::Key_Escape && m_brush) {
        setBrushed({});
    } else {
        QWidget::keyPressEvent(event);
    }
}

void HistogramView::mousePressEvent(QMouseEvent* event)
{
    if (m_bars.empty() || event->button() != Qt::LeftButton)
        return;
    m_brushBegin = barAt(event->pos().x());
}

void HistogramView::mouseMoveEvent(QMouseEvent* event)
{
    if (m_bars.empty() || (event->buttons() & Qt::LeftButton) == 0)
        return;
    const int now = barAt(event->pos().x());
    brush(std::min(m_brushBegin, now), std::max(m_brushBegin, now));
}

void HistogramView::mouseDoubleClickEvent(QMouseEvent* /*event*/)
{
    setBrushed({});
}

bool HistogramView::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || m_bars.empty())
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const Bar& bar = m_bars[static_cast<size_t>(barAt(help->pos().x()))];
    QToolTip::showText(help->globalPos(), rangeText(bar) % u": "_s % barCount(bar), this);
    return true;
}

void HistogramView::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}

void HistogramView::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    update();
}

} // namespace shardscope::ui
