// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/target/reshard_options.h"

namespace shardscope {

/// Which of the three kinds an engine without ZeRO saves and loads is chosen by precision and optimizer
/// (runtime/engine.py, _do_optimizer_sanity_check and _configure_fp16_optimizer): in fp32 the optimizer as it
/// is; in 16 bits FP16_Optimizer for FusedAdam and FP16_UnfusedOptimizer for all others.

/// The kind for a source, or the one that the options name. Usage when a named one is not of the source's
/// precision or when the optimizer is not known and none is named; Refused when the precision is not known.
Result<CheckpointKind> stage0KindOf(const Checkpoint& source, const ReshardOptions& options);
/// Whether the engine that saved it ran in bf16: optimizer files carry it in their names.
bool ranInBf16(const Checkpoint& source);
/// Whether a model file holds the optimizer: without ZeRO, and next to the shards of BF16_Optimizer in
/// pipeline stages, where stock cannot load it.
bool hasOptimizerInModel(const Checkpoint& source);
/// Whether the param groups of a bare torch optimizer, which records no names, can be distinguished again by
/// the shapes of its states. Refused, because what is written must be readable.
Status requireKnownGroups(const Checkpoint& source);
/// Refused where states of the source cannot be those of a run without ZeRO, or the other way round.
Status requireStage0Facts(const Checkpoint& source, CheckpointKind target);

/// Refuses a source whose optimizer keeps values besides the step and tensors with the elements of
/// parameters: forms with a tensor per parameter have no place for them.
Status requireNoFurtherValues(const Checkpoint& source);
/// What the user of the result should know.
void addStage0Warnings(const Checkpoint& source, CheckpointKind target, std::vector<Finding>& out);

} // namespace shardscope
