// SPDX-License-Identifier: Apache-2.0
#include "core/base/shell_quote.h"
#include "core/base/text.h"
#include "core/checkpoint/open/open.h"
#include "core/compare/diff/same_degrees.h"
#include "core/compare/diff/state_diff.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

/// The suffix that callers of ds_to_universal and this program append to the converted tag.
constexpr std::string_view kSuffix = "_universal";

std::string sourceTag(const Checkpoint& universal)
{
    return universal.tag.ends_with(kSuffix) ? universal.tag.substr(0, universal.tag.size() - kSuffix.size())
                                            : std::string();
}

/// The tag next to the folder that it was converted from: with that name, complete, and at the same step.
Result<CheckpointPtr> openSource(const CheckContext& context)
{
    const Checkpoint& universal = *context.checkpoint;
    OpenOptions options;
    options.tag = sourceTag(universal);
    if (options.tag.empty()
        || std::none_of(context.run.begin(), context.run.end(),
            [&](const FolderEntry& entry) { return entry.isFolder && entry.name == options.tag; }))
        return CheckpointPtr();
    auto opened = openCheckpoint(context.files, universal.runFolder, options, context.job);
    if (!opened) {
        if (opened.error().code == ErrorCode::Cancelled)
            return forward(std::move(opened).error());
        return CheckpointPtr();
    }
    const Checkpoint& source = *opened->checkpoint;
    const bool usable = !source.modelError && source.complete && hasRankFiles(source.kind)
        && source.steps.globalSteps == universal.steps.globalSteps;
    return usable ? opened->checkpoint : CheckpointPtr();
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.bytes || !context.hasModel() || !isUniversal(context.checkpoint->kind))
        return {};
    SHARDSCOPE_TRY(const CheckpointPtr source, openSource(context));
    if (!source)
        return {};
    const auto both = inSameDegrees(source, context.checkpoint, nullptr);
    if (!both)
        return {}; // the merge of its slices is not recorded
    DiffOptions options;
    options.states = {"fp32"};
    options.workers.jobs = context.jobs;
    SHARDSCOPE_TRY(
        const StateDiff diff, diffStates(context.files, *both->first, *both->second, options, context.job));
    for (const ParamDifference& param : diff.params) {
        for (const StateDifference& state : param.states) {
            if (state.state.left != "fp32" || state.state.right != "fp32")
                continue;
            sink.add(Severity::Error,
                "the masters differ from those of the checkpoint that the folder was converted from",
                ParamAddress{param.param.name, "fp32"},
                {"`" + source->tag + "` next to it is at the same step"});
        }
    }
    return {};
}

std::string convertSource(const CheckContext& context, const Finding& /*finding*/)
{
    const Checkpoint& universal = *context.checkpoint;
    return "convert " + shellQuoted((universal.runFolder / sourceTag(universal)).string())
        + " DST --to universal";
}

} // namespace

/// Compares a universal folder with the tag next to it that has its name.
extern const Diagnosis kUniversalNotSource;
const Diagnosis kUniversalNotSource{
    .code = "universal-not-source",
    .letter = "S19",
    .name = "A universal folder differs from its source",
    .depth = CheckDepth::Bytes,
    .worst = Severity::Error,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads it silently.",
        .resuming = "Training resumes from other masters than those of the step: the loss jumps, or starts "
                    "as for a new model.",
        .exporting = "Weights exported from the folder are not those of the source."},
    .remedy = "convert the source next to it again",
    .command = convertSource,
    .threads = "DS#6691, DS#5475, DS#1111, ACC#3199, MLM#6920",
    .look = look,
};

} // namespace shardscope::diagnosis
