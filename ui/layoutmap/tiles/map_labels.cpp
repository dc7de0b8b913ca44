// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_labels.h"

#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/unreadable.h"

#include <QStringList>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxLabels = 800;
constexpr qsizetype kMaxNames = 20'000;
constexpr double kPaddingAround = 4; ///< as MapPainter leaves free, in logical pixels
/// Rows that are all alike are labelled this far apart, in text lines, once there are many of them.
constexpr int kLinesBetweenLabels = 5;
constexpr uint64_t kFewRows = 8;
constexpr int kTallRowLines = 2;

QRect viewBox(const MapViewport& viewport, const MapBlock& block)
{
    const auto rect = viewport.layout().rectOf(block);
    const int64_t left = std::max<int64_t>(rect.x - viewport.x(), 0);
    const int64_t right = std::min<int64_t>(rect.x + rect.width - viewport.x(), viewport.size().width());
    const int body = static_cast<int>(rect.height) - rowGap(viewport.layout().rowScale().rowHeight());
    return {static_cast<int>(left), static_cast<int>(rect.y - viewport.y()), static_cast<int>(right - left),
        body};
}

} // namespace

namespace {

bool isNumber(const QString& part)
{
    return !part.isEmpty()
        && std::all_of(part.begin(), part.end(), [](QChar c) { return c >= u'0' && c <= u'9'; });
}

/// Forms of a name in a layer, without "weight" at the end, each shorter than the one before. All of them
/// have the name's numbers: experts of a layer differ in nothing else.
QStringList layerForms(const QString& name)
{
    QStringList parts = name.split(u'.');
    if (parts.size() > 2 && parts.last() == QLatin1String("weight")) {
        parts.removeLast();
    }
    const auto number = std::find_if(parts.begin(), parts.end(), isNumber);
    QStringList forms;
    if (number == parts.end() || number + 1 == parts.end()) {
        return forms;
    }
    const QString layer = *number + QStringLiteral(" · ");
    parts.erase(parts.begin(), number + 1);
    // What a further number counts stays before it.
    const qsizetype further = std::find_if(parts.begin(), parts.end(), isNumber) - parts.begin();
    const qsizetype needed = parts.last() == QLatin1String("bias") ? 2 : 1;
    const qsizetype kept = further < parts.size()
        ? std::max(needed, parts.size() - std::max<qsizetype>(further - 1, 0))
        : needed;
    for (;; parts.removeFirst()) {
        forms << layer + parts.join(u'.');
        if (parts.size() <= kept) {
            break;
        }
    }
    if (parts.size() > 1 && parts.first().endsWith(QLatin1String("experts")) && isNumber(parts[1])) {
        const QString rest = parts.size() > 2 ? u'.' + parts.mid(2).join(u'.') : QString();
        forms << layer + QStringLiteral("expert ") + parts[1] + rest;
        forms << layer + u'e' + parts[1] + rest << u'e' + parts[1] + rest;
    }
    return forms;
}

} // namespace

QString shortenedName(const QString& name, int width, const QFontMetrics& metrics)
{
    if (metrics.horizontalAdvance(name) <= width) {
        return name;
    }
    const QStringList forms = layerForms(name);
    for (const QString& form : forms) {
        if (metrics.horizontalAdvance(form) <= width) {
            return form;
        }
    }
    if (!forms.isEmpty() && forms.last().startsWith(u'e')) { // no expert is named without its number
        return {};
    }
    const qsizetype last = name.lastIndexOf(u'.');
    const QString leaf = name.mid(last + 1);
    // Nearly every leaf is "weight" or "bias", so the label needs its owner.
    const bool isBias = leaf == QLatin1String("bias");
    const bool plainLeaf = isBias || leaf == QLatin1String("weight");
    for (qsizetype dot = name.indexOf(u'.'); dot >= 0 && !(plainLeaf && dot == last);
         dot = name.indexOf(u'.', dot + 1)) {
        const QString tail = QStringLiteral("…") + name.mid(dot + 1);
        if (!isNumber(tail.mid(1).section(u'.', 0, 0)) && metrics.horizontalAdvance(tail) <= width) {
            return tail;
        }
    }
    QString shortest = leaf;
    if (plainLeaf && last > 0) {
        const qsizetype before = name.lastIndexOf(u'.', last - 1);
        shortest = name.mid(before + 1, isBias ? -1 : last - before - 1);
    }
    if (isNumber(shortest.section(u'.', 0, 0))) { // alone it does not say what it counts
        return {};
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
    return 6 * m_metrics.averageCharWidth() + 2 * m_padding;
}

std::vector<MapLabel> MapLabels::layout(const MapStack& stack, const MapViewport& viewport)
{
    std::vector<MapLabel> labels;
    m_padding = static_cast<int>(std::lround(kPaddingAround * viewport.pixelRatio()));
    const int height = viewport.layout().rowScale().rowHeight();
    if (height - rowGap(height) < m_metrics.height() - 2) {
        return labels;
    }
    const MapRange sections = viewport.visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        layoutSection(stack.source(static_cast<uint32_t>(section)), viewport, labels);
    }
    return labels;
}

void MapLabels::layoutSection(
    const MapSource& source, const MapViewport& viewport, std::vector<MapLabel>& labels)
{
    m_merged.reset();
    const auto rows = viewport.visible(source.number()).rows;
    const int height = viewport.layout().rowScale().rowHeight();
    uint64_t stride = 1;
    if (source.hasEqualRows() && rows.size() > kFewRows && height < kTallRowLines * m_metrics.height()) {
        stride
            = std::max<uint64_t>(static_cast<uint64_t>(kLinesBetweenLabels * m_metrics.height() / height), 1);
    }
    for (uint64_t row = rows.begin; row < rows.end && labels.size() < kMaxLabels; ++row) {
        const auto number = static_cast<uint32_t>(row);
        // Counted from row 0, so that labels stay with their rows while scrolling.
        const bool wanted = row % stride == 0 || source.anyMissing(number, number + 1);
        if (wanted) {
            layoutRow(source, viewport, number, labels);
        }
    }
}

void MapLabels::layoutRow(
    const MapSource& source, const MapViewport& viewport, uint32_t row, std::vector<MapLabel>& labels)
{
    const auto& geometry = viewport.geometry(source.number());
    const int64_t end = std::min(viewport.x() + viewport.visibleRect().width, geometry.contentWidth());
    const int probe = std::max(narrowest() - 1, 8);
    bool merged = false;
    for (int64_t pixel = viewport.x(); pixel < end && labels.size() < kMaxLabels;) {
        auto cell = source.cellAt(row, geometry.elementAt(pixel));
        const uint32_t rank = source.placeOf(row, cell.begin).rank;
        if (cell.kind == CellKind::Missing && !source.files()) {
            // One word for all that is missing of this rank.
            const size_t part = source.partAt(cell.begin);
            cell.end = source.pointOf(rank, 0, part).element
                + source.parts()[part].flat().partition.partitionElements();
        }
        const int64_t right = geometry.scale().leftEdge(cell.end);
        const int64_t width = right - geometry.scale().leftEdge(cell.begin);
        if (width < probe) {
            merged = merged || width < kNarrowestFragment;
            pixel = std::max(right, std::min(pixel + probe, end));
            continue;
        }
        pixel = std::max(right, pixel + 1);
        const QRect box
            = viewBox(viewport, {{row, row + uint64_t{1}}, {cell.begin, cell.end}, source.number()});
        auto label = labelFor(source, cell, rank, box.width() - 2 * m_padding);
        if (!label.text.isEmpty()) {
            label.box = box;
            label.rank = rank;
            label.section = source.number();
            labels.push_back(std::move(label));
        }
    }
    if (merged && !source.files()
        && (source.hasEqualRows() || viewport.visible(source.number()).rows.size() <= 2 * kFewRows)) {
        addMerged(source, viewport, row, labels);
    }
}

MapLabel MapLabels::labelFor(const MapSource& source, const MapCell& cell, uint32_t rank, int room)
{
    MapLabel label{.cell = cell};
    switch (cell.kind) {
    case CellKind::Param:
        label.text = cell.param != kNoParam
            ? nameFor(source, cell.param, room)
            : shortenedName(MapText::stateName(source, cell, rank), room, m_metrics);
        return label;
    case CellKind::NotYetRead:
        label.role = MapLabel::Role::NotYetRead;
        label.text = cell.param == kNoParam ? QString() : nameFor(source, cell.param, room);
        return label;
    case CellKind::Missing:
        label.role = MapLabel::Role::Missing;
        label.text = !source.files() && isUnreadable(source.checkpoint(), source.unitAt(cell.begin), rank)
            ? QCoreApplication::translate("shardscope::ui::MapLabels", "unreadable")
            : MapText::kindName(cell.kind);
        break;
    case CellKind::PaddingStored:
    case CellKind::PaddingImplied:
        label.role = MapLabel::Role::Padding;
        label.text = source.files() ? MapText::noState()
                                    : QCoreApplication::translate("shardscope::ui::MapLabels", "padding");
        break;
    case CellKind::Outside:
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
    const auto& geometry = viewport.geometry(source.number());
    const auto& scale = geometry.scale();
    const int64_t end = std::min(viewport.x() + viewport.visibleRect().width, geometry.contentWidth());
    std::optional<Merged> run;
    const auto close = [&] {
        if (run && run->first.param != run->last.param) {
            runs.push_back(*run);
        }
        run.reset();
    };
    for (int64_t pixel = viewport.x(); pixel < end;) {
        const auto cell = source.cellAt(row, geometry.elementAt(pixel));
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
        const auto position = [&](const MapCell& cell) {
            uint64_t before = params[index(cell.param)].indexInUnit;
            for (size_t part = 0; part < source.partAt(cell.begin); ++part) {
                before += source.parts()[part].flat().params.size();
            }
            return before;
        };
        const uint64_t count = position(last) - position(first) + 1;
        MapLabel label{.role = MapLabel::Role::MergedCount,
            .box = viewBox(viewport, {{row, row + uint64_t{1}}, {first.begin, last.end}, source.number()}),
            .text = QCoreApplication::translate("shardscope::ui::MapLabels", "%1 parameters")
                        .arg(MapText::count(count)),
            .cell = first,
            .rank = source.placeOf(row, first.begin).rank,
            .section = source.number()};
        if (m_metrics.horizontalAdvance(label.text) + 4 * m_padding <= label.box.width()) {
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
    return *m_names.insert(key, shortenedName(source.labelOf(param), width, m_metrics));
}

} // namespace shardscope::ui
