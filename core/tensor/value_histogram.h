// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shardscope {

/// Counts of values by the upper 16 bits of their float32 form (sign, exponent, 7 bits of mantissa: what
/// bfloat16 keeps), so that one pass serves histograms over any range, by value or by exponent, without
/// knowing the range first: 65,536 bins, each 1/128 of an octave wide. Exact for bfloat16 values. Values
/// beyond float32's range count as infinite.
class ValueHistogram
{
public:
    void add(std::span<const double> values);
    /// Counts `times` more values with these upper bits.
    void add(uint32_t upperBits, uint64_t times);
    /// The bins that are not empty, ascending by upper bits: what add() takes.
    [[nodiscard]] std::vector<std::pair<uint32_t, uint64_t>> counts() const;
    ValueHistogram& operator+=(const ValueHistogram& further);

    /// Bars of the finite values between `low` and `high`, as nearly of equal width as the bins allow: edges
    /// are on borders of bins, the first and last are `low` and `high` themselves. Fewer than `atMost` where
    /// the range is a small part of an octave; none where it is empty.
    struct Bars {
        std::vector<double> edges; ///< ascending, one more than counts
        std::vector<uint64_t> counts;
    };
    [[nodiscard]] Bars bars(double low, double high, uint32_t atMost) const;

    /// Counts by the exponent of two, of both signs.
    struct Octave {
        int exponent = 0; ///< magnitudes from 2^exponent up to, not with, 2^(exponent + 1); -127: all below
        uint64_t count = 0;
    };
    /// Ascending, those that are not empty.
    [[nodiscard]] std::vector<Octave> octaves() const;

private:
    /// The bins of one sign from the first to the last that is not empty, but for bin 0, which zeros fill.
    struct Half {
        uint64_t zero = 0;
        uint32_t first = 0; ///< of `counts`
        std::vector<uint64_t> counts;
        uint64_t& grownTo(uint32_t bin);
        [[nodiscard]] uint64_t at(uint32_t bin) const;
    };
    [[nodiscard]] uint64_t at(uint32_t upperBits) const;

    std::array<Half, 2> m_halves; ///< not negative, negative
};

} // namespace shardscope
