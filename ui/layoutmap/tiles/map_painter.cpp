// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_painter.h"

#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/rank_list.h"

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxTwins = 4000;
/// Rows thinner than this, in logical pixels, have no outlines, which would hide them.
constexpr int kThinRow = 10;
constexpr double kNarrowestElementWithValue = 24.0;

QColor withAlpha(QRgb colour, int alpha)
{
    return QColor(qRed(colour), qGreen(colour), qBlue(colour), alpha);
}

/// The value in as many digits as fit; an ellipsis when not even one does.
QString valueText(double value, int width, const QFontMetrics& metrics)
{
    for (int digits = 6; digits > 0; --digits) {
        QString text = QString::number(value, 'g', digits);
        text.replace(QLatin1String("e-0"), QLatin1String("e-"))
            .replace(QLatin1String("e+0"), QLatin1String("e"));
        if (metrics.horizontalAdvance(text) <= width) {
            return text;
        }
    }
    return QStringLiteral("…");
}

} // namespace

MapPainter::MapPainter(
    const MapStack& stack, const MapViewport& viewport, const MapPalette& palette, MapStyle style)
    : m_stack(stack)
    , m_viewport(viewport)
    , m_palette(palette)
    , m_style(std::move(style))
    , m_unit(viewport.pixelRatio())
{
}

template <class Paint>
void MapPainter::forEachVisible(Paint paint) const
{
    const MapRange sections = m_viewport.visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto number = static_cast<uint32_t>(section);
        if (!m_viewport.visible(number).isEmpty()) {
            paint(m_stack.source(number));
        }
    }
}

QRectF MapPainter::viewRect(const MapBlock& block) const
{
    const auto rect = m_viewport.layout().rectOf(block);
    // Coordinates far outside are clamped to small numbers for the painter.
    const double margin = 16 * m_unit;
    const double left = std::max(static_cast<double>(rect.x - m_viewport.x()), -margin);
    const double right = std::min(
        static_cast<double>(rect.x + rect.width - m_viewport.x()), m_viewport.size().width() + margin);
    const double top = std::max(static_cast<double>(rect.y - m_viewport.y()), -margin);
    double bottom = std::min(
        static_cast<double>(rect.y + rect.height - m_viewport.y()), m_viewport.size().height() + margin);
    bottom -= rowGap(m_viewport.layout().rowScale().rowHeight());
    return {left, top, std::max(right - left, 1.0), std::max(bottom - top, 1.0)};
}

void MapPainter::outline(QPainter& painter, const QRectF& rect, QRgb colour, double width, bool halo) const
{
    const double line = std::max(1.0, std::round(width * m_unit));
    const auto frame = [&](double inset, QRgb rgb) {
        const QRectF outer = rect.adjusted(-inset, -inset, inset, inset);
        painter.fillRect(QRectF(outer.left(), outer.top(), outer.width(), line), QColor(rgb));
        painter.fillRect(QRectF(outer.left(), outer.bottom() - line, outer.width(), line), QColor(rgb));
        painter.fillRect(QRectF(outer.left(), outer.top(), line, outer.height()), QColor(rgb));
        painter.fillRect(QRectF(outer.right() - line, outer.top(), line, outer.height()), QColor(rgb));
    };
    frame(line, colour);
    if (halo && rect.width() > 4 * line && rect.height() > 4 * line) {
        // A second line inside keeps the outline visible on hues close to the highlight.
        frame(0, m_palette.background);
    }
}

void MapPainter::paintRankBorders(QPainter& painter, const QFont& font) const
{
    if (m_stack.projection() != MapQuery::Projection::Unrolled) {
        return;
    }
    painter.setFont(font);
    forEachVisible([&](const MapSource& source) {
        // Between units in one row, borders of ranks would hide everything.
        if (source.parts().size() == 1 && source.ranks() > 0) {
            paintRankBorders(painter, source);
        }
    });
}

void MapPainter::paintRankBorders(QPainter& painter, const MapSource& source) const
{
    const QFontMetrics metrics(painter.font());
    const auto& layout = m_viewport.layout();
    const auto& geometry = m_viewport.geometry(source.number());
    const uint64_t length = source.partition().partitionElements();
    const auto nameOf = [&](uint64_t rank) {
        return rankLabel(
            source.checkpoint(), source.checkpoint().rankOf(source.unit(), static_cast<uint32_t>(rank)));
    };
    const double apart = static_cast<double>(length) * geometry.scale().pixelsPerElement();
    const auto room
        = static_cast<double>(metrics.horizontalAdvance(nameOf(source.ranks() - 1))) + 16 * m_unit;
    // Powers of two: labels that stay do not move when zooming adds others between them.
    uint64_t labelled = 1;
    while (static_cast<double>(labelled) * apart < room && labelled < source.ranks()) {
        labelled *= 2;
    }
    const uint64_t step = apart >= 4 * m_unit ? 1 : labelled;
    const auto first
        = source.placeOf(0, m_viewport.visible(source.number()).elements.begin).rank / labelled * labelled;
    const int top = static_cast<int>(layout.bodyTop(source.number()) - m_viewport.y());
    const int bottom = top + static_cast<int>(layout.bodyHeight(source.number()))
        - rowGap(geometry.rowScale().rowHeight());
    const int tick = static_cast<int>(std::lround(5 * m_unit));
    const int width = std::max(1, static_cast<int>(std::lround(m_unit)));
    for (uint64_t rank = first; rank < source.ranks(); rank += step) {
        const int64_t x = geometry.scale().leftEdge(rank * length) - m_viewport.x();
        if (x >= m_viewport.size().width()) {
            break;
        }
        const bool named = rank % labelled == 0;
        painter.fillRect(QRect(static_cast<int>(std::max<int64_t>(x, -8)), top, width,
                             bottom - top + (named ? 2 : 1) * tick),
            QColor(m_palette.text));
        if (named && x + static_cast<int64_t>(room) > 0) {
            painter.setPen(QColor(m_palette.mutedText));
            painter.drawText(
                QPointF(static_cast<double>(x) + 5 * m_unit, bottom + metrics.ascent() + 2 * m_unit),
                nameOf(rank));
        }
    }
}

void MapPainter::paintEnds(QPainter& painter, const QFont& font) const
{
    const QFontMetrics metrics(font);
    const MapRange sections = m_viewport.visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto number = static_cast<uint32_t>(section);
        const MapBlock visible = m_viewport.visible(number);
        if (visible.rows.isEmpty() || !visible.elements.isEmpty()) {
            continue;
        }
        const auto& layout = m_viewport.layout();
        const int height = static_cast<int>(layout.bodyHeight(number));
        const QRect body(
            0, static_cast<int>(layout.bodyTop(number) - m_viewport.y()), m_viewport.size().width(), height);
        const int gap = static_cast<int>(std::lround(6 * m_unit));
        painter.setFont(font);
        painter.setPen(QColor(m_palette.mutedText));
        const QString text = height < metrics.height() - 4 ? QStringLiteral("‹")
                                                           : MapText::endsBefore(m_stack.source(number));
        painter.drawText(
            body.adjusted(gap, -gap, -gap, gap), static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter), text);
    }
}

int MapPainter::bodyHeight() const
{
    const int height = m_viewport.layout().rowScale().rowHeight();
    return height - rowGap(height);
}

bool MapPainter::showsValues(uint32_t section, const QFontMetrics& metrics) const
{
    return !m_stack.files()
        && m_viewport.geometry(section).scale().pixelsPerElement() >= kNarrowestElementWithValue * m_unit
        && bodyHeight() >= metrics.height();
}

bool MapPainter::hasRoomForBoth(const QFontMetrics& metrics) const
{
    return bodyHeight() >= 2 * metrics.height() + 2;
}

void MapPainter::paintLabels(QPainter& painter, MapLabels& labels) const
{
    std::optional<MapRowSampler> sampler;
    uint32_t sampled = 0;
    const QFontMetrics metrics(labels.font());
    const int gap = static_cast<int>(std::lround(4 * m_unit));
    painter.setFont(labels.font());
    for (const auto& label : labels.layout(m_stack, m_viewport)) {
        if (!sampler || sampled != label.section) {
            sampled = label.section;
            sampler.emplace(
                m_stack.source(sampled), m_viewport.geometry(sampled), m_palette, m_style, MapColumns{});
        }
        const bool onlyValues = showsValues(label.section, metrics) && !hasRoomForBoth(metrics);
        if (onlyValues && label.role == MapLabel::Role::Name) {
            continue; // the tool tip names the parameter
        }
        QRect box = label.box.adjusted(gap, 0, -gap, 0);
        if (showsValues(label.section, metrics)) {
            box.setHeight(box.height() / 2); // values stand in the lower half
        }
        auto alignment = Qt::AlignLeft | Qt::AlignVCenter;
        if (label.role == MapLabel::Role::Name) {
            const QRgb fill = sampler->fillOf(label.cell, label.rank);
            if (m_style.mode == MapColourMode::Difference) { // its patterns leave letters unreadable
                const QRect under(box.left() - gap / 2, box.center().y() - metrics.height() / 2,
                    metrics.horizontalAdvance(label.text) + gap, metrics.height());
                painter.fillRect(under.intersected(box.adjusted(-gap, 0, gap, 0)), QColor(fill));
            }
            painter.setPen(QColor(readableOn(fill)));
        } else if (label.role == MapLabel::Role::NotYetRead) {
            painter.setPen(QColor(m_palette.text));
        } else {
            // On patterns a word needs a plate of its own.
            alignment = Qt::AlignCenter;
            const int plate = metrics.horizontalAdvance(label.text) + 2 * gap;
            const QRect under(box.center().x() - plate / 2, box.center().y() - metrics.height() / 2, plate,
                metrics.height());
            const bool plain = label.role == MapLabel::Role::MergedCount;
            painter.fillRect(
                under.intersected(label.box), withAlpha(m_palette.background, plain ? 215 : 235));
            painter.setPen(QColor(label.role == MapLabel::Role::Missing ? missingText(m_palette)
                    : plain                                             ? m_palette.text
                                                                        : m_palette.mutedText));
        }
        painter.drawText(box, static_cast<int>(alignment), label.text);
    }
}

void MapPainter::paintValues(QPainter& painter, const QFont& font, MapValues& values) const
{
    painter.setFont(font);
    forEachVisible([&](const MapSource& source) { paintValues(painter, source, values); });
}

void MapPainter::paintValues(QPainter& painter, const MapSource& source, MapValues& values) const
{
    const auto& geometry = m_viewport.geometry(source.number());
    const QFontMetrics metrics(painter.font());
    if (!showsValues(source.number(), metrics)) {
        return;
    }
    const MapRowSampler sampler(source, geometry, m_palette, m_style, {});
    const bool shared = hasRoomForBoth(metrics);
    const auto visible = m_viewport.visible(source.number());
    for (uint64_t row = visible.rows.begin; row < visible.rows.end; ++row) {
        const auto number = static_cast<uint32_t>(row);
        const auto visit = [&](const MapCell& cell) {
            if (cell.kind != CellKind::Param) {
                return true;
            }
            painter.setPen(QColor(readableOn(sampler.fillOf(cell, source.placeOf(number, cell.begin).rank))));
            for (uint64_t element = cell.begin; element < cell.end; ++element) {
                const QRectF box = viewRect({{row, row + 1}, {element, element + 1}, source.number()});
                const uint64_t inParam = cell.paramOffset + (element - cell.begin);
                bool known = false;
                const double value = values.valueOf(cell.param, inParam, &known);
                const int room = static_cast<int>(box.width() - 7 * m_unit);
                const auto order = source.checkpoint().transposedOrder(cell.param);
                const QString text = known
                    ? valueText(value, room, metrics)
                    : metrics.elidedText(
                        QStringLiteral("[%1]").arg(order ? order->elementOf(inParam) : inParam),
                        Qt::ElideNone, room);
                if (metrics.horizontalAdvance(text) <= room) {
                    const QRectF line = shared ? box.adjusted(0, box.height() / 2, 0, 0) : box;
                    painter.drawText(line, static_cast<int>(Qt::AlignCenter), text);
                }
            }
            return true;
        };
        source.forEachCell(number, visible.elements.begin, visible.elements.end, visit);
    }
}

void MapPainter::paintTwins(QPainter& painter, const MapSource& source, ParamId param) const
{
    const uint32_t section = source.number();
    const auto visible = m_viewport.visible(section);
    const int height = m_viewport.layout().rowScale().rowHeight();
    if (height < kThinRow * m_unit && source.hasEqualRows()) {
        // One column through all rows says the same as thousands of specks.
        const auto first = firstFragment(source, param);
        if (first) {
            const uint64_t slice
                = source.partition().sliceElements(source.checkpoint().params[index(param)].indexInUnit);
            const QRectF column = viewRect({visible.rows, {first->element, first->element + slice}, section});
            painter.fillRect(column, withAlpha(m_palette.selection, 50));
            outline(painter, column, m_palette.selection, 2, false);
        }
        return;
    }
    for (const auto& block : fragmentBlocks(source, param, visible.rows, kMaxTwins)) {
        const bool seen
            = block.elements.begin < visible.elements.end && block.elements.end > visible.elements.begin;
        if (seen) {
            const QRectF rect = viewRect(block);
            const bool thin = height < kThinRow * m_unit;
            painter.fillRect(rect, withAlpha(m_palette.selection, thin ? 150 : 50));
            if (!thin) {
                outline(painter, rect, m_palette.selection, 1, false);
            }
        }
    }
}

void MapPainter::paintRank(QPainter& painter, const MapSource& source, uint32_t rank) const
{
    const auto share = rowOfRank(source.checkpoint(), source.unit(), rank);
    if (!share || source.columns() == 0 || source.projection() != MapQuery::Projection::Partitions) {
        return;
    }
    const MapBlock row{{*share, *share + uint64_t{1}}, {0, source.columns()}, source.number()};
    if (m_viewport.visible(source.number()).rows.contains(*share)) {
        outline(painter, viewRect(row), m_palette.selection, 1, false);
    }
}

void MapPainter::paintSum(QPainter& painter, const QRectF& selected, const QString& text) const
{
    if (text.isEmpty()) {
        return;
    }
    const QFontMetrics metrics(painter.font());
    const double gap = 6 * m_unit;
    const QSizeF plate(metrics.horizontalAdvance(text) + 2 * gap, metrics.height() + gap);
    const QSizeF view = m_viewport.size();
    // Below the range, or above it if there is no space, or inside it.
    double y = selected.bottom() + gap;
    if (y + plate.height() > view.height()) {
        y = selected.top() - gap - plate.height();
    }
    if (y < 0) {
        y = view.height() - plate.height() - gap;
    }
    const double x = std::clamp(
        selected.center().x() - plate.width() / 2, 0.0, std::max(view.width() - plate.width(), 0.0));
    const QRectF box(QPointF(x, y), plate);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(m_palette.selection));
    painter.drawRoundedRect(box, 4 * m_unit, 4 * m_unit);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QColor(readableOn(m_palette.selection)));
    painter.drawText(box, static_cast<int>(Qt::AlignCenter), text);
}

void MapPainter::paintDropped(QPainter& painter, const MapSource::Point& point) const
{
    const QRectF cell
        = viewRect({{point.row, point.row + uint64_t{1}}, {point.element, point.element + 1}, point.section});
    // Inside the outline that the focused cell has, so that both are seen.
    const double inset = std::min(7 * m_unit, cell.height() / 4);
    const double pole = std::max(1.0, std::round(2 * m_unit));
    const double flag = 9 * m_unit;
    const QRectF mast(cell.left() + inset, cell.top() + inset, pole,
        std::max(std::min(cell.height() - 2 * inset, 2.2 * flag), flag));
    painter.fillRect(mast.adjusted(-1, 0, 1, 0), QColor(m_palette.background));
    painter.fillRect(mast, QColor(m_palette.selection));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QColor(m_palette.background));
    painter.setBrush(QColor(m_palette.selection));
    painter.drawPolygon(QPolygonF({mast.topRight(), mast.topRight() + QPointF(1.4 * flag, flag / 2),
        mast.topRight() + QPointF(0, flag)}));
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void MapPainter::paintMarks(QPainter& painter, const MapMarks& marks) const
{
    const auto isShown = [&](const MapSource::Point& point) {
        return point.section < m_stack.count() && !m_viewport.layout().isFolded(point.section);
    };
    forEachVisible([&](const MapSource& source) {
        if (marks.rank) {
            paintRank(painter, source, *marks.rank);
        }
        if (marks.param != kNoParam) {
            paintTwins(painter, source, marks.param);
        }
    });
    const MapBlock& selected = m_viewport.selected();
    if (!selected.isEmpty() && !m_viewport.layout().isFolded(selected.section)) {
        const QRectF rect = viewRect(selected);
        painter.fillRect(rect, withAlpha(m_palette.selection, 60));
        outline(painter, rect, m_palette.selection, 2, false);
        paintSum(painter, rect, marks.sumText);
    }
    if (marks.pinned && isShown(*marks.pinned)) {
        outline(painter, viewRect(cellBlock(m_stack.sourceAt(*marks.pinned), *marks.pinned)),
            m_palette.selection, marks.hasFocus ? 3 : 2, true);
    }
    for (const auto& point : marks.dropped) {
        if (isShown(point) && m_viewport.visible(point.section).contains(point.row, point.element)) {
            paintDropped(painter, point);
        }
    }
    if (marks.hovered && isShown(*marks.hovered)) {
        outline(painter, viewRect(cellBlock(m_stack.sourceAt(*marks.hovered), *marks.hovered)),
            m_palette.text, 1, false);
    }
}

} // namespace shardscope::ui
