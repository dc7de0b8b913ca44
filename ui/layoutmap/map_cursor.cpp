// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_cursor.h"

#include <algorithm>

namespace shardscope::ui {

MapCursor::MapCursor(MapCanvas* canvas, MapViewport* viewport, QObject* parent)
    : QObject(parent)
    , m_canvas(canvas)
    , m_viewport(viewport)
{
}

void MapCursor::pin(const std::optional<MapSource::Point>& point)
{
    auto marks = m_canvas->marks();
    marks.pinned = point;
    marks.param = point ? m_canvas->stack()->cellAt(*point).param : kNoParam;
    m_canvas->setMarks(marks);
    Q_EMIT pinnedChanged(point);
}

MapSource::Point MapCursor::place() const
{
    if (m_canvas->marks().pinned) {
        return *m_canvas->marks().pinned;
    }
    const MapRange sections = m_viewport->visibleSections();
    for (uint64_t section = sections.begin; section < sections.end; ++section) {
        const auto visible = m_viewport->visible(static_cast<uint32_t>(section));
        if (!visible.isEmpty()) {
            return {static_cast<uint32_t>(visible.rows.begin), visible.elements.begin, visible.section};
        }
    }
    return {};
}

IsShown MapCursor::unfolded() const
{
    return [this](uint32_t section) { return !m_viewport->layout().isFolded(section); };
}

void MapCursor::goTo(const std::optional<MapSource::Point>& point, const QString& otherwise)
{
    if (!point) {
        Q_EMIT refused(otherwise);
        return;
    }
    pin(point);
    m_viewport->reveal(cellBlock(m_canvas->stack()->sourceAt(*point), *point));
}

void MapCursor::stepNeighbour(MapStep step)
{
    goTo(isPinned() ? neighbour(*m_canvas->stack(), place(), step, unfolded()) : place(),
        tr("This is the map's end."));
}

void MapCursor::stepSibling(MapStep step)
{
    goTo(siblingFragment(m_canvas->stack()->sourceAt(place()), place(), step),
        step == MapStep::Backward ? tr("This is the parameter's first fragment.")
                                  : tr("This is the parameter's last fragment."));
}

void MapCursor::stepFinding(MapStep step)
{
    goTo(nextFinding(*m_canvas->stack(), place(), step, [](uint32_t) { return true; }),
        step == MapStep::Backward ? tr("No finding before this place.") : tr("No finding after this place."));
}

void MapCursor::stepPadding(MapStep step)
{
    goTo(nextPadding(*m_canvas->stack(), place(), step, [](uint32_t) { return true; }),
        step == MapStep::Backward ? tr("No padding before this place.") : tr("No padding after this place."));
}

void MapCursor::stepRank(int direction)
{
    const auto step = direction < 0 ? MapStep::Backward : MapStep::Forward;
    const bool files = m_canvas->stack()->files() != nullptr;
    goTo(isPinned() ? nextRank(*m_canvas->stack(), place(), step, unfolded()) : place(),
        direction < 0 ? (files ? tr("This is the first file.") : tr("This is the first rank."))
                      : (files ? tr("This is the last file.") : tr("This is the last rank.")));
}

void MapCursor::extend(MapStep step)
{
    const auto& source = m_canvas->stack()->sourceAt(place());
    const auto here = cellBlock(source, place());
    auto block = m_viewport->selected();
    const auto next = neighbour(source, place(), step);
    if (block.isEmpty() || block.section != here.section) {
        block = here;
    } else if (next && next->row == here.rows.begin) {
        const auto cell = cellBlock(source, *next);
        block.elements = {std::min(block.elements.begin, cell.elements.begin),
            std::max(block.elements.end, cell.elements.end)};
        goTo(next, {});
    }
    m_viewport->setSelected(block);
}

void MapCursor::centreOrFit()
{
    const auto block = !m_viewport->selected().isEmpty() ? m_viewport->selected()
        : m_canvas->marks().pinned
        ? cellBlock(m_canvas->stack()->sourceAt(*m_canvas->marks().pinned), *m_canvas->marks().pinned)
        : MapBlock{};
    if (block.isEmpty()) {
        m_viewport->fit();
        return;
    }
    const auto x = m_viewport->x();
    const auto y = m_viewport->y();
    m_viewport->centre(block);
    if (m_viewport->x() == x && m_viewport->y() == y) {
        m_viewport->zoomTo(block);
    }
}

bool MapCursor::stepBack()
{
    if (!m_viewport->selected().isEmpty()) {
        m_viewport->setSelected({});
        return true;
    }
    const bool wasPinned = isPinned();
    if (wasPinned) {
        pin(std::nullopt);
    }
    return wasPinned;
}

} // namespace shardscope::ui
