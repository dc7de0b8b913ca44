// SPDX-License-Identifier: Apache-2.0
// How LineChart draws itself.
#include "ui/tensorview/line_chart.h"

#include "ui/tensorview/number_format.h"
#include "ui/text/text.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMarkSize = 4;

/// 1, 2 or 5 times a power of ten: steps of about `count` ticks over a range.
double tickStep(double range, int count)
{
    const double rough = range / std::max(count, 1);
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough)
            return factor * power;
    }
    return 10 * power;
}

} // namespace

void LineChart::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // a minus is at the left of its number in every language
    const QRect area = plot();
    painter.fillRect(area, m_theme.colour(ThemeRole::Surface));
    if (!m_samples.columns.empty()) {
        paintAxes(painter);
        paintRanks(painter);
        painter.save();
        painter.setClipRect(area);
        paintLine(painter);
        paintCursor(painter);
        painter.restore();
        paintMarks(painter);
    } else {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(
            area, Qt::AlignCenter, m_reader.isRunning() ? tr("Reading…") : tr("No values to draw."));
    }
    painter.setPen(
        hasFocus() ? QPen(m_theme.colour(ThemeRole::Accent), 2) : QPen(m_theme.colour(ThemeRole::Border)));
    painter.drawRect(area.adjusted(-1, -1, 0, 0));
}

std::vector<double> LineChart::ticks() const
{
    std::vector<double> out;
    if (m_samples.anyFinite && m_scale.logarithmic) {
        for (int i = 0; i <= 4; ++i)
            out.push_back(m_scale.valueAt(i / 4.0));
    } else if (m_samples.anyFinite) {
        const double low = m_scale.valueAt(0);
        const double high = m_scale.valueAt(1);
        const double step = tickStep(high - low, std::max(plot().height() / (3 * fontMetrics().height()), 1));
        for (double at = std::ceil(low / step); step > 0 && at * step <= high && out.size() < 100; at += 1)
            out.push_back(at == 0 ? 0.0 : at * step);
    }
    return out;
}

void LineChart::paintAxes(QPainter& painter) const
{
    const QRect area = plot();
    const int line = fontMetrics().height();
    const auto tick = [&](double value) {
        const int y = yOf(value);
        painter.setPen(m_theme.colour(ThemeRole::MapGrid));
        painter.drawLine(area.left(), y, area.right(), y);
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(QRect(0, y - line / 2, area.left() - 6, line),
            static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), shortNumber(value));
    };
    for (const double value : ticks())
        tick(value);
    painter.setPen(m_theme.colour(ThemeRole::MutedText));
    const int wide = fontMetrics().horizontalAdvance(countText(m_end)) + 24;
    const auto elements = static_cast<double>(m_end - m_begin);
    const auto step = static_cast<uint64_t>(std::max(tickStep(elements, area.width() / wide), 1.0));
    for (uint64_t at = (m_begin + step - 1) / step * step; at < m_end; at += step) {
        const int x = xOf(at);
        painter.drawLine(x, area.bottom() + 1, x, area.bottom() + 4);
        const int half = wide / 2;
        const int left = std::clamp(x - half, 0, width() - wide);
        painter.drawText(
            QRect(left, area.bottom() + 5, wide, line), static_cast<int>(Qt::AlignHCenter), countText(at));
    }
}

void LineChart::paintRanks(QPainter& painter) const
{
    if (!m_places || m_places->runs().empty() || !m_places->inOrder())
        return;
    const QRect area = plot();
    const auto& runs = m_places->runs();
    const auto pixels = [&](const ElementPlaces::Run& run) {
        return static_cast<double>(run.end - run.begin) / static_cast<double>(m_end - m_begin) * area.width();
    };
    for (size_t i = m_places->runOf(m_begin); i < runs.size() && runs[i].begin < m_end; ++i) {
        if (pixels(runs[i]) < 3)
            continue; // closer than the eye can separate; the text at the pointer names the rank
        const int left = std::max(
            runs[i].begin <= m_begin ? area.left() : (xOf(runs[i].begin - 1) + xOf(runs[i].begin)) / 2,
            area.left());
        const int right = std::min(xOf(std::min(runs[i].end, m_end) - 1), area.right());
        painter.setPen(QPen(m_theme.colour(ThemeRole::MutedText), 1, Qt::DashLine));
        if (runs[i].begin > m_begin)
            painter.drawLine(left, area.top(), left, area.bottom());
        const QString name = m_places->rankText(i);
        if (fontMetrics().horizontalAdvance(name) + 6 > right - left)
            continue;
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(QRect(left + 4, area.top() + 1, right - left, fontMetrics().height()),
            static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), name);
    }
}

void LineChart::paintLine(QPainter& painter) const
{
    const QRect area = plot();
    const QColor colour = m_theme.colour(ThemeRole::Accent);
    const double wide
        = static_cast<double>(area.width()) / static_cast<double>(std::max<uint64_t>(m_end - m_begin, 1));
    QPainterPath path;
    const LineColumn* last = nullptr;
    for (const LineColumn& column : m_samples.columns) {
        const double x = xMiddle(column);
        if (column.missing > 0) {
            const auto half = std::max(wide * static_cast<double>(column.end - column.first) / 2, 1.0);
            painter.fillRect(QRectF(x - half, area.top(), 2 * half, area.height()),
                QBrush(m_theme.colour(ThemeRole::Missing), Qt::DiagCrossPattern));
        }
        if (!column.hasValues()) {
            last = nullptr; // the line has a gap
            continue;
        }
        const int low = yOf(column.low);
        const int high = yOf(column.high);
        // The nearer ends are connected, so that no column hides what the other one has.
        const int from = last == nullptr ? low : std::clamp(low, yOf(last->high), yOf(last->low));
        if (last == nullptr)
            path.moveTo(x, low);
        else
            path.moveTo(xMiddle(*last), from);
        path.lineTo(x, std::clamp(from, high, low));
        path.moveTo(x, low);
        path.lineTo(x, high);
        last = &column;
    }
    painter.setPen(QPen(colour, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
    for (const LineColumn& column : m_samples.columns) {
        if (column.end - column.first == 1 && column.hasValues() && wide >= 6)
            painter.fillRect(QRectF(xMiddle(column) - 2, yOf(column.low) - 2, 4, 4), colour);
    }
}

void LineChart::paintMarks(QPainter& painter) const
{
    const QRect area = plot();
    const auto triangle = [&](double x, int tip, int dip, const QColor& colour) {
        painter.fillRect(QRectF(x, area.top(), 1, area.height()), colour);
        QPainterPath path;
        path.moveTo(x + 0.5, tip);
        path.lineTo(x + 0.5 - kMarkSize, tip + dip);
        path.lineTo(x + 0.5 + kMarkSize, tip + dip);
        painter.fillPath(path, colour);
    };
    const QColor infinite = m_theme.hue(3);
    for (const LineColumn& column : m_samples.columns) {
        const double x = xMiddle(column);
        if (column.odd() == 0 || x < area.left() || x > area.right())
            continue;
        if (column.positive > 0)
            triangle(x, area.top() - 2 * kMarkSize, 2 * kMarkSize, infinite);
        if (column.negative > 0)
            triangle(x, area.bottom() + 2 * kMarkSize, -2 * kMarkSize, infinite);
        if (column.nans > 0)
            triangle(x, area.top(), -2 * kMarkSize, m_theme.colour(ThemeRole::Error));
    }
    const int line = fontMetrics().height();
    painter.setPen(m_theme.colour(ThemeRole::Text));
    painter.drawText(QRect(area.left(), 0, area.width(), line),
        static_cast<int>(Qt::AlignRight | Qt::AlignVCenter), marksText());
}

QString LineChart::marksText() const
{
    QStringList words;
    const QString about = m_samples.sampled ? u"≈ "_s : QString();
    if (m_samples.nans > 0)
        words.append(tr("▼ %1 NaN").arg(countText(m_samples.nans)));
    if (m_samples.infinities > 0)
        words.append(tr("▲ %1 infinite").arg(countText(m_samples.infinities)));
    if (m_samples.missing > 0)
        words.append(tr("▒ %1 missing or unreadable").arg(countText(m_samples.missing)));
    return words.isEmpty() ? QString() : QString(about % words.join(u"   "_s));
}

void LineChart::paintCursor(QPainter& painter) const
{
    const QRect area = plot();
    if (m_hover >= 0) {
        painter.setPen(m_theme.colour(ThemeRole::Border));
        painter.drawLine(m_hover, area.top(), m_hover, area.bottom());
    }
    if (m_pressed && m_hover >= 0 && std::abs(m_hover - *m_pressed) >= kDraggedPixels) {
        QColor band = m_theme.colour(ThemeRole::Accent);
        band.setAlpha(50);
        painter.fillRect(QRect(QPoint(std::min(*m_pressed, m_hover), area.top()),
                             QPoint(std::max(*m_pressed, m_hover), area.bottom())),
            band);
    }
    const uint64_t element = m_cursor.element();
    if (element < m_begin || element >= m_end)
        return;
    const int x = xOf(element);
    painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1));
    painter.drawLine(x, area.top(), x, area.bottom());
    const LineColumn& column = m_samples.columns[m_samples.columnOf(element)];
    if (!column.hasValues() || (element != column.lowAt && element != column.highAt))
        return;
    const int y = yOf(element == column.highAt ? column.high : column.low);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(m_theme.colour(ThemeRole::Surface), 1));
    painter.setBrush(m_theme.colour(ThemeRole::Text));
    painter.drawEllipse(QPoint(x, y), 4, 4);
}

} // namespace shardscope::ui
