// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

inline constexpr std::string_view kAdapterConfigName = "adapter_config.json";

/// What an adapter_config.json of PEFT says, as far as it decides which tensors belong to the adapter.
struct AdapterConfig {
    CheckpointFile file; ///< path and identity
    std::string biases = "none"; ///< "none", "all", "lora_only"
    bool targetsAreListed = false; ///< `target_modules` is a list
    std::vector<std::string> targets;
    std::vector<uint64_t> ranks; ///< `r` and those of `rank_pattern`
};

/// The configuration that lies beside a checkpoint: in the run folder, which is also a Trainer's
/// `checkpoint-N`, in its folder of the adapter's name, or in the tag folder. Nothing where there is none;
/// Damaged where it is none of PEFT's; Unsupported, by name, for methods that are not LoRA.
Result<std::optional<AdapterConfig>> findAdapterConfig(
    io::FileSystem& files, const Checkpoint& source, const std::string& adapter);

/// What names and shapes of an adapter's tensors tell of its configuration.
struct AdapterFacts {
    std::map<std::string, uint64_t> ranks; ///< by module, without kPeftPrefix
    std::vector<std::string> targets; ///< what stands for all of these modules in `target_modules`
    std::vector<std::string> savedModules;
    std::string biases = "none";
    bool dora = false;
    bool loraBias = false;
};

/// A configuration of these facts and of `options` (KEY=VALUE, the value as JSON or as plain text). Refused,
/// asking for it by name, without `lora_alpha`, which nothing in a checkpoint tells; Usage for options that
/// are none or that the tensors decide.
Result<std::string> adapterConfigText(const AdapterFacts& facts, const std::vector<std::string>& options);

} // namespace shardscope
