// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    if (!model)
        return {};
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const Parameter& param = checkpoint.params[i];
        if (param.role != ParamRole::Frozen || param.elements == 0 || param.sharedWith != kNoParam
            || isStoredAnywhere(checkpoint, ParamId{i}))
            continue;
        std::vector<std::string> evidence{
            "frozen_param_shapes names it, with " + std::to_string(param.elements) + " elements"};
        if (lookup(*model.graph, model.frozenParamFragments, param.name) == kNoNode)
            evidence.emplace_back("frozen_param_fragments does not have it");
        if (model.hasModule() && lookup(*model.graph, model.module, param.name) == kNoNode)
            evidence.emplace_back("the module does not list it");
        sink.add(Severity::Error, "no file holds the values of this frozen parameter",
            addressOf(checkpoint, ParamId{i}, "weight"), std::move(evidence));
    }
    return {};
}

} // namespace

/// Frozen parameters that are listed but not stored in any file.
extern const Diagnosis kFrozenLost;
const Diagnosis kFrozenLost{
    .code = "frozen-lost",
    .letter = "S8",
    .name = "Frozen parameters are lost",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed stops with a KeyError where fragments of others are recorded; "
                         "where none are, it keeps the values of the new model.",
        .resuming = "The trained part runs with frozen weights that it was not trained with, unless the base "
                    "model is loaded first.",
        .exporting = "These weights are missing or random in the export."},
    .remedy = "copy them from the base model's weights, or from a tag that has them (`--from`)",
    .repairs = true,
    .threads = "DS#3090, DS#3205, DS#5439, DS#5489, CarperAI/trlx#482, DS#8378",
    .look = look,
};

} // namespace shardscope::diagnosis
