// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

struct Reading;

/// Prefix for the name of a file next to the tag folder, in Checkpoint::files and in plans.
inline constexpr std::string_view kNextToTag = "../";

/// Whether a name from Checkpoint::files or a plan refers to a file next to the tag folder.
bool isNextToTag(std::string_view name);

/// Whether an entry of this name next to the tag folder belongs to the framework. True for all but hidden
/// ones, unfinished ones (.tmp), DeepSpeed's pointer files and its scripts. If many tags share a run folder
/// (megatron), true only for the framework's own pointer.
bool isWrapperFile(std::string_view wrapper, std::string_view name);

/// The process that saved its random states in a file next to the tag (transformers: rng_state_R.pth, or
/// rng_state.pth for a run of one process; accelerate: random_states_R.pkl). Source: transformers
/// Trainer._save_rng_state, accelerate save_accelerator_state.
std::optional<uint32_t> randomStatesRank(std::string_view wrapper, std::string_view name);
/// The file name that the framework uses for them in a run of `ranks` processes.
std::string randomStatesName(std::string_view wrapper, uint32_t rank, uint32_t ranks);

/// Reads the files that the framework around DeepSpeed keeps next to the tag folder, as `../NAME`. Adds its
/// counters to the evidence.
void readWrapper(const Reading& reading, const std::vector<io::Path>& roots);

} // namespace shardscope
