// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/reshard.h"

#include <initializer_list>
#include <string_view>

namespace shardscope {

/// What the options mean for a source, and whether they can be met. All are pure.

/// A value of the source's ds_config by path, in the graph of its model file; kNoNode when it is not there.
NodeId configNode(const Checkpoint& source, std::initializer_list<std::string_view> path);
/// Usage for values that are no world size, stage, tag or sub-group size.
Status checkOptions(const Checkpoint& source, const ReshardOptions& options);
/// The kind of the target. A source's own stage keeps its own kind (BF16_Optimizer stays); a universal
/// source's is the one it was made from. Usage when it does not tell and none is named. Of stage 0: see
/// stage0KindOf().
Result<CheckpointKind> targetKindOf(const Checkpoint& source, const ReshardOptions& options);
/// Whether slices or stages are joined before the target is laid out.
bool joinsParts(const Checkpoint& source, const ReshardOptions& options);
/// Whether the target keeps what tensor, pipeline and expert parallel ranks need: Usage where the ranks do
/// not divide, Unsupported for forms that would have to join or split them.
Status checkParallel(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options);
/// For ZeRO-3 targets: as asked, as the source was cut, as its ds_config says, or DeepSpeed's default; else
/// 0. Refused when a ZeRO-3 source does not tell.
Result<uint64_t> chooseSubGroupSize(
    const Checkpoint& source, CheckpointKind target, const ReshardOptions& options);
/// Whether the target's groups stand in round-robin order: as in the source where it has one, else as its
/// configuration asks of stages 1 and 2.
bool targetRoundRobin(const Checkpoint& source, CheckpointKind target);
/// The tag's folder name: universal ones end in "_universal", native ones do not.
std::string targetTag(const Checkpoint& source, const ReshardOptions& options);
/// Whether the source tells all that files made anew need: options of every group, a version, names that a
/// universal folder can have. Refused, naming what is missing.
Status requireModelFacts(const Checkpoint& source, CheckpointKind target);

} // namespace shardscope
