// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/checkpoint.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

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

Status look(const CheckContext& context, FindingSink& sink)
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

} // namespace

/// Checkpoints that stock DeepSpeed saves correctly but cannot load; reproduced with 0.19.8.
extern const Diagnosis kCannotLoadOwnSave;
const Diagnosis kCannotLoadOwnSave{
    .code = "cannot-load-own-save",
    .letter = "S23",
    .name = "Stock DeepSpeed cannot load what it saved",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed 0.19.8 stops: with an AssertionError on "
                         "`base_optimizer_state_step`, a ValueError about a parameter group, or a KeyError.",
        .resuming = "Nothing is lost: all of the state is in the files."},
    .remedy = "reshard it to a form that loads, for example without elastic_checkpoint",
    .command = reshardCommand,
    .threads = "reproduced with 0.19.8",
    .look = look,
};

} // namespace shardscope::diagnosis
