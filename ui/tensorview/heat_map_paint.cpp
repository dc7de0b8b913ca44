// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/heat_map.h"

#include "ui/tensorview/number_format.h"
#include "ui/text/text.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

// How the heat map is painted.

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kBarWidth = 12;
constexpr int kGap = 8;

QRgb kindColour(const MapPalette& palette, HeatKind kind)
{
    switch (kind) {
    case HeatKind::NotANumber:
        return palette.error;
    case HeatKind::Infinite:
        return palette.hues[3];
    case HeatKind::Missing:
        return palette.mutedText;
    case HeatKind::Value:
    case HeatKind::Nothing:
        break;
    }
    return palette.background;
}

} // namespace

void HeatMap::rescale()
{
    m_scale = {m_range ? m_range->first : m_samples.low, m_range ? m_range->second : m_samples.high,
        m_symmetric, m_logarithmic};
    const MapPalette palette = mapPaletteFrom(m_theme);
    m_image = QImage(m_samples.width, m_samples.height, QImage::Format_RGB32);
    for (int y = 0; y < m_samples.height; ++y) {
        auto* line = reinterpret_cast<QRgb*>(m_image.scanLine(y));
        for (int x = 0; x < m_samples.width; ++x) {
            const auto at
                = static_cast<size_t>(y) * static_cast<size_t>(m_samples.width) + static_cast<size_t>(x);
            const HeatKind kind = m_samples.kinds[at];
            line[x] = kind == HeatKind::Value ? m_scale.colourAt(palette, m_scale.place(m_samples.values[at]))
                                              : kindColour(palette, kind);
        }
    }
    report();
    update();
}

QRect HeatMap::imageArea() const
{
    int labels = fontMetrics().horizontalAdvance(u"-0.00000e-00"_s);
    for (const auto& [kind, name] : kindsSeen())
        labels = std::max(labels, fontMetrics().horizontalAdvance(name) + kGap);
    const QRect room = rect().adjusted(2, 2, -(kBarWidth + 2 * kGap + labels), -2);
    return room.isValid() ? room : QRect();
}

void HeatMap::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setLayoutDirection(Qt::LeftToRight); // a minus is at the left of its number in every language
    const QRect area = imageArea();
    if (m_image.isNull()) {
        painter.setPen(m_theme.colour(ThemeRole::MutedText));
        painter.drawText(
            rect(), Qt::AlignCenter, m_reader.isRunning() ? tr("Reading…") : tr("No values to draw."));
        return;
    }
    if (!m_isCurrent) {
        painter.setOpacity(0.25);
        painter.drawImage(area, m_image);
        painter.setOpacity(1);
        painter.setPen(m_theme.colour(ThemeRole::Text));
        painter.drawText(area, static_cast<int>(Qt::AlignCenter), tr("Reading…"));
        return;
    }
    painter.drawImage(area, m_image);
    paintHatches(painter, area);
    painter.setPen(
        hasFocus() ? QPen(m_theme.colour(ThemeRole::Accent), 2) : QPen(m_theme.colour(ThemeRole::Border)));
    painter.drawRect(area.adjusted(-1, -1, 0, 0));
    paintBorders(painter, area);
    paintCursor(painter, area);
    const int bar = area.right() + 2 * kGap;
    const QRect column(bar, 2, width() - bar, height() - 4);
    paintBar(painter, column);
    paintKinds(painter, column);
}

bool HeatMap::hasHatches(const QRect& area) const
{
    constexpr int kSmallest = 8;
    return area.width() >= kSmallest * m_samples.width && area.height() >= kSmallest * m_samples.height;
}

/// Of cells without a number, so that they are no colour of the scale. One pattern for all of them, as in the
/// legend; smaller cells are plain.
void HeatMap::paintHatches(QPainter& painter, const QRect& area) const
{
    if (!hasHatches(area))
        return;
    const QBrush hatch(QColor(mapPaletteFrom(m_theme).background), Qt::Dense5Pattern);
    for (int y = 0; y < m_samples.height; ++y) {
        for (int x = 0; x < m_samples.width; ++x) {
            const HeatKind kind
                = m_samples.kinds[static_cast<size_t>(y) * static_cast<size_t>(m_samples.width)
                    + static_cast<size_t>(x)];
            if (kind == HeatKind::Value || kind == HeatKind::Nothing)
                continue;
            const QPoint from(area.left() + x * area.width() / m_samples.width,
                area.top() + y * area.height() / m_samples.height);
            const QPoint to(area.left() + (x + 1) * area.width() / m_samples.width - 1,
                area.top() + (y + 1) * area.height() / m_samples.height - 1);
            painter.fillRect(QRect(from, to), hatch);
        }
    }
}

void HeatMap::paintBorders(QPainter& painter, const QRect& area) const
{
    const auto at = [&](QPoint cell) {
        return QPoint(area.left() + cell.x() * area.width() / m_samples.width,
            area.top() + cell.y() * area.height() / m_samples.height);
    };
    for (const QPen& pen : {QPen(m_theme.colour(ThemeRole::Surface), 3),
             QPen(m_theme.colour(ThemeRole::Text), 1, Qt::DashLine)}) { // seen on every colour
        painter.setPen(pen);
        for (const QLine& line : m_samples.borders)
            painter.drawLine(at(line.p1()), at(line.p2()));
    }
}

void HeatMap::paintCursor(QPainter& painter, const QRect& area) const
{
    const auto cell = m_slice.cellOf(m_cursor.element());
    if (!cell)
        return;
    const auto at = [](uint64_t position, uint64_t of, int pixels) {
        return static_cast<int>(static_cast<double>(position) / static_cast<double>(of) * pixels);
    };
    const int left = at(cell->column, m_slice.columns(), area.width());
    const int top = at(cell->row, m_slice.rows(), area.height());
    const int right = at(cell->column + 1, m_slice.columns(), area.width());
    const int bottom = at(cell->row + 1, m_slice.rows(), area.height());
    QRect box(area.left() + left, area.top() + top, std::max(right - left, 5), std::max(bottom - top, 5));
    painter.setPen(QPen(m_theme.colour(ThemeRole::Surface), 3));
    painter.drawRect(box);
    painter.setPen(QPen(m_theme.colour(ThemeRole::Text), 1));
    painter.drawRect(box);
}

void HeatMap::paintBar(QPainter& painter, const QRect& area) const
{
    if (!m_samples.anyFinite)
        return;
    const MapPalette palette = mapPaletteFrom(m_theme);
    const int line = fontMetrics().height();
    const auto kinds = static_cast<int>(kindsSeen().size());
    const int room = area.height() - (kinds == 0 ? line : (kinds + 2) * line);
    const QRect bar(area.left(), area.top() + line / 2, kBarWidth, std::max(room, 2 * line));
    for (int y = 0; y < bar.height(); ++y)
        painter.fillRect(bar.left(), bar.top() + y, bar.width(), 1,
            QColor(m_scale.colourAt(palette, 1 - static_cast<double>(y) / (bar.height() - 1))));
    painter.setPen(m_theme.colour(ThemeRole::Border));
    painter.drawRect(bar.adjusted(-1, -1, 0, 0));
    painter.setPen(m_theme.colour(ThemeRole::Text));
    const bool flat = !m_scale.symmetric && m_scale.high <= m_scale.low; // one value, one tick
    const int ticks = flat ? 1 : bar.height() > 6 * line ? 4 : 2;
    for (int tick = flat ? 1 : 0; tick <= ticks; ++tick) {
        const double place = 1 - static_cast<double>(tick) / ticks;
        const int y = bar.top() + tick * (bar.height() - 1) / ticks;
        painter.drawText(QRect(bar.right() + 6, y - line / 2, area.width(), line),
            static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
            shortNumber(
                std::abs(m_scale.valueAt(place)) < m_scale.limit() * 1e-12 ? 0 : m_scale.valueAt(place)));
    }
}

std::vector<std::pair<HeatKind, QString>> HeatMap::kindsSeen() const
{
    std::vector<std::pair<HeatKind, QString>> kinds{{HeatKind::Missing, tr("missing or unreadable")},
        {HeatKind::Infinite, tr("infinite")}, {HeatKind::NotANumber, tr("NaN")}};
    std::erase_if(kinds, [this](const auto& kind) {
        return std::find(m_samples.kinds.begin(), m_samples.kinds.end(), kind.first) == m_samples.kinds.end();
    });
    return kinds;
}

void HeatMap::paintKinds(QPainter& painter, const QRect& area) const
{
    const MapPalette palette = mapPaletteFrom(m_theme);
    const int line = fontMetrics().height();
    int y = area.bottom() - line;
    for (const auto& [kind, name] : kindsSeen()) {
        const QRect swatch(area.left(), y + 2, kBarWidth, line - 4);
        painter.fillRect(swatch, QColor(kindColour(palette, kind)));
        if (hasHatches(imageArea()))
            painter.fillRect(swatch, QBrush(QColor(palette.background), Qt::Dense5Pattern));
        painter.setPen(m_theme.colour(ThemeRole::Text));
        painter.drawText(QRect(swatch.right() + 6, y, area.width(), line),
            static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), name);
        y -= line;
    }
}

} // namespace shardscope::ui
