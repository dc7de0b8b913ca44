// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/finding_sink.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || context.checkpoint->tags.size() < 2)
        return {};
    uint64_t frozen = 0;
    uint64_t trainable = 0;
    for (const Parameter& param : context.checkpoint->params) {
        if (param.sharedWith == kNoParam && param.role != ParamRole::Buffer)
            (param.role == ParamRole::Frozen ? frozen : trainable) += param.elements;
    }
    if (frozen < 4 * trainable)
        return {};
    sink.add(Severity::Info, "every tag repeats the frozen part of the model", {},
        {formatCount(frozen) + " frozen elements, " + formatCount(trainable) + " trainable elements",
            formatCount(context.checkpoint->tags.size()) + " tags"});
    return {};
}

} // namespace

/// A small trained part and a large frozen base, which every save contains again.
extern const Diagnosis kFrozenBloat;
const Diagnosis kFrozenBloat{
    .code = "frozen-bloat",
    .letter = "F6",
    .name = "The frozen base in every tag",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads; `exclude_frozen_parameters` of stock DeepSpeed saves without the base.",
        .resuming = "The base can be loaded from its source."},
    .remedy = "write a copy without it, which loads over the base model; or export an adapter if it is one "
              "(`export --format adapter`)",
    .repairs = true,
    .repairsFrom = Severity::Info,
    .threads = "dreamzero0/dreamzero#90, PL#20949, DS#3437, DS#3953",
    .look = look,
};

} // namespace shardscope::diagnosis
