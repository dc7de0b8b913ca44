// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_selection_link.h"

#include "core/layout/whole_units.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/map_interaction.h"
#include "ui/text/rank_list.h"

namespace shardscope::ui {

SelectedThing selectedThingAt(const MapSource& source, MapSource::Point point)
{
    SelectedThing thing;
    if (const FileRows* files = source.files()) {
        thing.file = files->idOf(point.row);
        thing.byte = point.element;
        return thing;
    }
    const auto cell = source.cellAt(point.row, point.element);
    const auto place = source.placeOf(point.row, cell.begin);
    const UnitState& state = source.stateAt(cell.begin);
    thing.param = cell.param;
    thing.state = state.name;
    if (cell.param != kNoParam) {
        const auto order = source.checkpoint().transposedOrder(cell.param);
        const uint64_t stored = cell.paramOffset + (point.element - cell.begin);
        thing.element = order ? order->elementOf(stored) : stored;
    }
    // Of tensors that are stored whole, every rank has it, or none.
    if (!isStoredWhole(source.unit())) {
        thing.rank = rankOfRow(source.checkpoint(), source.unitAt(cell.begin), place.rank);
    }
    thing.unit = source.parts()[place.part].unit();
    thing.block = FlatBlock{place.rank, place.rank + 1, place.offset, place.offset + (cell.end - cell.begin)};
    thing.isPadding = cell.kind == CellKind::PaddingStored || cell.kind == CellKind::PaddingImplied;
    const bool inFile = cell.kind == CellKind::Param || cell.kind == CellKind::PaddingStored;
    if (inFile) {
        const auto [run, offset] = source.storedAt(cell, place);
        thing.file = run.file;
        thing.record = run.record;
        thing.byte = run.byteOffset + offset * itemSize(state.dtype);
    }
    return thing;
}

MapSelectionLink::MapSelectionLink(
    MapCanvas* canvas, MapViewport* viewport, MapInteraction* interaction, QObject* parent)
    : QObject(parent)
    , m_canvas(canvas)
    , m_viewport(viewport)
{
    connect(interaction, &MapInteraction::hoveredChanged, this, &MapSelectionLink::onHovered);
    connect(interaction->cursor(), &MapCursor::pinnedChanged, this, &MapSelectionLink::onPinned);
    connect(interaction->cursor(), &MapCursor::refused, this, &MapSelectionLink::say);
    connect(viewport, &MapViewport::selectedChanged, this, &MapSelectionLink::onRangeSelected);
}

void MapSelectionLink::setSelection(Selection* selection)
{
    if (m_selection) {
        disconnect(m_selection, nullptr, this, nullptr);
    }
    m_selection = selection;
    if (selection != nullptr) {
        connect(selection, &Selection::changed, this, &MapSelectionLink::onSelection);
        follow();
    }
}

void MapSelectionLink::follow()
{
    if (m_selection) {
        onSelection(m_selection->current());
    }
}

void MapSelectionLink::selectRow(MapSource::Point place)
{
    const MapSource& source = m_canvas->stack()->sourceAt(place);
    if (m_selection && source.files()) {
        m_selection->selectFile(source.files()->idOf(place.row));
    } else if (m_selection && source.projection() == MapQuery::Projection::Partitions
        && source.unit().kind != UnitKind::Whole) {
        m_selection->selectRank(rankOfRow(source.checkpoint(), source.unit(), place.row));
    }
}

void MapSelectionLink::showFile()
{
    if (m_selection) {
        Q_EMIT m_selection->pageRequested(PageId::Files);
    }
}

void MapSelectionLink::say(const QString& sentence)
{
    if (m_selection) {
        m_selection->setHoverText(sentence);
    }
}

QString MapSelectionLink::sentenceAt(MapSource::Point point) const
{
    return MapText::sentence(m_canvas->stack()->sourceAt(point), point, m_canvas->shownDifferences());
}

void MapSelectionLink::onHovered(const std::optional<MapSource::Point>& point)
{
    if (m_selection) {
        m_selection->setHoverText(point ? sentenceAt(*point) : QString());
    }
}

void MapSelectionLink::onPinned(const std::optional<MapSource::Point>& point)
{
    const QString words = point ? sentenceAt(*point) : QString();
    m_canvas->setAccessibleDescription(words);
    if (!m_selection) {
        return;
    }
    m_selection->setHoverText(words); // the target of a key is reported like the place under the mouse
    m_isPublishing = true;
    m_stateFollowed = point ? selectedThingAt(m_canvas->stack()->sourceAt(*point), *point) : SelectedThing{};
    m_selection->select(m_stateFollowed);
    m_isPublishing = false;
    m_selection->setSumText(
        point ? sumOf(cellBlock(m_canvas->stack()->sourceAt(*point), *point)) : QString());
}

QString MapSelectionLink::sumOf(const MapBlock& block) const
{
    const MapSource& source = m_canvas->stack()->source(block.section);
    return MapText::sum(source,
        source.sum(static_cast<uint32_t>(block.rows.begin), static_cast<uint32_t>(block.rows.end),
            block.elements.begin, block.elements.end));
}

void MapSelectionLink::onRangeSelected()
{
    const auto& block = m_viewport->selected();
    auto marks = m_canvas->marks();
    marks.sumText.clear();
    if (!block.isEmpty() && m_canvas->stack() && block.section < m_canvas->stack()->count()) {
        marks.sumText = sumOf(block);
        m_canvas->setAccessibleDescription(tr("Selected: %1").arg(marks.sumText));
    }
    m_canvas->setMarks(marks);
    if (m_selection) {
        m_selection->setSumText(marks.sumText);
    }
}

void MapSelectionLink::onSelection(const SelectedThing& thing)
{
    if (!m_canvas->stack()) {
        return;
    }
    const bool showsFiles = m_canvas->stack()->files() != nullptr;
    markRank(showsFiles ? std::nullopt : thing.rank);
    if (m_isPublishing) {
        return;
    }
    if (showsFiles) {
        showNothing(thing);
        return;
    }
    // Once for each selection: afterwards another state may be chosen.
    if (!thing.state.empty() && thing != m_stateFollowed) {
        m_stateFollowed = thing;
        Q_EMIT stateWanted(thing.state);
    }
    const auto& params = m_canvas->stack()->checkpoint().params;
    // A selection may be older than the checkpoint shown.
    auto param = index(thing.param) < params.size() ? thing.param : kNoParam;
    if (param != kNoParam && params[index(param)].sharedWith != kNoParam) {
        param = params[index(param)].sharedWith;
    }
    if (param == kNoParam) {
        showNothing(thing);
    } else if (const auto section = m_canvas->stack()->sectionOf(param)) {
        showParam(m_canvas->stack()->source(*section), param, thing);
    } else if (params[index(param)].unit != kNoUnit) {
        Q_EMIT unitWanted(params[index(param)].unit);
    } else {
        showNothing(thing);
    }
}

void MapSelectionLink::markRank(const std::optional<uint32_t>& rank)
{
    auto marks = m_canvas->marks();
    marks.rank = rank;
    m_canvas->setMarks(marks);
    Q_EMIT rankSelected(rank);
}

void MapSelectionLink::reveal(ParamId param)
{
    const MapStackPtr& stack = m_canvas->stack();
    const bool isThere = stack && !stack->files() && index(param) < stack->checkpoint().params.size();
    const auto section = isThere ? stack->sectionOf(param) : std::nullopt;
    if (!section) {
        return;
    }
    const MapSource& source = stack->source(*section);
    if (const auto place = placeOf(source, param)) {
        m_viewport->reveal(cellBlock(source, *place));
    }
}

std::optional<MapSource::Point> MapSelectionLink::placeOf(const MapSource& source, ParamId param) const
{
    constexpr size_t kMostFragments = 4096; // a few milliseconds
    const DifferenceMarks* differences = m_canvas->shownDifferences();
    if (differences != nullptr && !differences->isUniform(param)) {
        for (const MapBlock& block : fragmentBlocks(source, param, {0, source.rows()}, kMostFragments)) {
            const auto row = static_cast<uint32_t>(block.rows.begin);
            const uint64_t begin = source.cellAt(row, block.elements.begin).paramOffset;
            const DifferenceMark mark = differences
                                            ->ofPiece(param, source.stateAt(block.elements.begin).name, begin,
                                                begin + block.elements.size())
                                            .mark;
            if (mark == DifferenceMark::Values || mark == DifferenceMark::LastBit) {
                return MapSource::Point{row, block.elements.begin, source.number()};
            }
        }
    }
    return firstFragment(source, param);
}

void MapSelectionLink::showParam(const MapSource& source, ParamId param, const SelectedThing& thing)
{
    auto marks = m_canvas->marks();
    marks.param = param;
    marks.pinned = placeOf(source, param);
    const FlatUnit& unit = source.parts()[source.partOf(param).value_or(0)].flat();
    const auto row = thing.rank ? rowOfRank(source.checkpoint(), unit, *thing.rank) : std::nullopt;
    if (thing.element) {
        marks.pinned = pointOfElement(source, param, *thing.element);
    } else if (row && source.projection() == MapQuery::Projection::Partitions) {
        const auto blocks = fragmentBlocks(source, param, {*row, *row + uint64_t{1}}, 1);
        if (!blocks.empty()) {
            marks.pinned = MapSource::Point{*row, blocks[0].elements.begin, source.number()};
        }
    }
    m_canvas->setMarks(marks);
    if (marks.pinned) {
        // Cells may be wider than the view: an element that is meant is what must be seen.
        const MapSource::Point& at = *marks.pinned;
        m_viewport->reveal(thing.element
                ? MapBlock{{at.row, at.row + uint64_t{1}}, {at.element, at.element + 1}, at.section}
                : cellBlock(source, at));
        m_canvas->setAccessibleDescription(sentenceAt(*marks.pinned));
    }
}

void MapSelectionLink::showNothing(const SelectedThing& thing)
{
    auto marks = m_canvas->marks();
    marks.param = kNoParam;
    marks.pinned = placeOf(thing);
    m_canvas->setMarks(marks);
    const auto at = marks.pinned ? marks.pinned : rankOf(thing);
    if (at) {
        m_viewport->reveal({{at->row, at->row + uint64_t{1}}, {at->element, at->element + 1}, at->section});
    }
    if (marks.pinned) {
        m_canvas->setAccessibleDescription(sentenceAt(*marks.pinned));
    }
}

std::optional<MapSource::Point> MapSelectionLink::placeOf(const SelectedThing& thing) const
{
    const MapStack& stack = *m_canvas->stack();
    if (const FileRows* files = stack.files()) {
        const auto row = files->rowOf(thing.file);
        return row && files->columns() > 0
            ? std::optional(MapSource::Point{*row, std::min(thing.byte.value_or(0), files->columns() - 1)})
            : std::nullopt;
    }
    const auto section = thing.block && thing.unit != kNoUnit ? stack.sectionOf(thing.unit) : std::nullopt;
    const auto part = section ? stack.source(*section).partOf(thing.unit) : std::nullopt;
    if (!part) {
        return std::nullopt;
    }
    const FlatPartition& partition = stack.source(*section).parts()[*part].flat().partition;
    const bool isThere
        = thing.block->rankBegin < partition.ranks() && thing.block->begin < partition.partitionElements();
    return isThere
        ? std::optional(stack.source(*section).pointOf(thing.block->rankBegin, thing.block->begin, *part))
        : std::nullopt;
}

std::optional<MapSource::Point> MapSelectionLink::rankOf(const SelectedThing& thing) const
{
    const MapStack& stack = *m_canvas->stack();
    const auto wanted = thing.unit == kNoUnit ? std::nullopt : stack.sectionOf(thing.unit);
    for (uint32_t section = wanted.value_or(0); thing.rank && !stack.files() && section < stack.count();
         ++section) {
        const MapSource& source = stack.source(section);
        if (const auto row = rowOfRank(source.checkpoint(), source.unit(), *thing.rank)) {
            return source.pointOf(*row, 0);
        }
    }
    return std::nullopt;
}

} // namespace shardscope::ui
