// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

Status look(const CheckContext& context, FindingSink& sink)
{
    // The converter needs it for files of ZeRO-1 and 2, not for those of ZeRO-3.
    if (!context.hasModel() || !hasRankFiles(context.checkpoint->kind)
        || partitionsParameters(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    if (!model || model.universalInfo != kNoNode)
        return {};
    const bool isSplit = checkpoint.parallel.tp > 1;
    sink.add(Severity::Info,
        isSplit ? "the model file has no `universal_checkpoint_info`, so the merge of its tensor slices is "
                  "not recorded"
                : "the model file has no `universal_checkpoint_info`, as DeepSpeed writes none by itself",
        model.file->name,
        {isSplit ? "`convert` takes the patterns of the model from --patterns"
                 : "one tensor slice: the key is not needed to convert the checkpoint"});
    return {};
}

} // namespace

/// Stock DeepSpeed's converter asserts that the client stored this key in the model file.
extern const Diagnosis kUniversalInfoMissing;
const Diagnosis kUniversalInfoMissing{
    .code = "universal-info-missing",
    .letter = "S2",
    .name = "No `universal_checkpoint_info`",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "It loads.",
        .resuming
        = "Stock ds_to_universal stops with an AssertionError unless --inject_missing_state is given."},
    .remedy = "convert it with this program, which needs the key only for tensor slices; or, without tensor "
              "slices, add it on a copy for the stock converter",
    .repairs = true,
    .repairsFrom = Severity::Info,
    .command = convertCommand,
    .threads = "DS#5430, DS#5608, DS#2921, DS#6470, DS#6548",
    .look = look,
};

} // namespace shardscope::diagnosis
