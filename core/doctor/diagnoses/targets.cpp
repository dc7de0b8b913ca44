// SPDX-License-Identifier: Apache-2.0
// Diagnoses of targets, other stages and universal folders.
#include "core/base/shell_quote.h"
#include "core/base/text.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/open/open.h"
#include "core/compare/diff/same_degrees.h"
#include "core/compare/diff/state_diff.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/layout/fragments.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <array>

namespace shardscope {

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

Status findUniversalNotSource(const CheckContext& context, FindingSink& sink)
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

/// Compares a universal folder with the tag next to it that has its name.
constexpr Diagnosis kUniversalNotSource{
    .code = "universal-not-source",
    .letter = "S19",
    .name = "A universal folder differs from its source",
    .depth = CheckDepth::Bytes,
    .silent = true,
    .means = {.loading = "Stock DeepSpeed loads it silently.",
        .resuming = "Training resumes from other masters than those of the step: the loss jumps, or starts "
                    "as for a new model.",
        .exporting = "Weights exported from the folder are not those of the source."},
    .remedy = "convert the source next to it again",
    .command = convertSource,
    .threads = "DS#6691, DS#5475, DS#1111, ACC#3199, MLM#6920",
    .look = findUniversalNotSource,
};

constexpr uint64_t kSampleElements = uint64_t{1} << 12;

/// Whether the master equals the 16-bit copy bit for bit, in a sample from the beginning. A trained master
/// has more digits.
Result<bool> isCopy(const CheckContext& context, ParamId param)
{
    const Checkpoint& checkpoint = *context.checkpoint;
    const WholeTensor* weight = checkpoint.wholeOf(param);
    if (weight == nullptr || (weight->dtype != DType::BFloat16 && weight->dtype != DType::Float16))
        return false;
    const uint64_t count = std::min(checkpoint.params[index(param)].elements, kSampleElements);
    std::vector<uint8_t> master(count * itemSize(DType::Float32));
    std::vector<uint8_t> copy(count * itemSize(weight->dtype));
    std::vector<uint8_t> widened(master.size());
    SHARDSCOPE_CHECK(readElements(context.files, checkpoint, {param, "fp32", 0, count}, master));
    SHARDSCOPE_CHECK(readElements(context.files, checkpoint, {param, "weight", 0, count}, copy));
    convertElements(weight->dtype, copy, DType::Float32, widened);
    return master == widened;
}

/// Whether the unit has other states, but this parameter has only the master.
bool hasMasterAlone(const FlatUnit& unit, uint32_t position)
{
    bool master = false;
    for (const UnitState& state : unit.states) {
        const bool there = state.tensorOf(position) != nullptr;
        if (state.name == "fp32" && state.dtype == DType::Float32)
            master = there;
        else if (there)
            return false;
    }
    return master && unit.states.size() > 1;
}

Status findUniversalParameterSkipped(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel() || !isUniversal(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    size_t count = 0;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::Whole)
            continue;
        for (uint32_t i = 0; i < unit.params.size(); ++i) {
            if (unit.partition.paramElements(i) == 0 || !hasMasterAlone(unit, i))
                continue;
            if (++count > FindingSink::kMax)
                return {}; // readers count them all
            SHARDSCOPE_CHECK(context.job.poll());
            SHARDSCOPE_TRY(const bool copied, isCopy(context, unit.params[i]));
            if (copied)
                sink.add(Severity::Error,
                    "the converter skipped this parameter: its master is the 16-bit copy, and it has no "
                    "moments",
                    addressOf(checkpoint, unit.params[i], "fp32"),
                    {"fp32.pt equals the model file's tensor bit for bit",
                        "other parameters of the group have all states"});
        }
    }
    return {};
}

/// Parameters for which ds_to_universal found no fragments and used the model file's copy.
constexpr Diagnosis kUniversalParameterSkipped{
    .code = "universal-parameter-skipped",
    .letter = "S21",
    .name = "The converter skipped parameters",
    .silent = true,
    .means = {.loading = "Stock DeepSpeed stops at steps that are not equal, or loads it silently.",
        .resuming = "The parameter's master is rounded to 16 bits, and its moments start at zero.",
        .exporting = "The weights are correct to 16 bits."},
    .remedy = "convert the source shards again with this program, which accepts any name; without the "
              "shards, fill the moments of these parameters on a copy, marked",
    .repairs = true,
    .threads = "reproduced with 0.19.8",
    .look = findUniversalParameterSkipped,
};

Status findUniversalInfoMissing(const CheckContext& context, FindingSink& sink)
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

/// Stock DeepSpeed's converter asserts that the client stored this key in the model file.
constexpr Diagnosis kUniversalInfoMissing{
    .code = "universal-info-missing",
    .letter = "S2",
    .name = "No `universal_checkpoint_info`",
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
    .look = findUniversalInfoMissing,
};

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

Status findStageMismatch(const CheckContext& context, FindingSink& sink)
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

/// The target has another ZeRO stage, which looks for other files.
constexpr Diagnosis kStageMismatch{
    .code = "stage-mismatch",
    .letter = "S12",
    .name = "Saved with another ZeRO stage",
    .needsTarget = true,
    .means = {.loading = "Stock DeepSpeed does not find the files that it looks for, and stops.",
        .resuming = "Nothing is lost: the state is the same in the files of every stage."},
    .remedy = "reshard it to that stage, or convert it to a universal folder",
    .command = reshardCommand,
    .threads = "DS#6699, ACC#3210, DS#3089, DS#3936, OpenRLHF#891, DS#1748",
    .look = findStageMismatch,
};

Status findWorldSizeMismatch(const CheckContext& context, FindingSink& sink)
{
    if (!context.target.worldSize || !context.hasModel() || !hasRankFiles(context.checkpoint->kind))
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ParallelDegrees& saved = checkpoint.parallel;
    const uint32_t wanted = *context.target.worldSize;
    if (wanted == saved.ranks())
        return {};
    const ModelStates model = modelStates(checkpoint);
    std::string degrees = "saved with dp " + std::to_string(saved.dp);
    if (saved.tp > 1)
        degrees += ", tp " + std::to_string(saved.tp);
    if (saved.pp > 1)
        degrees += ", pp " + std::to_string(saved.pp);
    sink.add(Severity::Error,
        "it was saved by " + std::to_string(saved.ranks()) + " ranks, and the target has "
            + std::to_string(wanted),
        model.file == nullptr ? std::string() : model.file->name, {degrees});
    return {};
}

/// ZeRO shards that were saved with another world size than the target.
constexpr Diagnosis kWorldSizeMismatch{
    .code = "world-size-mismatch",
    .letter = "S1",
    .name = "Saved for another number of ranks",
    .needsTarget = true,
    .means
    = {.loading = "Stock DeepSpeed compares `dp_world_size` with its own number of data-parallel ranks and "
                  "stops with a ZeRORuntimeException. Weights load without masters and moments.",
        .resuming = "With weights only, masters are rounded and moments start at zero.",
        .exporting = "Export does not depend on the number of ranks."},
    .remedy = "reshard it to that number of ranks, or convert it to a universal folder",
    .command = reshardCommand,
    .threads = "DS#2898, DS#3810, DS#6441, MDS#439, DS#3924, DS#7628, THUDM/GLM#136, HF#23152, PL#19585, "
               "ACC#784, DS#8031",
    .look = findWorldSizeMismatch,
};

/// elastic_checkpoint: states in a list without options. The step is in a key that is only written for
/// optimizers with a `step` in their first param group. torch's optimizers have none (stage_1_and_2.py,
/// _restore_step_from_elastic_checkpoint).
bool isElasticWithoutStep(const Checkpoint& checkpoint, const OptimStates& optimizer)
{
    return isZero12(checkpoint.kind) && optimizer.graph->kind(optimizer.baseState) == NodeKind::List
        && optimizer.baseStep == kNoNode;
}

/// torch's optimizer then refuses its own param groups (ValueError).
bool isZero3Adagrad(const Checkpoint& checkpoint)
{
    return partitionsParameters(checkpoint.kind) && hasStateNamed(checkpoint, "sum");
}

/// Its loader takes the part of the first data-parallel rank, which is in the model file, for a list of parts
/// (runtime/bf16_optimizer.py, _load_legacy_checkpoint).
bool isBf16PipelineWithoutZero(const Checkpoint& checkpoint)
{
    const ModelStates model = modelStates(checkpoint);
    return hasBf16Optimizer(checkpoint.kind) && model && isMapping(*model.graph, model.optimizer);
}

Status findCannotLoadOwnSave(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const OptimStates optimizer = optimStates(checkpoint);
    if (!optimizer)
        return {};
    if (isElasticWithoutStep(checkpoint, optimizer))
        sink.add(Severity::Info,
            "its states have the form of elastic_checkpoint, without the step that stock DeepSpeed since "
            "0.11 looks for: it cannot load them again",
            optimizer.file->name, {"`base_optimizer_state` is a list, without `base_optimizer_state_step`"});
    if (isZero3Adagrad(checkpoint))
        sink.add(Severity::Info,
            "stock DeepSpeed saves ZeRO-3 with torch's Adagrad and cannot load it again: the param groups do "
            "not match",
            optimizer.file->name, {"the optimizer's state is `sum`"});
    if (isBf16PipelineWithoutZero(checkpoint))
        sink.add(Severity::Info,
            "stock DeepSpeed saves bf16 pipelines without ZeRO and cannot load them again",
            optimizer.file->name,
            {std::to_string(checkpoint.parallel.pp) + " pipeline stages, stage 0, bf16"});
    return {};
}

/// Checkpoints that stock DeepSpeed saves correctly but cannot load; reproduced with 0.19.8.
constexpr Diagnosis kCannotLoadOwnSave{
    .code = "cannot-load-own-save",
    .letter = "S23",
    .name = "Stock DeepSpeed cannot load what it saved",
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed 0.19.8 stops: with an AssertionError on "
                         "`base_optimizer_state_step`, a ValueError about a parameter group, or a KeyError.",
        .resuming = "Nothing is lost: all of the state is in the files."},
    .remedy = "reshard it to a form that loads, for example without elastic_checkpoint",
    .command = reshardCommand,
    .threads = "reproduced with 0.19.8",
    .look = findCannotLoadOwnSave,
};

constexpr std::array kDiagnoses{
    kUniversalNotSource,
    kUniversalParameterSkipped,
    kUniversalInfoMissing,
    kStageMismatch,
    kWorldSizeMismatch,
    kCannotLoadOwnSave,

};

} // namespace

std::span<const Diagnosis> targetsDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
