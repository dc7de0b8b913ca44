// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_stack.h"

#include "core/layout/whole_units.h"

#include <algorithm>
#include <iterator>

namespace shardscope::ui {

namespace {

/// Whether two units, one after the other, are drawn in one row.
bool shareSection(const FlatUnit& first, const FlatUnit& second)
{
    const bool joins = first.kind == UnitKind::Frozen || first.kind == UnitKind::Whole;
    return joins && first.kind == second.kind && first.part == second.part && first.group == second.group
        && first.firstRank == second.firstRank && first.rankStride == second.rankStride
        && first.partition.ranks() == second.partition.ranks();
}

uint32_t positionOf(const FlatUnit& unit, std::string_view state)
{
    for (uint32_t i = 0; i < unit.states.size(); ++i) {
        if (unit.states[i].name == state)
            return i;
    }
    return 0;
}

} // namespace

std::vector<MapSectionContent> mapSections(const Checkpoint& checkpoint)
{
    std::vector<MapSectionContent> sections;
    const FlatUnit* last = nullptr;
    for (uint32_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        if (unit.states.empty())
            continue;
        if (last == nullptr || !shareSection(*last, unit))
            sections.emplace_back();
        sections.back().units.push_back(UnitId{i});
        last = &unit;
    }
    const std::vector<const WholeTensor*> outside = tensorsOutsideUnits(checkpoint);
    for (const ParamRole role : {ParamRole::Trainable, ParamRole::Frozen, ParamRole::Buffer}) {
        std::vector<const WholeTensor*> tensors;
        std::copy_if(outside.begin(), outside.end(), std::back_inserter(tensors),
            [&](const WholeTensor* tensor) { return checkpoint.params[index(tensor->param)].role == role; });
        if (!tensors.empty())
            sections.push_back({.units = {}, .tensors = std::move(tensors)});
    }
    return sections;
}

std::vector<std::string> mapStates(
    const Checkpoint& checkpoint, const std::vector<MapSectionContent>& sections)
{
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    };
    for (const FlatUnit& unit : checkpoint.units) {
        for (const UnitState& state : unit.states)
            add(state.name);
    }
    for (const MapSectionContent& section : sections) {
        for (const WholeTensor* tensor : section.tensors)
            add(tensor->state);
    }
    return names;
}

MapStack::MapStack(CheckpointPtr checkpoint, const MapSubject& subject, MapSource::Shared shared,
    std::span<const Finding> more)
    : MapStack(checkpoint, mapSections(*checkpoint), subject, std::move(shared), more)
{
}

MapStack::MapStack(CheckpointPtr checkpoint, const std::vector<MapSectionContent>& sections,
    const MapSubject& subject, MapSource::Shared shared, std::span<const Finding> more)
    : m_checkpoint(std::move(checkpoint))
    , m_projection(subject.projection)
{
    if (!shared.looks)
        shared.looks = paramLooks(*m_checkpoint);
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
        m_sections.push_back(std::make_shared<const MapSource>(std::move(parts), shared));
    }
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

std::vector<MapLayout::Size> MapStack::sizes() const
{
    std::vector<MapLayout::Size> sizes;
    for (const MapSourcePtr& section : m_sections)
        sizes.push_back({section->columns(), section->rows()});
    return sizes;
}

int8_t MapStack::worstSeverity() const
{
    int8_t worst = -1;
    for (const MapSourcePtr& section : m_sections)
        worst = std::max(worst, section->worstSeverity(0, section->rows(), 0, section->columns()));
    return worst;
}

uint32_t MapStack::highestLayer() const
{
    return m_sections.empty() ? 0 : m_sections.front()->highestLayer();
}

} // namespace shardscope::ui
