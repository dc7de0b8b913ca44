// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/doctor/check_context.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// The pickle of one file of a checkpoint. Points into the checkpoint; false where it was not kept.
struct SavedFile {
    const CheckpointFile* file = nullptr;
    const PickleGraph* graph = nullptr;

    explicit operator bool() const { return graph != nullptr; }
    /// Down the mappings by these keys, from the root; kNoNode where one is missing.
    [[nodiscard]] NodeId at(std::initializer_list<std::string_view> way) const;
};
SavedFile savedFile(const Checkpoint& checkpoint, FileId file);
/// Rank 0's model file: counters, configuration, scheduler, module.
SavedFile savedModel(const Checkpoint& checkpoint);
/// Rank 0's optimizer file.
SavedFile savedOptimizer(const Checkpoint& checkpoint);

/// Whether its masters and states lie in ZeRO's optimizer files, cut over ranks: stages 1 to 3 and
/// BF16_Optimizer.
bool hasZeroShards(const Checkpoint& checkpoint);
/// Whether ZeRO's flat buffers hold a state of this name.
bool hasStateNamed(const Checkpoint& checkpoint, std::string_view name);
/// Whether a run of ZenFlow saved it, which steps and schedules more often than the engine counts.
bool isOfZenflow(const Checkpoint& checkpoint);

/// Whether any file has elements of this parameter.
bool isStoredAnywhere(const Checkpoint& checkpoint, ParamId param);

/// By how many steps the optimizer is ahead of what the engine has taken, skipped steps left out; below zero
/// when it is behind. Nothing where either is not recorded.
std::optional<double> stepsAhead(const Checkpoint& checkpoint);
/// Whether this program laid it out: it told then what of the source it could not carry.
bool isLaidOutAnew(const CheckContext& context);

/// "NAME#STATE", or "NAME#STATE[element]".
std::string addressOf(const Checkpoint& checkpoint, ParamId param, std::string_view state);
std::string addressOf(const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t element);

/// Commands of this program for what was asked for.
std::string convertCommand(const CheckContext& context, const Finding& finding);
std::string reshardCommand(const CheckContext& context, const Finding& finding);

} // namespace shardscope
