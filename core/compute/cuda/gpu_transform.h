// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/compute_backend.h"
#include "core/compute/cuda/gpu_lane.h"

#include <optional>
#include <vector>

namespace shardscope::compute {

/// The kernels' name of a float dtype; nothing for all others.
std::optional<GpuFloat> gpuFloat(DType dtype);

/// Elements that go to the GPU together, what becomes of them there, and the sums that they are part of.
struct GpuUnit {
    /// Words of the unit that belong to one sum.
    struct Part {
        size_t sum = 0; ///< the sum that the result is added to
        uint64_t firstByte = 0; ///< in the unit: of what is made, or of what goes in where nothing is
        uint64_t words = 0;
        uint64_t inSum = 0; ///< words of the sum before it
    };

    std::span<const uint8_t> in;
    std::span<uint8_t> out; ///< empty: nothing is made
    GpuFloat from = GpuFloat::F32;
    GpuFloat to = GpuFloat::F32;
    std::vector<Part> parts;
};

/// Divides casts and sums into units of at most `unitBytes` in and out together. Sums of a cast's output are
/// in the cast's unit. Every cast must be of float dtypes, every sum of items of 1, 2, 4 or 8 bytes; where a
/// sum reads a cast's output, their items have the same size and the sum's first item belongs to the cast.
std::vector<GpuUnit> divideWork(
    std::span<const ElementCast> casts, std::span<const ElementSum> sums, size_t unitBytes);

/// Runs units in batches that fit the lane's memory; digests are added to the sums.
Status runUnits(GpuLane& lane, std::span<const GpuUnit> units, std::span<ElementSum> sums);

} // namespace shardscope::compute
