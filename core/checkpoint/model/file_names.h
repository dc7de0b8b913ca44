// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// The parts of a file name in a tag folder. Source: runtime/engine.py, _get_ckpt_name,
/// _get_zero_ckpt_prefix, _get_expert_ckpt_name and their older spellings.
struct CheckpointFileName {
    FileRole role = FileRole::Other;
    uint32_t dp = 0; ///< partition rank: the number after zero_pp_rank_
    uint32_t mp = 0; ///< combined model-parallel rank: the number after mp_rank_
    std::optional<uint32_t> layer; ///< a pipeline's layer file: its layer; an expert's file: the MoE layer
    std::optional<uint32_t> tp; ///< of a layer file with a model axis
    std::optional<uint32_t> expert; ///< global number of an expert's file
    bool zero3Model = false; ///< zero_pp_rank_D_mp_rank_MM_model_states.pt
    bool bf16Prefix = false; ///< bf16_zero_… : the engine ran in bf16
    bool oldSpelling = false; ///< no underscore before optim_states, before 0.3.14
    bool fastWriterPart = false; ///< NAME-w.n : one of n byte parts of the fast writer
};

/// The manifest that Shardscope puts into the tag folders it writes.
inline constexpr const char* kManifestName = "shardscope.json";

/// Nothing if DeepSpeed gives no such name to a state file.
std::optional<CheckpointFileName> parseCheckpointFileName(std::string_view name);

/// The names that DeepSpeed gives. Only optimizer files use the precision prefix.
std::string modelFileName(uint32_t mp);
std::string zero3ModelFileName(uint32_t dp, uint32_t mp);
std::string optimFileName(uint32_t dp, uint32_t mp, bool bf16Prefix);

/// Orders tags by the last number in their name, then by name: "global_step90" before "global_step100".
bool tagLess(std::string_view a, std::string_view b);

/// In the tag folder of a universal checkpoint (checkpoint/ds_to_universal.py).
inline constexpr std::string_view kUniversalFolder = "zero";
inline constexpr std::string_view kUniversalOptimizer = "zero/optimizer_state.pt";

} // namespace shardscope
