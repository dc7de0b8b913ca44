// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_labels.h"

#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/unreadable.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxLabels = 800;
constexpr qsizetype kMaxNames = 20'000;
constexpr int kPaddingAround = 4;
/// Rows that are all alike are labelled this far apart, in text lines, once there are many of them.
constexpr int kLinesBetweenLabels = 5;
constexpr uint64_t kFewRows = 8;
constexpr int kTallRowLines = 2;

QRect viewBox(const MapViewport& viewport, const MapBlock& block)
{
    const auto rect = viewport.geometry().rectOf(block);
    const int64_t left = std::max<int64_t>(rect.x - viewport.x(), 0);
    const int64_t right = std::min<int64_t>(rect.x + rect.width - viewport.x(), viewport.size().width());
    const int body = static_cast<int>(rect.height) - rowGap(viewport.geometry().rowScale().rowHeight());
    return {static_cast<int>(left), static_cast<int>(rect.y - viewport.y()), static_cast<int>(right - left),
        body};
}

} // namespace

QString shortenedName(const QString& name, int width, const QFontMetrics& metrics)
{
    if (metrics.horizontalAdvance(name) <= width) {
        return name;
    }
    const qsizetype last = name.lastIndexOf(u'.');
    const QString leaf = name.mid(last + 1);
    // Nearly every leaf is "weight", so the label needs its owner.
    const bool plainLeaf = leaf == QLatin1String("weight");
    for (qsizetype dot = name.indexOf(u'.'); dot >= 0 && !(plainLeaf && dot == last);
         dot = name.indexOf(u'.', dot + 1)) {
        const QString tail = QStringLiteral("…") + name.mid(dot + 1);
        if (metrics.horizontalAdvance(tail) <= width) {
            return tail;
        }
    }
    QString shortest = leaf;
    if (plainLeaf && last > 0) {
        const qsizetype before = name.lastIndexOf(u'.', last - 1);
        shortest = name.mid(before + 1, last - before - 1);
    }
    const QString elided = metrics.elidedText(shortest, Qt::ElideMiddle, width);
    return elided == shortest || elided.size() >= 5 ? elided : QString();
}

void MapLabels::setFont(const QFont& font)
{
    if (font == m_font) {
        return;
    }
    m_font = font;
    m_metrics = QFontMetrics(font);
    m_names.clear();
}

int MapLabels::narrowest() const
{
    return 6 * m_metrics.averageCharWidth() + 2 * kPaddingAround;
}

std::vector<MapLabel> MapLabels::layout(const MapSource& source, const MapViewport& viewport)
{
    std::vector<MapLabel> labels;
    m_merged.reset();
    const int height = viewport.geometry().rowScale().rowHeight();
    if (height - rowGap(height) < m_metrics.height() - 2 || viewport.visible().isEmpty()) {
        return labels;
    }
    const auto rows = viewport.visible().rows;
    uint64_t stride = 1;
    if (source.hasEqualRows() && rows.size() > kFewRows && height < kTallRowLines * m_metrics.height()) {
        stride
            = std::max<uint64_t>(static_cast<uint64_t>(kLinesBetweenLabels * m_metrics.height() / height), 1);
    }
    for (uint64_t row = rows.begin; row < rows.end && labels.size() < kMaxLabels; ++row) {
        const auto number = static_cast<uint32_t>(row);
        // Counted from row 0, so that labels stay with their rows while scrolling.
        const bool wanted = row % stride == 0 || source.query().anyMissing(number, number + 1);
        if (wanted) {
            layoutRow(source, viewport, number, labels);
        }
    }
    return labels;
}

void MapLabels::layoutRow(
    const MapSource& source, const MapViewport& viewport, uint32_t row, std::vector<MapLabel>& labels)
{
    const auto& geometry = viewport.geometry();
    const int64_t end = viewport.x() + viewport.visibleRect().width;
    const int probe = std::max(narrowest() - 1, 8);
    bool merged = false;
    for (int64_t pixel = viewport.x(); pixel < end && labels.size() < kMaxLabels;) {
        auto cell = source.query().cellAt(row, geometry.elementAt(pixel));
        const uint32_t rank = source.placeOf(row, cell.begin).rank;
        if (cell.kind == CellKind::Missing) {
            // One word for all that is missing of this rank.
            cell.end = source.pointOf(rank, 0).element + source.partition().partitionElements();
        }
        const int64_t right = geometry.scale().leftEdge(cell.end);
        const int64_t width = right - geometry.scale().leftEdge(cell.begin);
        if (width < probe) {
            merged = merged || width < kNarrowestFragment;
            pixel = std::max(right, std::min(pixel + probe, end));
            continue;
        }
        pixel = std::max(right, pixel + 1);
        const QRect box = viewBox(viewport, {{row, row + uint64_t{1}}, {cell.begin, cell.end}});
        auto label = labelFor(source, cell, rank, box.width() - 2 * kPaddingAround);
        if (!label.text.isEmpty()) {
            label.box = box;
            label.rank = rank;
            labels.push_back(std::move(label));
        }
    }
    if (merged && (source.hasEqualRows() || viewport.visible().rows.size() <= 2 * kFewRows)) {
        addMerged(source, viewport, row, labels);
    }
}

MapLabel MapLabels::labelFor(const MapSource& source, const MapCell& cell, uint32_t rank, int room)
{
    MapLabel label{.cell = cell};
    switch (cell.kind) {
    case CellKind::Param:
        label.text = nameFor(source, cell.param, room);
        return label;
    case CellKind::NotYetRead:
        label.role = MapLabel::Role::NotYetRead;
        label.text = cell.param == kNoParam ? QString() : nameFor(source, cell.param, room);
        return label;
    case CellKind::Missing:
        label.role = MapLabel::Role::Missing;
        label.text = isUnreadable(source.checkpoint(), source.query().flat(), rank)
            ? QCoreApplication::translate("shardscope::ui::MapLabels", "unreadable")
            : MapText::kindName(cell.kind);
        break;
    case CellKind::PaddingStored:
    case CellKind::PaddingImplied:
        label.role = MapLabel::Role::Padding;
        label.text = QCoreApplication::translate("shardscope::ui::MapLabels", "padding");
        break;
    }
    if (m_metrics.horizontalAdvance(label.text) > room) {
        label.text.clear();
    }
    return label;
}

std::vector<MapLabels::Merged> MapLabels::findMerged(
    const MapSource& source, const MapViewport& viewport, uint32_t row)
{
    std::vector<Merged> runs;
    const auto& scale = viewport.geometry().scale();
    const int64_t end = viewport.x() + viewport.visibleRect().width;
    std::optional<Merged> run;
    const auto close = [&] {
        if (run && run->first.param != run->last.param) {
            runs.push_back(*run);
        }
        run.reset();
    };
    for (int64_t pixel = viewport.x(); pixel < end;) {
        const auto cell = source.query().cellAt(row, viewport.geometry().elementAt(pixel));
        const int64_t right = scale.leftEdge(cell.end);
        if (right - scale.leftEdge(cell.begin) >= kNarrowestFragment) {
            close();
        } else if (cell.param != kNoParam) {
            run = run ? Merged{run->first, cell} : Merged{cell, cell};
        }
        pixel = std::max(right, pixel + 1);
    }
    close();
    return runs;
}

void MapLabels::addMerged(
    const MapSource& source, const MapViewport& viewport, uint32_t row, std::vector<MapLabel>& labels)
{
    if (!m_merged) {
        m_merged = findMerged(source, viewport, row);
    }
    const auto& params = source.checkpoint().params;
    for (const auto& [first, last] : *m_merged) {
        const uint64_t count
            = uint64_t{params[index(last.param)].indexInUnit} - params[index(first.param)].indexInUnit + 1;
        MapLabel label{.role = MapLabel::Role::MergedCount,
            .box = viewBox(viewport, {{row, row + uint64_t{1}}, {first.begin, last.end}}),
            .text = QCoreApplication::translate("shardscope::ui::MapLabels", "%1 parameters")
                        .arg(MapText::count(count)),
            .cell = first,
            .rank = source.placeOf(row, first.begin).rank};
        if (m_metrics.horizontalAdvance(label.text) + 4 * kPaddingAround <= label.box.width()) {
            labels.push_back(std::move(label));
        }
    }
    if (!source.hasEqualRows()) {
        m_merged.reset(); // only rows that are all alike share their runs
    }
}

QString MapLabels::nameFor(const MapSource& source, ParamId param, int width)
{
    const quint64 key = quint64{index(param)} << 32 | static_cast<quint32>(width);
    const auto found = m_names.constFind(key);
    if (found != m_names.constEnd()) {
        return *found;
    }
    if (m_names.size() > kMaxNames) {
        m_names.clear();
    }
    return *m_names.insert(key, shortenedName(source.nameOf(param), width, m_metrics));
}

} // namespace shardscope::ui
