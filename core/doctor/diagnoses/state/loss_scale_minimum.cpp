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
    const OptimStates optimizer = optimStates(*context.checkpoint);
    if (!optimizer || isUniversal(context.checkpoint->kind))
        return {};
    const LossScaler scaler = lossScaler(optimizer);
    const auto scale = asNumber(*optimizer.graph, scaler.scale);
    const auto min = asNumber(*optimizer.graph, scaler.minScale);
    const auto overflow = asNumber(*optimizer.graph, scaler.lastOverflow);
    const bool fell = overflow && *overflow >= 0; // it did not start at the minimum
    if (!scale || !min || !fell || *scale > *min)
        return {};
    sink.add(Severity::Warning, "overflows reduced the loss scale to its minimum", optimizer.file->name,
        {fmt::format("cur_scale {:g}, min_scale {:g}", *scale, *min),
            fmt::format("last overflow in iteration {:g}", *overflow)});
    return {};
}

} // namespace

/// A dynamic loss scale that cannot be reduced further.
extern const Diagnosis kLossScaleMinimum;
const Diagnosis kLossScaleMinimum{
    .code = "loss-scale-minimum",
    .letter = "S18",
    .name = "The loss scale is at its minimum",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .silent = true,
    .means = {.loading = "It loads.",
        .resuming
        = "Stock DeepSpeed stops the run at the next overflows, and small gradients are lost before. The "
          "cause of such a low scale is diverged training, or values that are not finite.",
        .exporting = "Weights may be those of a diverged run."},
    .remedy = "set a higher scale if the gradients are finite again (`repair --set scale=N`), or resume from "
              "an earlier step",
    .threads = "fudan-generative-vision/hallo#152, NVIDIA-NeMo/RL#3544, DS#697",
    .look = look,
};

} // namespace shardscope::diagnosis
