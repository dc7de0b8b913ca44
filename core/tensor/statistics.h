// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/value_histogram.h"

#include <cstdint>
#include <limits>
#include <span>

namespace shardscope {

/// What one pass over the elements of a tensor finds. Sums are of the finite elements, in double; what
/// backends find may differ in them by 1e-12 of their size, in nothing else.
struct Statistics {
    uint64_t elements = 0;
    uint64_t zeros = 0; ///< of either sign
    uint64_t nans = 0;
    uint64_t infinities = 0;
    /// Of the finite elements; +inf and -inf where there are none.
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    double mean = 0;
    double squaredDeviations = 0; ///< Σ (x − mean)²
    double squares = 0; ///< Σ x²
    double magnitudes = 0; ///< Σ |x|

    [[nodiscard]] uint64_t finite() const { return elements - nans - infinities; }
    [[nodiscard]] double std() const; ///< of the population: divided by n; NaN where nothing is finite
    [[nodiscard]] double l2() const;
    /// Merges the results of further elements. The last digits of the sums depend on the order of merging.
    Statistics& operator+=(const Statistics& further);
};

/// Whether statistics are known for it: real numbers. Not complex ones, and not the rarer float8 forms.
[[nodiscard]] bool hasStatistics(DType dtype);

/// `bytes` holds whole elements; hasStatistics(dtype) must hold. Values are counted into `histogram` unless
/// it is null.
Statistics plainStatistics(DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram);

} // namespace shardscope
