// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/gpu_lane.h"
#include "core/tensor/comparison.h"
#include "core/tensor/statistics.h"

namespace shardscope::compute {

/// As plainStatistics() and plainComparison(), by parts that fit the lane's memory. `bytes`: whole elements.
Result<Statistics> gpuStatistics(
    GpuLane& lane, GpuFloat type, std::span<const uint8_t> bytes, ValueHistogram* histogram);
/// Both sides of one length.
Result<Comparison> gpuComparison(GpuLane& lane, const TypedBytes& left, const TypedBytes& right,
    uint64_t firstElement, const Tolerance& tolerance);

} // namespace shardscope::compute
