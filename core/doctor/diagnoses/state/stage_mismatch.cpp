// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

/// Stages that can read each other's files: none, 1 and 2, 3.
enum class Family { None, Flat, Sliced };

Family familyOf(int stage)
{
    return stage == 0 ? Family::None : stage == 3 ? Family::Sliced : Family::Flat;
}

std::optional<Family> familyOf(const Checkpoint& checkpoint)
{
    if (partitionsGroups(checkpoint.kind))
        return Family::Flat;
    if (partitionsParameters(checkpoint.kind))
        return Family::Sliced;
    if (isStage0(checkpoint.kind))
        return Family::None;
    return std::nullopt; // universal folders are for every stage, all other kinds for none
}

const char* whatIsMissing(Family saved, Family wanted)
{
    if (wanted == Family::None)
        return "an engine without ZeRO looks for the optimizer's state in the model file, where ZeRO leaves "
               "none";
    if (saved == Family::None)
        return "an engine with ZeRO looks for a file of optimizer states per rank, and this checkpoint has "
               "none";
    if (wanted == Family::Sliced)
        return "ZeRO-3 looks for a model file per rank (zero_pp_rank_*_model_states.pt), and this checkpoint "
               "has one for all";
    return "ZeRO-1 and 2 look for mp_rank_00_model_states.pt, and ZeRO-3 has a model file per rank";
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.target.stage || !context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const auto saved = familyOf(checkpoint);
    const Family wanted = familyOf(*context.target.stage);
    // BF16_Optimizer also runs with stage 0.
    const bool plainBf16 = hasBf16Optimizer(checkpoint.kind) && wanted == Family::None;
    if (!saved || *saved == wanted || plainBf16)
        return {};
    const ModelStates model = modelStates(checkpoint);
    sink.add(Severity::Error,
        "it was saved with ZeRO stage " + std::to_string(checkpoint.zeroStage) + ", and the target has stage "
            + std::to_string(*context.target.stage),
        model.file == nullptr ? std::string() : model.file->name, {whatIsMissing(*saved, wanted)});
    return {};
}

} // namespace

/// The target has another ZeRO stage, which looks for other files.
extern const Diagnosis kStageMismatch;
const Diagnosis kStageMismatch{
    .code = "stage-mismatch",
    .letter = "S12",
    .name = "Saved with another ZeRO stage",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .needsTarget = true,
    .means = {.loading = "Stock DeepSpeed does not find the files that it looks for, and stops.",
        .resuming = "Nothing is lost: the state is the same in the files of every stage."},
    .remedy = "reshard it to that stage, or convert it to a universal folder",
    .command = reshardCommand,
    .threads = "DS#6699, ACC#3210, DS#3089, DS#3936, OpenRLHF#891, DS#1748",
    .look = look,
};

} // namespace shardscope::diagnosis
