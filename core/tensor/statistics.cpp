// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/statistics.h"

#include "core/tensor/block_sums.h"
#include "core/tensor/element_io.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope {

namespace {

/// Elements per block. The mean is computed before the deviations, so a block must stay in the first cache.
constexpr size_t kBlock = 2048;

double totalOf(const std::array<double, BlockSums::kParts>& parts)
{
    double sum = 0;
    for (const double part : parts)
        sum += part;
    return sum;
}

bool isFiniteNumber(double value)
{
    return std::abs(value) <= std::numeric_limits<double>::max();
}

/// The finite values of a block, moved together; counts the others.
size_t keepFinite(std::span<double> values, Statistics& out)
{
    size_t kept = 0;
    for (const double value : values) {
        values[kept] = value;
        out.nans += value != value ? 1 : 0;
        kept += isFiniteNumber(value) ? 1 : 0;
    }
    out.infinities = values.size() - kept - out.nans;
    return kept;
}

Statistics ofBlock(std::span<double> block)
{
    Statistics out;
    out.elements = block.size();
    std::span<const double> values = block;
    BlockSums sums = sumBlock(values);
    if (!isFiniteNumber(totalOf(sums.magnitudes))) { // a value is not, or the sum is beyond double
        values = block.first(keepFinite(block, out));
        if (values.empty())
            return out;
        sums = sumBlock(values);
    }
    for (const int64_t part : sums.zeros)
        out.zeros += static_cast<uint64_t>(part);
    out.min = *std::min_element(sums.low.begin(), sums.low.end());
    out.max = *std::max_element(sums.high.begin(), sums.high.end());
    out.squares = totalOf(sums.squares);
    out.magnitudes = totalOf(sums.magnitudes);
    out.mean = totalOf(sums.values) / static_cast<double>(values.size());
    out.squaredDeviations = totalOf(sumSquaredDeviations(values, out.mean));
    return out;
}

} // namespace

double Statistics::std() const
{
    return finite() == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : std::sqrt(squaredDeviations / static_cast<double>(finite()));
}

double Statistics::l2() const
{
    return std::sqrt(squares);
}

Statistics& Statistics::operator+=(const Statistics& further)
{
    const auto mine = static_cast<double>(finite());
    const auto theirs = static_cast<double>(further.finite());
    if (theirs > 0) {
        // Chan, Golub, LeVeque: updating formulae for the variance.
        const double apart = further.mean - mean;
        const double all = mine + theirs;
        squaredDeviations += further.squaredDeviations + apart * apart * (mine * theirs / all);
        mean += apart * (theirs / all);
    }
    elements += further.elements;
    zeros += further.zeros;
    nans += further.nans;
    infinities += further.infinities;
    min = std::min(min, further.min);
    max = std::max(max, further.max);
    squares += further.squares;
    magnitudes += further.magnitudes;
    return *this;
}

bool hasStatistics(DType dtype)
{
    return withElement(dtype, [](auto) {});
}

Statistics plainStatistics(DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram)
{
    Statistics out;
    withElement(dtype, [&](auto element) {
        using Element = decltype(element);
        std::array<double, kBlock> block;
        const size_t count = bytes.size() / Element::kBytes;
        for (size_t begin = 0; begin < count; begin += kBlock) {
            const size_t size = std::min(kBlock, count - begin);
            const uint8_t* at = bytes.data() + begin * Element::kBytes;
            for (size_t i = 0; i < size; ++i)
                block[i] = static_cast<double>(Element::load(at + i * Element::kBytes));
            if (histogram != nullptr)
                histogram->add(std::span<const double>(block).first(size));
            out += ofBlock(std::span(block).first(size));
        }
    });
    return out;
}

} // namespace shardscope
