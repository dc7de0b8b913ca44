// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

struct Reading;

/// In front of the name of a file that lies beside the tag folder, in Checkpoint::files and in plans.
inline constexpr std::string_view kBesideTag = "../";

/// Whether a name from Checkpoint::files or a plan is that of a file beside the tag folder.
bool liesBesideTag(std::string_view name);

/// Whether the framework keeps an entry of this name for itself beside the tag folder: all but hidden ones,
/// unfinished ones (.tmp), DeepSpeed's pointer files and its scripts. Where many tags share a run folder
/// (megatron), only the framework's own pointer.
bool isWrapperFile(std::string_view wrapper, std::string_view name);

/// The process whose random states a file beside the tag holds (transformers: rng_state_R.pth, or
/// rng_state.pth for a run of one process; accelerate: random_states_R.pkl). Source: transformers
/// Trainer._save_rng_state, accelerate save_accelerator_state.
std::optional<uint32_t> randomStatesRank(std::string_view wrapper, std::string_view name);
/// The name under which the framework looks for them in a run of `ranks` processes.
std::string randomStatesName(std::string_view wrapper, uint32_t rank, uint32_t ranks);

/// Files that the framework around DeepSpeed keeps beside the tag folder, as `../NAME`, and its counters as
/// evidence.
void readWrapper(const Reading& reading, const std::vector<io::Path>& roots);

} // namespace shardscope
