// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_stack.h"

#include "core/layout/whole_units.h"
#include "ui/models/difference_marks.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

uint32_t positionOf(const FlatUnit& unit, std::string_view state)
{
    for (uint32_t i = 0; i < unit.states.size(); ++i) {
        if (unit.states[i].name == state)
            return i;
    }
    return 0;
}

} // namespace

MapStack::MapStack(CheckpointPtr checkpoint, const MapSubject& subject, MapSource::Shared shared,
    std::span<const Finding> more)
    : m_checkpoint(std::move(checkpoint))
    , m_projection(subject.projection)
{
    if (!shared.looks || shared.looks->source != m_checkpoint.get())
        shared.looks = mapLooks(*m_checkpoint);
    m_looks = shared.looks;
    const std::vector<MapSectionContent>& sections = m_looks->sections;
    if (!shared.names)
        shared.names = std::make_shared<const MapNames>(m_checkpoint);
    const PlacedFindings findings(*m_checkpoint, more);
    for (uint32_t number = 0; number < sections.size(); ++number) {
        if (subject.section && *subject.section != number)
            continue;
        std::vector<MapQuery> parts;
        for (const UnitId unit : sections[number].units) {
            const uint32_t state = positionOf(m_checkpoint->units[index(unit)], subject.state);
            parts.emplace_back(
                m_checkpoint, MapQuery::Subject{unit, m_projection, state}, shared.looks, findings);
        }
        for (const WholeTensor* tensor : sections[number].tensors)
            parts.emplace_back(
                m_checkpoint, unitOf(*m_checkpoint, *tensor), m_projection, shared.looks, findings);
        shared.number = count();
        m_numbers.push_back(number);
        m_sections.push_back(std::make_shared<const MapSource>(std::move(parts), shared));
    }
}

MapStack::MapStack(FileRowsPtr files, const MapSource::Shared& shared)
    : m_checkpoint(files->checkpoint())
    , m_sections{std::make_shared<const MapSource>(std::move(files), shared)}
{
}

std::optional<uint32_t> MapStack::sectionOf(ParamId param) const
{
    for (uint32_t i = 0; i < count(); ++i) {
        if (source(i).partOf(param))
            return i;
    }
    return std::nullopt;
}

std::optional<uint32_t> MapStack::sectionOf(UnitId unit) const
{
    for (uint32_t i = 0; i < count(); ++i) {
        if (source(i).partOf(unit))
            return i;
    }
    return std::nullopt;
}

std::vector<MapLayout::Size> MapStack::sizes(const MapStack* beside) const
{
    std::vector<MapLayout::Size> sizes;
    for (const MapSourcePtr& section : m_sections)
        sizes.push_back({section->columns(), section->rows()});
    if (beside == nullptr || files() || beside->files() || beside->projection() != m_projection)
        return sizes;
    uint64_t widest = 0;
    for (const MapStack* stack : {this, beside}) {
        for (const MapSourcePtr& section : stack->m_sections)
            widest = std::max(widest, section->columns());
    }
    for (uint32_t i = 0; i < count(); ++i) {
        const std::vector<ParamId>& params = source(i).unit().params;
        const ParamId there
            = params.empty() ? kNoParam : sameParameter(checkpoint(), params.front(), beside->checkpoint());
        const auto other = there == kNoParam ? std::nullopt : beside->sectionOf(there);
        sizes[i].fullWidth = other ? beside->source(*other).columns() : 0;
        sizes[i].mapWidth = widest;
    }
    return sizes;
}

int8_t MapStack::worstSeverity() const
{
    int8_t worst = -1;
    for (const MapSourcePtr& section : m_sections)
        worst = std::max(worst, section->worstSeverity(0, section->rows(), 0, section->columns()));
    return worst;
}

std::vector<std::string> MapStack::otherStatesWithWorst() const
{
    const int8_t worst = worstSeverity();
    std::vector<std::string> states;
    for (const MapSourcePtr& section : m_sections) {
        if (worst < 0 || section->worstSeverity(0, section->rows(), 0, section->columns()) < worst)
            continue;
        const auto here = section->otherStatesWithWorst(0, section->rows(), 0, section->columns());
        if (here.empty())
            return {};
        for (const std::string& state : here) {
            if (std::find(states.begin(), states.end(), state) == states.end())
                states.push_back(state);
        }
    }
    return states;
}

uint32_t MapStack::highestLayer() const
{
    return m_sections.empty() ? 0 : m_sections.front()->highestLayer();
}

} // namespace shardscope::ui
