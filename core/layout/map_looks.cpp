// SPDX-License-Identifier: Apache-2.0
#include "core/layout/map_looks.h"

#include "core/layout/lost_shares.h"
#include "core/layout/whole_units.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace shardscope {

namespace {

/// Whether two units, one after the other, are drawn in one row.
bool shareSection(const FlatUnit& first, const FlatUnit& second)
{
    const bool joins = first.kind == UnitKind::Frozen || first.kind == UnitKind::Whole;
    return joins && first.kind == second.kind && first.part == second.part && first.group == second.group
        && first.firstRank == second.firstRank && first.rankStride == second.rankStride
        && first.partition.ranks() == second.partition.ranks();
}

std::vector<MapSectionContent> sectionsOf(const Checkpoint& checkpoint)
{
    std::vector<MapSectionContent> sections;
    const FlatUnit* last = nullptr;
    for (uint32_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        if (unit.states.empty() || unit.partition.payloadElements() == 0) // nothing can be drawn
            continue;
        if (last == nullptr || !shareSection(*last, unit))
            sections.emplace_back();
        sections.back().units.push_back(UnitId{i});
        last = &unit;
    }
    const std::vector<const WholeTensor*> outside = tensorsOutsideUnits(checkpoint);
    for (const ParamRole role : {ParamRole::Trainable, ParamRole::Frozen, ParamRole::Buffer}) {
        std::vector<const WholeTensor*> tensors;
        std::copy_if(
            outside.begin(), outside.end(), std::back_inserter(tensors), [&](const WholeTensor* tensor) {
                const Parameter& param = checkpoint.params[index(tensor->param)];
                return param.role == role && param.elements > 0; // nothing else can be drawn
            });
        if (!tensors.empty())
            sections.push_back({.units = {}, .tensors = std::move(tensors)});
    }
    return sections;
}

std::vector<std::string> statesOf(
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

void describe(MapSectionContent& section, const MapLooks& looks, const Checkpoint& checkpoint)
{
    const auto add = [&](ParamId param) {
        section.classes = static_cast<uint8_t>(
            section.classes | 1u << static_cast<unsigned>(looks.classes[index(param)]));
        section.hasFrozen = section.hasFrozen || isFrozen(checkpoint, checkpoint.params[index(param)]);
        section.hasShared = section.hasShared || looks.shared[index(param)] != 0;
    };
    for (const UnitId unit : section.units)
        std::ranges::for_each(checkpoint.units[index(unit)].params, add);
    for (const WholeTensor* tensor : section.tensors)
        add(tensor->param);
}

/// Names that tell nothing would give one colour to everything.
bool tellsClasses(const std::vector<Parameter>& params, const std::vector<ParamClass>& classes)
{
    uint64_t known = 0;
    uint64_t half = 0;
    for (size_t i = 0; i < params.size(); ++i) {
        half += params[i].elements / 2;
        known += classes[i] == ParamClass::Other ? 0 : params[i].elements;
    }
    return known >= half;
}

/// Fills stateBytes and lostBytes.
void countBytes(MapLooks& looks, const Checkpoint& checkpoint)
{
    std::map<std::string_view, uint64_t> byState;
    const LostShares lost(checkpoint);
    for (size_t u = 0; u < checkpoint.units.size(); ++u) {
        const FlatUnit& unit = checkpoint.units[u];
        for (size_t s = 0; s < unit.states.size(); ++s) {
            const uint64_t missing = lost.bytesOf(UnitId{static_cast<uint32_t>(u)}, s);
            byState[unit.states[s].name]
                += itemSize(unit.states[s].dtype) * unit.partition.payloadElements() - missing;
            looks.lostBytes += missing;
        }
    }
    auto sum = byState.end(); // tensors of one state follow each other
    for (const WholeTensor& whole : checkpoint.whole) {
        if (whole.param == kNoParam || checkpoint.params[index(whole.param)].sharedWith != kNoParam)
            continue;
        if (sum == byState.end() || sum->first != whole.state)
            sum = byState.try_emplace(whole.state).first;
        sum->second += itemSize(whole.dtype) * checkpoint.params[index(whole.param)].elements;
    }
    for (const std::string& state : looks.states) {
        const auto found = byState.find(state);
        looks.stateBytes.push_back(found == byState.end() ? 0 : found->second);
    }
}

} // namespace

MapLooksPtr mapLooks(const Checkpoint& checkpoint)
{
    auto out = std::make_shared<MapLooks>();
    out->source = &checkpoint;
    const std::vector<Parameter>& params = checkpoint.params;
    out->classes.reserve(params.size());
    out->shared.assign(params.size(), 0);
    for (const Parameter& param : params) {
        out->classes.push_back(classOf(param.name, param.shape, param.role));
        if (index(param.sharedWith) < params.size())
            out->shared[index(param.sharedWith)] = 1;
    }
    out->hasClasses = tellsClasses(params, out->classes);
    out->sections = sectionsOf(checkpoint);
    for (MapSectionContent& section : out->sections)
        describe(section, *out, checkpoint);
    out->sectionStates = statesOf(checkpoint, out->sections);
    out->states = checkpoint.stateNames();
    countBytes(*out, checkpoint);
    for (const FlatUnit& unit : checkpoint.units)
        out->padding += paddingElements(unit);
    out->parameters = countParameters(checkpoint);
    return out;
}

} // namespace shardscope
