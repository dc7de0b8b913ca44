// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/digested_scalars.h"

#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/checkpoint/units/state_values.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <optional>

namespace shardscope {

namespace {

/// Whether the group's name only says the expert-parallel degree.
bool namesExpertDegree(std::string_view key, std::optional<std::string_view> value)
{
    return key == "name" && value && value->starts_with(kExpertGroupPrefix);
}

DigestedScalar spelled(std::string state, const TorchFile& file, NodeId value)
{
    ScalarSpelling spelling = spellScalar(file, value);
    return {{}, std::move(state), std::move(spelling.text), {}, spelling.lacks};
}

/// What an optimizer keeps per group or parameter besides tensors with its elements and the step. The readers
/// checked that it is the same for all of them (units/other_values.h).
void addValues(const Checkpoint& checkpoint, const FlatUnit& unit, const TorchFile& file,
    std::vector<DigestedScalar>& out)
{
    for (const StateValue& value : stateValues(file.pickle(), unit.stateNode)) {
        const bool isState = std::any_of(unit.states.begin(), unit.states.end(),
            [&](const UnitState& state) { return state.name == value.name; });
        if (!isState && !checkpoint.statesAside.contains(value.name) && value.name != "step")
            out.push_back(spelled("state/" + value.name, file, value.node));
    }
}

/// Scalars without name (the group's number) and digest.
std::vector<DigestedScalar> scalarsOf(const Checkpoint& checkpoint, const ParamGroup& group)
{
    std::vector<DigestedScalar> out;
    const TorchFile& file = *checkpoint.file(checkpoint.templateOptim).content;
    const PickleGraph& graph = file.pickle();
    if (!group.units.empty()) {
        const FlatUnit& unit = checkpoint.units[index(group.units.front())];
        if (unit.step)
            out.push_back({{}, "step", realText(*unit.step), {}, {}});
        addValues(checkpoint, unit, file, out);
    }
    if (group.options == kNoNode)
        return out;
    const auto items = mappingItems(graph, group.options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key && *key != "params" && *key != "step"
            && !namesExpertDegree(*key, asString(graph, items[i + 1])))
            out.push_back(spelled("option/" + std::string(*key), file, items[i + 1]));
    }
    return out;
}

bool isOfExperts(const Checkpoint& checkpoint, const ParamGroup& group)
{
    if (group.units.empty() || checkpoint.units[index(group.units.front())].params.empty())
        return false;
    const ParamId first = checkpoint.units[index(group.units.front())].params.front();
    return parseExpertName(checkpoint.params[index(first)].name).has_value();
}

} // namespace

std::vector<DigestedScalar> groupScalars(const Checkpoint& checkpoint)
{
    std::vector<DigestedScalar> out;
    std::optional<std::vector<DigestedScalar>> before; // of the preceding group of experts
    uint32_t number = 0;
    for (const ParamGroup& group : checkpoint.groups) {
        std::vector<DigestedScalar> scalars = scalarsOf(checkpoint, group);
        const bool experts = isOfExperts(checkpoint, group);
        if (experts && before == scalars)
            continue;
        before = experts ? std::optional(scalars) : std::nullopt;
        for (DigestedScalar& scalar : scalars) {
            scalar.name = "group/" + std::to_string(number);
            out.push_back(std::move(scalar));
        }
        ++number;
    }
    return out;
}

std::vector<DigestedScalar> digestedScalars(const Checkpoint& checkpoint, DigestVersion version)
{
    return digestedScalars(checkpoint,
        checkpoint.isReadable(checkpoint.templateOptim) ? scalerTexts(checkpoint) : ScalerTexts(), version);
}

std::vector<DigestedScalar> digestedScalars(
    const Checkpoint& checkpoint, const ScalerTexts& scaler, DigestVersion version)
{
    std::vector<DigestedScalar> out;
    if (checkpoint.isReadable(checkpoint.templateOptim)) {
        out = groupScalars(checkpoint);
        for (const auto& [attribute, value] : scaler)
            out.push_back({"scaler", attribute, value, {}, {}});
    }
    if (checkpoint.isReadable(checkpoint.templateModel)) {
        const ModelStates model = modelStates(checkpoint);
        if (model.scheduler != kNoNode && model.graph->kind(model.scheduler) != NodeKind::None)
            out.emplace_back(spelled("", *checkpoint.file(checkpoint.templateModel).content, model.scheduler))
                .name
                = "lr_scheduler";
    }
    if (version == DigestVersion::One) // did not have them
        std::erase_if(out, [](const DigestedScalar& scalar) { return scalar.state.starts_with("state/"); });
    for (DigestedScalar& scalar : out)
        scalar.digest = digestText(scalar.name, scalar.state, scalar.text, version);
    return out;
}

} // namespace shardscope
