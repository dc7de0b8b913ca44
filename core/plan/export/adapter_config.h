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

/// The settings of PEFT's adapter_config.json that decide which tensors belong to the adapter.
struct AdapterConfig {
    CheckpointFile file; ///< path and identity
    std::string biases = "none"; ///< "none", "all", "lora_only"
    bool targetsAreListed = false; ///< `target_modules` is a list
    std::vector<std::string> targets;
    std::vector<uint64_t> ranks; ///< `r` and those of `rank_pattern`
};

/// Finds the configuration next to a checkpoint: in the run folder, which is also a Trainer's `checkpoint-N`,
/// in its folder of the adapter's name, or in the tag folder. Nothing if there is none. Damaged if it is not
/// one of PEFT's. Unsupported, by name, for methods other than LoRA.
Result<std::optional<AdapterConfig>> findAdapterConfig(
    io::FileSystem& files, const Checkpoint& source, const std::string& adapter);

/// The parts of an adapter's configuration that the names and shapes of its tensors determine.
struct AdapterFacts {
    std::map<std::string, uint64_t> ranks; ///< by module, without kPeftPrefix
    std::vector<std::string> targets; ///< the entries of `target_modules` that match all of these modules
    std::vector<std::string> savedModules;
    std::string biases = "none";
    bool dora = false;
    bool loraBias = false;
};

/// A configuration with these facts and with `options` (KEY=VALUE, the value as JSON or as plain text).
/// Refused without `lora_alpha`, which a checkpoint does not record. Usage for invalid options, and for
/// options that the tensors determine.
Result<std::string> adapterConfigText(const AdapterFacts& facts, const std::vector<std::string>& options);

} // namespace shardscope
