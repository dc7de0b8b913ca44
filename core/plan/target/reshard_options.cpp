// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/reshard_options.h"

#include "core/base/text.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/model/model_states.h"
#include "core/plan/target/expert_degree.h"
#include "core/plan/target/stage0_form.h"
#include "core/plan/target/universal_names.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint32_t kMaxRanks = 65536;
constexpr std::string_view kUniversalSuffix = "_universal";

bool isPlainTag(const std::string& tag)
{
    return !tag.empty() && tag.front() != '.' && tag.find('/') == std::string::npos
        && tag.find('\0') == std::string::npos && tag.size() <= 200;
}

} // namespace

ModelStates readableModel(const Checkpoint& source)
{
    return source.isReadable(source.templateModel) ? modelStates(source) : ModelStates{};
}

Status checkOptions(const Checkpoint& source, const ReshardOptions& options)
{
    const bool universal = options.form == TargetForm::Universal;
    if (!universal && (options.worldSize == 0 || options.worldSize > kMaxRanks))
        return fail(
            ErrorCode::Usage, "the target world size must be between 1 and " + std::to_string(kMaxRanks));
    if (universal && (options.worldSize != 0 || options.stage || options.subGroupSize || options.stage0Form))
        return fail(ErrorCode::Usage,
            "a universal checkpoint has no world size, stage or sub-groups: any run loads it");
    if (options.stage && (*options.stage < 0 || *options.stage > 3))
        return fail(ErrorCode::Usage, "the ZeRO stage must be 0, 1, 2 or 3");
    if (options.ep && *options.ep == 0)
        return fail(ErrorCode::Usage, "the expert-parallel degree must be at least 1");
    if (options.subGroupSize && *options.subGroupSize == 0)
        return fail(ErrorCode::Usage, "the sub-group size must be at least 1 element");
    if (!options.tagOut.empty() && !isPlainTag(options.tagOut))
        return fail(ErrorCode::Usage, "a tag is a plain folder name that does not begin with a dot");
    if (!options.tagOut.empty() && source.wrapper == "transformers"
        && !options.tagOut.starts_with("global_step"))
        return fail(ErrorCode::Usage, "transformers finds only tags that begin with global_step", {},
            "choose a name such as global_step" + std::to_string(source.steps.globalSteps.value_or(0)));
    const bool fixedTag = source.wrapper == "accelerate" || source.wrapper == "lightning";
    if (!options.tagOut.empty() && fixedTag && options.tagOut != source.tag)
        return fail(ErrorCode::Usage, source.wrapper + " finds only the tag `" + source.tag + "`", {},
            Hint::omit("--tag-out"));
    return {};
}

Result<CheckpointKind> targetKindOf(const Checkpoint& source, const ReshardOptions& options)
{
    if (options.form == TargetForm::Universal)
        return CheckpointKind::Universal;
    if (!options.stage && isConverted(source.kind) && source.zeroStage == 0)
        return fail(ErrorCode::Usage,
            std::string(isUniversal(source.kind) ? "the universal" : "the distributed")
                + " checkpoint does not record the ZeRO stage of its source",
            source.tagFolder.string(), "name the stage of the new run with --stage 0, 1, 2 or 3");
    const int stage = options.stage.value_or(source.zeroStage);
    const bool sameStage = !isConverted(source.kind) && stage == source.zeroStage;
    CheckpointKind kind = source.kind;
    if (!sameStage)
        kind = kindOfStage(stage);
    if (stage == 0) {
        SHARDSCOPE_TRY(kind, stage0KindOf(source, options));
    } else if (options.stage0Form) {
        return fail(ErrorCode::Usage,
            "a form of stage 0 is named, but the target has stage " + std::to_string(stage));
    }
    if (!partitionsParameters(kind) && options.subGroupSize)
        return fail(ErrorCode::Usage,
            "sub-groups exist under ZeRO-3 only; the target is " + std::string(kindName(kind)));
    return kind;
}

bool mergesParts(const Checkpoint& source, const ReshardOptions& options)
{
    const bool universal = options.form == TargetForm::Universal;
    return (source.parallel.tp > 1 && (universal || options.tp == 1u))
        || (source.parallel.pp > 1 && (universal || options.pp == 1u));
}

namespace {

/// In fp32 without ZeRO the weights of a tied module are in one file for all stages that use it.
Status requireOwnWeights(const Checkpoint& source)
{
    if (!hasTorchOptimizer(source.kind) || source.parts.empty())
        return {};
    for (const Parameter& param : source.params) {
        if (isInferredTiedKey(tiedKeyOf(param.name)))
            return fail(ErrorCode::Unsupported,
                "this build does not give ZeRO stage 1 to an fp32 run without ZeRO whose pipeline stages "
                "share `"
                    + toValidUtf8(param.name) + "`",
                source.tagFolder.string(), Hint::omit("--stage") + ", or give --pp 1");
    }
    return {};
}

} // namespace

namespace {

bool mayHaveExperts(const Checkpoint& source)
{
    return source.parallel.ep > 1 || hasExperts(source);
}

Status checkExperts(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options)
{
    if (options.ep && *options.ep != source.parallel.ep && !mayHaveExperts(source))
        return fail(ErrorCode::Unsupported, "the checkpoint has no experts to distribute to ranks",
            source.tagFolder.string(), Hint::omit("--ep"));
    if (options.ep && *options.ep != source.parallel.ep && source.parallel.tp * source.parallel.pp > 1)
        return fail(ErrorCode::Unsupported,
            "this build does not repartition experts together with tensor slices or pipeline stages",
            source.tagFolder.string(), Hint::omit("--ep"));
    if (!FusedExperts::of(source).isEmpty()) {
        if (options.ep && *options.ep != source.parallel.ep && partitionsParameters(source.kind))
            return fail(ErrorCode::Unsupported,
                "under ZeRO-3 ranks partition all experts of AutoEP that a rank has as one tensor, which "
                "this build does not split differently",
                source.tagFolder.string(), Hint::omit("--ep"));
        const bool folded = FusedExperts::of(source).slices() > 1;
        if (isUniversal(target))
            return fail(ErrorCode::Unsupported,
                "this build does not write the universal form of AutoEP's experts", source.tagFolder.string(),
                folded ? "`reshard` rewrites them for another number of ranks; if they are folded over "
                         "tensor slices, DeepSpeed's ds_to_universal.py also refuses them"
                       : "DeepSpeed's ds_to_universal.py does; `reshard` rewrites them for another number of "
                         "ranks");
        if (source.merged)
            return fail(ErrorCode::Unsupported,
                "this build does not merge tensor slices over which AutoEP's experts are folded: the merge "
                "would change which rank has which experts",
                source.tagFolder.string(), Hint::omit("--tp"));
    }
    return {};
}

/// What can be merged or split was, before this is called.
Status checkDegrees(const Checkpoint& source, const ReshardOptions& options)
{
    const ParallelDegrees& degrees = source.parallel;
    if (options.tp && *options.tp != degrees.tp)
        return fail(ErrorCode::Unsupported,
            "this build does not make " + std::to_string(*options.tp) + " tensor slices of it",
            source.tagFolder.string(), Hint::omit("--tp") + ", or give 1");
    if (options.pp && *options.pp != degrees.pp)
        return fail(ErrorCode::Unsupported,
            "this build does not make " + std::to_string(*options.pp) + " pipeline stages of it",
            source.tagFolder.string(), Hint::omit("--pp") + ", or give 1");
    return {};
}

Status checkStages(const Checkpoint& source, CheckpointKind target)
{
    const bool pipeline = std::any_of(source.files.begin(), source.files.end(),
        [](const CheckpointFile& file) { return file.role == FileRole::LayerStates; });
    const bool experts = mayHaveExperts(source);
    const bool sameStage = isConverted(source.kind) && source.zeroStage == 1 && traitsOf(target).stage == 1;
    const bool changes = target != source.kind && !sameStage;
    const bool split = !source.parts.empty() && source.parts.front()->merged;
    if (isStage0(target) && pipeline && (changes || split || source.merged))
        return fail(ErrorCode::Unsupported,
            "this build does not write pipeline stages without ZeRO but for the stages and the form that the "
            "source has",
            source.tagFolder.string(), changes ? Hint::omit("--stage") : "give --stage 1, or omit --pp");
    if (isUniversal(target) && experts)
        return fail(ErrorCode::Unsupported,
            "stock DeepSpeed has no universal form of its native experts: its engine looks every rank's up "
            "by their number on that rank, so that all ranks would load those of the first",
            source.tagFolder.string(),
            "`reshard --ep` rewrites them for another number of ranks and of expert-parallel ranks");
    const bool partitions = pipeline && !experts && isStage0(source.kind) && traitsOf(target).stage == 1;
    if (partitions && split && hasTorchOptimizer(source.kind))
        return fail(ErrorCode::Unsupported,
            "this build does not repartition the layers of an fp32 run without ZeRO to other pipeline stages",
            source.tagFolder.string(), "give --pp 1, or omit --pp");
    if (partitions)
        SHARDSCOPE_CHECK(requireOwnWeights(source));
    if (changes && !partitions && !isUniversal(target) && (pipeline || experts))
        return fail(ErrorCode::Unsupported,
            std::string("a checkpoint with ") + (pipeline ? "pipeline stages" : "experts")
                + " keeps its ZeRO stage",
            source.tagFolder.string(), Hint::omit("--stage"));
    return {};
}

} // namespace

Status checkParallel(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options)
{
    SHARDSCOPE_CHECK(checkExperts(source, target, options));
    SHARDSCOPE_CHECK(checkDegrees(source, options));
    SHARDSCOPE_CHECK(checkStages(source, target));
    const ParallelDegrees& degrees = source.parallel;
    const uint32_t modelRanks = degrees.tp * degrees.pp;
    if (isUniversal(target) || options.worldSize % modelRanks == 0)
        return {};
    const uint32_t below = options.worldSize / modelRanks * modelRanks;
    return fail(ErrorCode::Usage,
        std::to_string(options.worldSize) + " ranks do not divide by the " + std::to_string(modelRanks)
            + " model-parallel ranks of the checkpoint (tp " + std::to_string(degrees.tp) + ", pp "
            + std::to_string(degrees.pp) + ")",
        source.tagFolder.string(),
        "choose " + (below > 0 ? std::to_string(below) + " or " : std::string())
            + std::to_string(below + modelRanks));
}

Result<uint64_t> chooseSubGroupSize(
    const Checkpoint& source, CheckpointKind target, const ReshardOptions& options)
{
    if (!partitionsParameters(target))
        return 0;
    if (options.subGroupSize)
        return *options.subGroupSize;
    if (source.subGroupSize)
        return *source.subGroupSize;
    if (!partitionsParameters(source.kind))
        return readableModel(source).subGroupSize().value_or(kDefaultSubGroupSize);
    return fail(ErrorCode::Refused, "the source does not record its sub_group_size",
        source.tagFolder.string(), "name with --sub-group-size the size that the resumed run uses");
}

bool targetRoundRobin(const Checkpoint& source, CheckpointKind target)
{
    if (!isZero12(target))
        return false;
    if (isZero12(source.kind))
        return source.roundRobin;
    return readableModel(source).configFlag({"zero_optimization", "round_robin_gradients"});
}

std::string targetTag(const Checkpoint& source, const ReshardOptions& options)
{
    std::string tag = options.tagOut.empty() ? source.tag : options.tagOut;
    if (tag.empty()) // a distributed checkpoint has none: as DeepSpeed calls it by itself
        tag = "global_step" + std::to_string(source.steps.globalSteps.value_or(0));
    const bool has = tag.ends_with(kUniversalSuffix) && tag.size() > kUniversalSuffix.size();
    if (options.form == TargetForm::Universal)
        return has ? tag : tag + std::string(kUniversalSuffix);
    if (has && options.tagOut.empty() && isUniversal(source.kind))
        tag.resize(tag.size() - kUniversalSuffix.size());
    return tag;
}

namespace {

/// A run looks a tied module up by its key.
Status checkTiedKey(const Checkpoint& source, const std::string& name)
{
    if (isInferredTiedKey(tiedKeyOf(name)))
        return fail(ErrorCode::Unsupported,
            "no file of a run without ZeRO records the key of the tied module that has `"
                + toValidUtf8(std::string(insideTied(name))) + "` of " + std::string(tiedKeyOf(name))
                + ", and a universal checkpoint keeps it under that key",
            source.tagFolder.string(), "reshard it to another number of ranks instead");
    return checkUniversalName(name);
}

} // namespace

Status requireModelFacts(const Checkpoint& source, CheckpointKind target)
{
    const auto refuse = [&](const std::string& what, const std::string& hint = {}) {
        return fail(ErrorCode::Refused, what, source.tagFolder.string(), hint);
    };
    for (const ParamGroup& group : source.groups) {
        if (group.options == kNoNode)
            return refuse("the options of param group " + std::to_string(group.index)
                + " (learning rate and the like) are not in the source, but a run that loads the result "
                  "reads them from it");
    }
    if (source.groups.empty())
        return refuse("the source records no param groups");
    if (source.deepspeedVersion.empty() && (isConverted(source.kind) || isStage0(source.kind)))
        return refuse("the source does not record its DeepSpeed version, and stock DeepSpeed requires one");
    if (!isUniversal(target))
        return {};
    for (const FlatUnit& unit : source.units) {
        for (size_t i = 0; unit.kind != UnitKind::Frozen && i < unit.params.size(); ++i)
            SHARDSCOPE_CHECK(checkTiedKey(source, source.params[index(unit.params[i])].name));
    }
    return {};
}

} // namespace shardscope
