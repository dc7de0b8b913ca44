// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/fused_experts.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <map>
#include <set>

namespace shardscope::diagnosis {

namespace {

/// Experts by MoE layer, for one model-parallel rank.
using LayerFiles = std::map<uint32_t, std::set<uint32_t>>;

std::map<uint32_t, LayerFiles> expertFiles(const CheckContext& context)
{
    std::map<uint32_t, LayerFiles> out;
    for (const FolderEntry& entry : context.tag) {
        if (entry.parsed && entry.parsed->role == FileRole::ExpertStates && entry.parsed->layer
            && entry.parsed->expert)
            out[entry.parsed->mp][*entry.parsed->layer].insert(*entry.parsed->expert);
    }
    return out;
}

std::string fileName(uint32_t layer, uint32_t expert, uint32_t mp)
{
    return "layer_" + std::to_string(layer) + "_expert_" + std::to_string(expert) + "_mp_rank_"
        + (mp < 10 ? "0" : "") + std::to_string(mp) + "_model_states.pt";
}

void compare(uint32_t mp, const LayerFiles& files, const std::vector<int64_t>& experts, FindingSink& sink)
{
    for (uint32_t layer = 0; layer < experts.size(); ++layer) {
        const auto found = files.find(layer);
        for (int64_t expert = 0; expert < experts[layer]; ++expert) {
            const auto number = static_cast<uint32_t>(expert);
            if (found != files.end() && found->second.contains(number))
                continue;
            sink.add(Severity::Error,
                "the file of expert " + std::to_string(expert) + " of MoE layer " + std::to_string(layer)
                    + " is missing",
                fileName(layer, number, mp),
                {"`num_experts` says " + std::to_string(experts[layer]) + " for this layer"});
        }
    }
    for (const auto& [layer, numbers] : files) {
        const int64_t most = layer < experts.size() ? experts[layer] : 0;
        for (const uint32_t number : numbers) {
            if (int64_t{number} >= most)
                sink.add(Severity::Warning, "the file is of an expert that the model does not have",
                    fileName(layer, number, mp),
                    {"`num_experts` says " + std::to_string(most) + " for this layer"});
        }
    }
}

/// Releases before 0.19.3 write an optimizer file for every expert-parallel rank, with every ZeRO stage.
void lookAtOptimizers(const CheckContext& context, FindingSink& sink)
{
    std::set<std::string_view> there;
    for (const FolderEntry& entry : context.tag) {
        if (entry.name.starts_with("expp_rank_"))
            there.insert(entry.name);
    }
    for (uint32_t rank = 0; !there.empty() && rank < context.checkpoint->parallel.ep; ++rank) {
        const std::string name = "expp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt";
        if (!there.contains(name))
            sink.add(Severity::Warning, "the optimizer file of this expert-parallel rank is missing", name,
                {"the others have one"});
    }
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint)
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model || model.graph->kind(model.numExperts) != NodeKind::List)
        return {}; // one number for all layers: files of old releases, which name no layer
    std::vector<int64_t> experts;
    for (const NodeId item : sequenceItems(*model.graph, model.numExperts)) {
        const auto count = asInteger(*model.graph, item);
        if (!count)
            return {};
        experts.push_back(*count);
    }
    // Without expert files, experts are in ZeRO's shards (AutoEP of ZeRO-3), or readers report them. Folded
    // over tensor slices, every slice has some of the experts, and its reader knows which.
    if (model.folding == kNoNode) {
        for (const auto& [mp, files] : expertFiles(context))
            compare(mp, files, experts, sink);
    }
    if (context.hasModel())
        lookAtOptimizers(context, sink);
    return {};
}

} // namespace

/// Expert files against what the model file says of experts.
extern const Diagnosis kMoeIncomplete;
const Diagnosis kMoeIncomplete{
    .code = "moe-incomplete",
    .letter = "S15",
    .name = "Expert files do not match the model",
    .depth = CheckDepth::Names,
    .countsFiles = true,
    .worst = Severity::Error,
    .means = {.loading
        = "Stock DeepSpeed opens a file for every local expert and stops at the first that is missing, "
          "releases before 0.19.3 also at a missing optimizer file; extra files are not opened.",
        .resuming = "The masters of the experts are in the optimizer files of their expert-parallel ranks.",
        .exporting = "Weights of missing experts come from the masters."},
    .remedy = "rebuild the expert's file from its masters, in the form of another expert's file",
    .repairs = true,
    .repairsFrom = Severity::Error,
    .threads = "DS#5716, DS#8147, DS#8198, DS#2737, DS#4120, DS#5157",
    .look = look,
};

} // namespace shardscope::diagnosis
