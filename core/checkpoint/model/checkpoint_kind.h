// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace shardscope {

enum class CheckpointKind {
    Unknown,
    Zero1,
    Zero2,
    Bf16,
    Zero3,
    Fp16,
    Fp16Unfused,
    Torch,
    Universal,
    Swap,
    Weights,
    Dcp
};

/// How a kind of checkpoint stores the training state. Everything that depends only on the kind is in the
/// table below. To add a kind, add a row.
enum class StateForm {
    None, ///< unknown, or without training state
    TorchOptimizer, ///< stage 0: the state of torch's optimizer; the weights are the masters
    FusedOptimizer, ///< stage 0: FP16_Optimizer (runtime/fp16/fused_optimizer.py), flat masters
    UnfusedOptimizer, ///< stage 0: FP16_UnfusedOptimizer (runtime/fp16/unfused_optimizer.py)
    ZeroOptimizer, ///< DeepSpeedZeroOptimizer (runtime/zero/stage_1_and_2.py): flat groups over ranks
    Bf16Optimizer, ///< BF16_Optimizer (runtime/bf16_optimizer.py): flat groups over ranks
    Zero3Optimizer, ///< DeepSpeedZeroOptimizer_Stage3 (runtime/zero/stage3.py): parameters over ranks
    FolderPerParameter, ///< written by checkpoint/ds_to_universal.py
    Distributed, ///< torch.distributed.checkpoint
};

struct KindTraits {
    CheckpointKind kind = CheckpointKind::Unknown;
    std::string_view name = "unknown"; ///< in JSON and on the command line
    std::string_view title = "unknown kind"; ///< in sentences
    StateForm form = StateForm::None;
    std::optional<int> stage = {}; ///< of ZeRO, if the kind determines it
};

inline constexpr std::array kKindTraits{
    KindTraits{CheckpointKind::Unknown, "unknown", "unknown kind", StateForm::None, {}},
    KindTraits{CheckpointKind::Zero1, "zero1", "ZeRO-1", StateForm::ZeroOptimizer, 1},
    KindTraits{CheckpointKind::Zero2, "zero2", "ZeRO-2", StateForm::ZeroOptimizer, 2},
    KindTraits{CheckpointKind::Bf16, "bf16", "BF16_Optimizer", StateForm::Bf16Optimizer, {}},
    KindTraits{CheckpointKind::Zero3, "zero3", "ZeRO-3", StateForm::Zero3Optimizer, 3},
    KindTraits{CheckpointKind::Fp16, "fp16", "fp16", StateForm::FusedOptimizer, 0},
    KindTraits{CheckpointKind::Fp16Unfused, "fp16-unfused", "fp16-unfused", StateForm::UnfusedOptimizer, 0},
    KindTraits{CheckpointKind::Torch, "torch", "torch", StateForm::TorchOptimizer, 0},
    KindTraits{CheckpointKind::Universal, "universal", "universal", StateForm::FolderPerParameter, {}},
    KindTraits{CheckpointKind::Swap, "swap", "swap", StateForm::None, {}},
    KindTraits{CheckpointKind::Weights, "weights", "weights", StateForm::None, {}},
    KindTraits{CheckpointKind::Dcp, "dcp", "dcp", StateForm::Distributed, {}},
};

[[nodiscard]] constexpr const KindTraits& traitsOf(CheckpointKind kind)
{
    return kKindTraits[static_cast<size_t>(kind)];
}
static_assert(
    [] {
        for (size_t i = 0; i < kKindTraits.size(); ++i) {
            if (kKindTraits[i].kind != static_cast<CheckpointKind>(i))
                return false;
        }
        return true;
    }(),
    "rows are in the order of CheckpointKind");

[[nodiscard]] constexpr StateForm formOf(CheckpointKind kind)
{
    return traitsOf(kind).form;
}

/// ZeRO-1 and 2, but not BF16_Optimizer.
[[nodiscard]] constexpr bool isZero12(CheckpointKind kind)
{
    return formOf(kind) == StateForm::ZeroOptimizer;
}
[[nodiscard]] constexpr bool hasBf16Optimizer(CheckpointKind kind)
{
    return formOf(kind) == StateForm::Bf16Optimizer;
}
/// The optimizer's flat groups are partitioned over the ranks, and every rank has all weights: ZeRO-1, 2,
/// BF16_Optimizer.
[[nodiscard]] constexpr bool partitionsGroups(CheckpointKind kind)
{
    return isZero12(kind) || hasBf16Optimizer(kind);
}
/// ZeRO-3: each parameter is partitioned over the ranks, including its weights.
[[nodiscard]] constexpr bool partitionsParameters(CheckpointKind kind)
{
    return formOf(kind) == StateForm::Zero3Optimizer;
}
/// Every data-parallel rank saved its own optimizer file.
[[nodiscard]] constexpr bool hasRankFiles(CheckpointKind kind)
{
    return partitionsGroups(kind) || partitionsParameters(kind);
}
/// The kind that DeepSpeed saves in ZeRO stage 1, 2 or 3, except for BF16_Optimizer.
[[nodiscard]] constexpr CheckpointKind kindOfStage(int stage)
{
    return stage == 3 ? CheckpointKind::Zero3 : stage == 2 ? CheckpointKind::Zero2 : CheckpointKind::Zero1;
}
/// Saved without ZeRO: one model file holds everything, for any number of ranks.
[[nodiscard]] constexpr bool isStage0(CheckpointKind kind)
{
    return traitsOf(kind).stage == 0;
}
/// Stage 0 with torch's own optimizer: the weights are the masters.
[[nodiscard]] constexpr bool hasTorchOptimizer(CheckpointKind kind)
{
    return formOf(kind) == StateForm::TorchOptimizer;
}
/// Stage 0 with flat masters, one tensor per group.
[[nodiscard]] constexpr bool hasFlatMasters(CheckpointKind kind)
{
    return formOf(kind) == StateForm::FusedOptimizer;
}
[[nodiscard]] constexpr bool hasUnfusedOptimizer(CheckpointKind kind)
{
    return formOf(kind) == StateForm::UnfusedOptimizer;
}
/// One folder per parameter, for any number of ranks.
[[nodiscard]] constexpr bool isUniversal(CheckpointKind kind)
{
    return formOf(kind) == StateForm::FolderPerParameter;
}
/// A PyTorch distributed checkpoint.
[[nodiscard]] constexpr bool isDistributed(CheckpointKind kind)
{
    return formOf(kind) == StateForm::Distributed;
}
/// Weights alone, as other tools write them.
[[nodiscard]] constexpr bool isWeights(CheckpointKind kind)
{
    return kind == CheckpointKind::Weights;
}
/// A folder that a run with NVMe offload swaps into.
[[nodiscard]] constexpr bool isSwapKind(CheckpointKind kind)
{
    return kind == CheckpointKind::Swap;
}
[[nodiscard]] constexpr bool isUnknown(CheckpointKind kind)
{
    return kind == CheckpointKind::Unknown;
}
/// Files of other tools, which have no run folder: weights, and PyTorch's distributed checkpoints.
[[nodiscard]] constexpr bool hasNoRunFolder(CheckpointKind kind)
{
    return isWeights(kind) || isDistributed(kind);
}
/// Forms that checkpoints are converted into. Every tensor is in one piece, independent of ranks and stage.
[[nodiscard]] constexpr bool isConverted(CheckpointKind kind)
{
    return isUniversal(kind) || isDistributed(kind);
}
/// "zero1", "zero2", "bf16", "zero3", "fp16", "fp16-unfused", "torch", "universal", "swap", "weights", "dcp",
/// "unknown".
[[nodiscard]] constexpr std::string_view kindName(CheckpointKind kind)
{
    return traitsOf(kind).name;
}
/// The kind of that name, other than "unknown".
[[nodiscard]] constexpr std::optional<CheckpointKind> kindNamed(std::string_view name)
{
    for (const KindTraits& traits : kKindTraits) {
        if (!isUnknown(traits.kind) && traits.name == name)
            return traits.kind;
    }
    return std::nullopt;
}
/// The form of stage 0 of that name: "torch", "fp16" or "fp16-unfused".
[[nodiscard]] constexpr std::optional<CheckpointKind> stage0FormOf(std::string_view name)
{
    for (const KindTraits& traits : kKindTraits) {
        if (traits.stage == 0 && traits.name == name)
            return traits.kind;
    }
    return std::nullopt;
}

} // namespace shardscope
