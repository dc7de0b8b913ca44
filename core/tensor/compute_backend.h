// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/comparison.h"
#include "core/tensor/statistics.h"

namespace shardscope {

/// Arithmetic over elements in memory. What one backend can do, all can, with the same bits but for the sums
/// that statistics.h and comparison.h name. Thread-safe.
class ComputeBackend
{
public:
    virtual ~ComputeBackend() = default;
    /// As plainStatistics().
    virtual Statistics statistics(
        DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const = 0;
    /// As plainComparison().
    virtual Comparison comparison(DType left, std::span<const uint8_t> leftBytes, DType right,
        std::span<const uint8_t> rightBytes, uint64_t firstElement, const Tolerance& tolerance) const = 0;
};

/// The backend that needs no library: the functions of this folder.
const ComputeBackend& plainBackend();

} // namespace shardscope
