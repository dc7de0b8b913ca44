// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace shardscope {

/// The max. difference at which two elements count as close: |left − right| <= absolute + relative · |right|,
/// as torch.isclose with equal_nan has it: with a tolerance values are compared, so that NaN is close to NaN
/// whatever its payload, and +0 to −0. Without one (both 0) bits are compared, as a digest does: only equal
/// bits are close.
struct Tolerance {
    double relative = 0;
    double absolute = 0;

    [[nodiscard]] bool isExact() const { return relative == 0 && absolute == 0; }
};

/// What one pass over two tensors of one size finds. Sums are in double, of elements that are finite on both
/// sides; what backends find may differ in them by 1e-12 of their size, in nothing else.
struct Comparison {
    static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

    uint64_t elements = 0;
    /// Other bits, or where the dtypes differ, another value: NaN is NaN's equal there, and +0 is not −0's.
    uint64_t different = 0;
    uint64_t beyond = 0; ///< of the different ones: not close by the tolerance; all of them without one
    uint64_t lastBit
        = 0; ///< of the different ones: neighbours among the values of the narrower dtype, or zeros
    uint64_t notFinite = 0; ///< of the different ones: where a side is NaN or infinite
    uint64_t notFiniteLeft = 0; ///< of those: where the left side is, and maybe the right one, too
    uint64_t notFiniteRight = 0;
    uint64_t firstDifferent = kNone; ///< element
    double maxAbsolute = 0; ///< largest |left − right| of finite ones
    double squaredDifference = 0; ///< Σ (left − right)²
    double squaredLeft = 0;
    double squaredRight = 0;
    double product = 0; ///< Σ left · right

    [[nodiscard]] bool areEqual() const { return different == 0; }
    /// ‖left − right‖ / the larger of ‖left‖ and ‖right‖; 0 where both are 0.
    [[nodiscard]] double relativeL2() const;
    /// Nothing where a side is 0.
    [[nodiscard]] std::optional<double> cosine() const;
    /// Merges the results of the following elements.
    Comparison& operator+=(const Comparison& further);
};

/// Whether two dtypes can be compared value by value: both real (hasStatistics). The same dtype always can,
/// if only by its bits.
[[nodiscard]] bool canCompare(DType left, DType right);

/// Consecutive elements in memory.
struct TypedBytes {
    DType dtype = DType::Unknown;
    std::span<const uint8_t> bytes;

    [[nodiscard]] size_t size() const { return bytes.size() / itemSize(dtype); } ///< elements
    [[nodiscard]] TypedBytes part(size_t begin, size_t count) const
    {
        return {dtype, bytes.subspan(begin * itemSize(dtype), count * itemSize(dtype))};
    }
};

/// Consecutive elements from number `firstElement` on, the same number on both sides. canCompare(left.dtype,
/// right.dtype) must hold.
Comparison plainComparison(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance);

} // namespace shardscope
