// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_selection_link.h"

#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/map_interaction.h"
#include "ui/text/rank_list.h"

namespace shardscope::ui {

SelectedThing selectedThingAt(const MapSource& source, MapSource::Point point)
{
    const auto cell = source.query().cellAt(point.row, point.element);
    const auto place = source.placeOf(point.row, cell.begin);
    SelectedThing thing;
    thing.param = cell.param;
    thing.state = source.state().name;
    thing.rank = rankOfRow(source.checkpoint(), source.query().flat(), place.rank);
    thing.unit = source.query().unit();
    thing.block = FlatBlock{place.rank, place.rank + 1, place.offset, place.offset + (cell.end - cell.begin)};
    const bool inFile = cell.kind == CellKind::Param || cell.kind == CellKind::PaddingStored;
    if (inFile) {
        const auto [run, offset] = source.storedAt(cell, place);
        thing.file = run.file;
        thing.record = run.record;
        thing.byte = run.byteOffset + offset * itemSize(source.state().dtype);
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

void MapSelectionLink::selectRow(uint32_t row)
{
    if (m_selection && m_canvas->source()->projection() == MapQuery::Projection::Partitions) {
        const auto& source = *m_canvas->source();
        m_selection->selectRank(rankOfRow(source.checkpoint(), source.query().flat(), row));
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
    return MapText::sentence(*m_canvas->source(), point, m_canvas->shownDifferences());
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
    m_selection->select(point ? selectedThingAt(*m_canvas->source(), *point) : SelectedThing{});
    m_isPublishing = false;
    QString sum;
    if (point) {
        const auto elements = cellBlock(*m_canvas->source(), *point).elements;
        sum = MapText::sum(
            m_canvas->source()->query().sum(point->row, point->row + 1, elements.begin, elements.end));
    }
    m_selection->setSumText(sum);
}

void MapSelectionLink::onRangeSelected()
{
    const auto& block = m_viewport->selected();
    auto marks = m_canvas->marks();
    marks.sumText.clear();
    if (!block.isEmpty() && m_canvas->source()) {
        marks.sumText = MapText::sum(m_canvas->source()->query().sum(static_cast<uint32_t>(block.rows.begin),
            static_cast<uint32_t>(block.rows.end), block.elements.begin, block.elements.end));
        m_canvas->setAccessibleDescription(tr("Selected: %1").arg(marks.sumText));
    }
    m_canvas->setMarks(marks);
    if (m_selection) {
        m_selection->setSumText(marks.sumText);
    }
}

void MapSelectionLink::onSelection(const SelectedThing& thing)
{
    if (m_isPublishing || !m_canvas->source()) {
        return;
    }
    const auto& params = m_canvas->source()->checkpoint().params;
    // A selection may be older than the checkpoint shown.
    auto param = index(thing.param) < params.size() ? thing.param : kNoParam;
    if (param != kNoParam && params[index(param)].sharedWith != kNoParam) {
        param = params[index(param)].sharedWith;
    }
    if (param == kNoParam || params[index(param)].unit == kNoUnit) {
        showNothing(rowOf(thing));
        return;
    }
    if (params[index(param)].unit != m_canvas->source()->query().unit()) {
        Q_EMIT unitWanted(params[index(param)].unit);
    } else {
        showParam(param, rowOf(thing));
    }
}

std::optional<uint32_t> MapSelectionLink::rowOf(const SelectedThing& thing) const
{
    const auto& source = *m_canvas->source();
    return thing.rank ? rowOfRank(source.checkpoint(), source.query().flat(), *thing.rank) : std::nullopt;
}

void MapSelectionLink::showParam(ParamId param, const std::optional<uint32_t>& rank)
{
    const auto& source = *m_canvas->source();
    auto marks = m_canvas->marks();
    marks.param = param;
    marks.pinned = firstFragment(source, param);
    if (rank && *rank < source.ranks() && source.projection() == MapQuery::Projection::Partitions) {
        const auto blocks = fragmentBlocks(source, param, {*rank, *rank + uint64_t{1}}, 1);
        if (!blocks.empty()) {
            marks.pinned = MapSource::Point{*rank, blocks[0].elements.begin};
        }
    }
    m_canvas->setMarks(marks);
    if (marks.pinned) {
        m_viewport->reveal(cellBlock(source, *marks.pinned));
        m_canvas->setAccessibleDescription(sentenceAt(*marks.pinned));
    }
}

void MapSelectionLink::showNothing(const std::optional<uint32_t>& rank)
{
    auto marks = m_canvas->marks();
    marks.param = kNoParam;
    marks.pinned.reset();
    m_canvas->setMarks(marks);
    if (rank && *rank < m_canvas->source()->ranks()) {
        const auto point = m_canvas->source()->pointOf(*rank, 0);
        m_viewport->reveal({{point.row, point.row + uint64_t{1}}, {point.element, point.element + 1}});
    }
}

} // namespace shardscope::ui
