// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/digested_scalars.h"

#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <array>
#include <cstdio>
#include <optional>

namespace shardscope {

namespace {

std::string numberText(double value)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    return text.data();
}

/// Whether the group's name only says the expert-parallel degree.
bool namesExpertDegree(std::string_view key, std::optional<std::string_view> value)
{
    return key == "name" && value && value->starts_with(kExpertGroupPrefix);
}

DigestedScalar spelled(std::string state, const PickleGraph& graph, NodeId value)
{
    ScalarSpelling spelling = spellScalar(graph, value);
    return {{}, std::move(state), std::move(spelling.text), {}, spelling.lacks};
}

/// Scalars without name (the group's number) and digest.
std::vector<DigestedScalar> scalarsOf(const Checkpoint& checkpoint, const ParamGroup& group)
{
    std::vector<DigestedScalar> out;
    if (!group.units.empty()) {
        if (const auto step = checkpoint.units[index(group.units.front())].step)
            out.push_back({{}, "step", numberText(*step), {}, {}});
    }
    if (group.options == kNoNode)
        return out;
    const PickleGraph& graph = checkpoint.file(checkpoint.templateOptim).content->pickle();
    const auto items = mappingItems(graph, group.options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key && *key != "params" && *key != "step"
            && !namesExpertDegree(*key, asString(graph, items[i + 1])))
            out.push_back(spelled("option/" + std::string(*key), graph, items[i + 1]));
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
            out.emplace_back(spelled("", *model.graph, model.scheduler)).name = "lr_scheduler";
    }
    for (DigestedScalar& scalar : out)
        scalar.digest = digestText(scalar.name, scalar.state, scalar.text, version);
    return out;
}

} // namespace shardscope
