// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/scalar_text.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <array>

namespace shardscope::diagnosis {

namespace {

constexpr std::array<std::pair<std::string_view, NodeId GroupOptions::*>, 4> kOptions{
    {{"lr", &GroupOptions::lr}, {"weight_decay", &GroupOptions::weightDecay}, {"betas", &GroupOptions::betas},
        {"eps", &GroupOptions::eps}}};

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !isUniversal(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const OptimStates optimizer = optimStates(checkpoint);
    if (!optimizer || checkpoint.groups.size() < 2)
        return {};
    const PickleGraph& graph = *optimizer.graph;
    std::vector<std::string> evidence;
    const auto textOf = [&](const ParamGroup& group, NodeId GroupOptions::*option) {
        const NodeId node = readGroupOptions(graph, group.options).*option;
        if (node == kNoNode)
            return std::string();
        const bool isNumber = looksLikeTensor(graph, node) && numberOf(*optimizer.file->content, node);
        return isNumber ? scalarText(*optimizer.file->content, node) : nodeText(graph, node);
    };
    for (size_t i = 1; i < checkpoint.groups.size(); ++i) {
        for (const auto& [key, option] : kOptions) {
            const std::string first = textOf(checkpoint.groups[0], option);
            const std::string own = textOf(checkpoint.groups[i], option);
            if (!own.empty() && !first.empty() && own != first)
                evidence.push_back("group " + std::to_string(checkpoint.groups[i].index) + " has "
                    + std::string(key) + " " + own + ", group 0 has " + first);
        }
    }
    if (evidence.empty())
        return {};
    const bool wanted = context.target.stage == 3;
    sink.add(wanted ? Severity::Warning : Severity::Info,
        wanted ? "ZeRO-3 of stock DeepSpeed gives all param groups the options of group 0"
               : "param groups have different options, which stock DeepSpeed keeps except in ZeRO-3",
        optimizer.file->name, std::move(evidence));
    return {};
}

} // namespace

/// A universal folder with different param groups: ZeRO-3 reads the options of the first for all.
extern const Diagnosis kGroupCollapse;
const Diagnosis kGroupCollapse{
    .code = "group-collapse",
    .letter = "S7",
    .name = "ZeRO-3 would merge the options of param groups",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "Stages 1 and 2 give every group its own options. Stage 3 gives all groups those of "
                         "group 0, silently.",
        .resuming = "In stage 3 learning rates, weight decay and betas are those of group 0 for all "
                    "parameters; a scheduler may correct the learning rates, but nothing else.",
        .exporting = "Weights are not affected."},
    .remedy = "reshard it to ZeRO-3: its own files keep the options of every group",
    .command = reshardCommand,
    .threads = "DS#6873, DS#6878",
    .look = look,
};

} // namespace shardscope::diagnosis
