// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/checkpoint.h"

namespace shardscope {

/// Saved without ZeRO: one model file holds everything, whatever the number of ranks.
constexpr bool isStage0(CheckpointKind kind)
{
    return kind == CheckpointKind::Torch || kind == CheckpointKind::Fp16
        || kind == CheckpointKind::Fp16Unfused;
}

/// By name: "torch", "fp16" or "fp16-unfused".
inline std::optional<CheckpointKind> stage0FormOf(std::string_view name)
{
    for (const CheckpointKind kind :
        {CheckpointKind::Torch, CheckpointKind::Fp16, CheckpointKind::Fp16Unfused}) {
        if (name == kindName(kind))
            return kind;
    }
    return std::nullopt;
}

} // namespace shardscope
