// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/compute/torch: a module that core/compute loads at run time and that does its arithmetic with
// LibTorch. Start with TorchBackend in torch_backend.cpp, which calls these functions.

#include "core/compute/compute_backend.h"

/// What LibTorch computes on the CPU. All of these have the parameters and results of the plain functions of
/// core/tensor, and throw c10::Error where LibTorch does.
namespace shardscope::compute {

[[nodiscard]] bool torchHasStatistics(DType dtype);
Statistics torchStatistics(DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram);

[[nodiscard]] bool torchCanCompare(DType left, DType right);
Comparison torchComparison(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance);

[[nodiscard]] bool torchCanConvert(DType from, DType to);
void torchConvert(const ElementCast& cast);

} // namespace shardscope::compute
