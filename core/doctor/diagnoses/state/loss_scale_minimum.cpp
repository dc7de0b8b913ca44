// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <fmt/format.h>

namespace shardscope::diagnosis {

namespace {

/// Attributes of runtime/fp16/loss_scaler.py, DynamicLossScaler.
Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const SavedFile optimizer = savedOptimizer(*context.checkpoint);
    const NodeId node = optimizer.at({"optimizer_state_dict", "loss_scaler"});
    const auto scaler = node == kNoNode ? std::nullopt : asObject(*optimizer.graph, node);
    if (!scaler || scaler->attributes == kNoNode)
        return {};
    const auto numberOf = [&](std::string_view key) {
        const NodeId value = lookup(*optimizer.graph, scaler->attributes, key);
        return value == kNoNode ? std::nullopt : asNumber(*optimizer.graph, value);
    };
    const auto scale = numberOf("cur_scale");
    const auto least = numberOf("min_scale");
    const auto overflow = numberOf("last_overflow_iter");
    const bool fell = overflow && *overflow >= 0; // it did not begin there
    if (!scale || !least || !fell || *scale > *least)
        return {};
    sink.add(Severity::Warning, "overflows have brought the loss scale down to its minimum",
        optimizer.file->name,
        {fmt::format("cur_scale {:g}, min_scale {:g}", *scale, *least),
            fmt::format("last overflow in iteration {:g}", *overflow)});
    return {};
}

} // namespace

/// A dynamic loss scale that cannot fall any further.
extern const Diagnosis kLossScaleMinimum;
const Diagnosis kLossScaleMinimum{
    .code = "loss-scale-minimum",
    .letter = "S18",
    .name = "The loss scale is at its minimum",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "It loads.",
        .resuming = "Stock DeepSpeed ends the run at the next overflows, and before that small gradients are "
                    "lost: a scale this low comes from training that diverged, or from values that are not "
                    "finite.",
        .exporting = "Weights may be those of a diverged run."},
    .remedy
    = "set the scale higher where gradients are sound again (`repair --set scale=N`), or go on from an "
      "earlier step",
    .threads = "fudan-generative-vision/hallo#152, NVIDIA-NeMo/RL#3544, DS#697",
    .look = look,
};

} // namespace shardscope::diagnosis
