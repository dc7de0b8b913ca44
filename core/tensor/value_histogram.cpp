// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/value_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardscope {

namespace {

constexpr uint32_t kSign = 0x8000;
constexpr uint32_t kInfinity = 0x7F80; // and above it NaN

/// Upper bits as numbers that ascend with the values: negative ones turned over.
uint32_t orderedOf(uint32_t upper)
{
    return (upper & kSign) != 0 ? kSign - 1 - (upper & ~kSign) : upper + kSign;
}

uint32_t upperOf(uint32_t ordered)
{
    return ordered < kSign ? (kSign - 1 - ordered) | kSign : ordered - kSign;
}

uint32_t upperBits(double value)
{
    return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
}

bool isFinite(uint32_t upper)
{
    return (upper & ~kSign) < kInfinity;
}

/// The min. value of a bin. A negative bin begins at the next larger magnitude, which is not part of it.
double lowerEdge(uint32_t ordered)
{
    const uint32_t upper = upperOf(ordered);
    if ((upper & kSign) == 0)
        return std::bit_cast<float>(upper << 16);
    const uint32_t above = (upper & ~kSign) + 1;
    return above >= kInfinity ? -std::numeric_limits<double>::infinity() : -std::bit_cast<float>(above << 16);
}

} // namespace

uint64_t& ValueHistogram::Half::grownTo(uint32_t bin)
{
    constexpr uint32_t kOctave = 128; // grows by whole octaves
    if (counts.empty())
        first = bin / kOctave * kOctave;
    if (bin < first) {
        const uint32_t begin = bin / kOctave * kOctave;
        counts.insert(counts.begin(), first - begin, 0);
        first = begin;
    }
    if (bin - first >= counts.size())
        counts.resize((bin / kOctave + 1) * kOctave - first);
    return counts[bin - first];
}

uint64_t ValueHistogram::Half::at(uint32_t bin) const
{
    if (bin == 0)
        return zero;
    return bin >= first && bin - first < counts.size() ? counts[bin - first] : 0;
}

void ValueHistogram::add(std::span<const double> values)
{
    for (const double value : values)
        add(upperBits(value), 1);
}

void ValueHistogram::add(uint32_t upper, uint64_t times)
{
    Half& half = m_halves[(upper & kSign) != 0 ? 1 : 0];
    const uint32_t bin = upper & ~kSign;
    if (bin == 0)
        half.zero += times;
    else if (bin - half.first < half.counts.size()) // wraps below `first`
        half.counts[bin - half.first] += times;
    else
        half.grownTo(bin) += times;
}

std::vector<std::pair<uint32_t, uint64_t>> ValueHistogram::counts() const
{
    std::vector<std::pair<uint32_t, uint64_t>> out;
    for (const uint32_t sign : {0u, kSign}) {
        const Half& half = m_halves[sign != 0 ? 1 : 0];
        if (half.zero != 0)
            out.emplace_back(sign, half.zero);
        for (uint32_t i = 0; i < half.counts.size(); ++i) {
            if (half.counts[i] != 0)
                out.emplace_back(sign | (half.first + i), half.counts[i]);
        }
    }
    return out;
}

ValueHistogram& ValueHistogram::operator+=(const ValueHistogram& further)
{
    for (const uint32_t sign : {0u, 1u}) {
        const Half& half = further.m_halves[sign];
        m_halves[sign].zero += half.zero;
        for (uint32_t i = 0; i < half.counts.size(); ++i) {
            if (half.counts[i] != 0)
                m_halves[sign].grownTo(half.first + i) += half.counts[i];
        }
    }
    return *this;
}

uint64_t ValueHistogram::at(uint32_t upper) const
{
    return m_halves[(upper & kSign) != 0 ? 1 : 0].at(upper & ~kSign);
}

ValueHistogram::Bars ValueHistogram::bars(double low, double high, uint32_t atMost) const
{
    Bars out;
    if (!(low <= high) || atMost == 0)
        return out;
    const double width = (high - low) / atMost;
    out.edges.push_back(low);
    out.counts.push_back(0);
    const uint32_t firstBin = orderedOf(upperBits(low));
    const uint32_t lastBin = orderedOf(upperBits(high));
    for (uint32_t bin = firstBin; bin <= lastBin; ++bin) {
        if (!isFinite(upperOf(bin)))
            continue;
        // A new bar begins with the bin that begins nearest to where it should: at the next of equal steps.
        const double edge = lowerEdge(bin);
        const double wanted = low + width * (std::floor((out.edges.back() - low) / width + 0.5) + 1);
        const double next = bin < lastBin ? lowerEdge(bin + 1) : high;
        if (bin > firstBin && edge > out.edges.back() && edge < high && out.counts.size() < atMost
            && (edge >= wanted || wanted - edge <= next - wanted)) {
            out.edges.push_back(edge);
            out.counts.push_back(0);
        }
        out.counts.back() += at(upperOf(bin));
    }
    out.edges.push_back(high);
    return out;
}

std::vector<ValueHistogram::Octave> ValueHistogram::octaves() const
{
    std::vector<Octave> out;
    for (uint32_t exponent = 0; exponent < kInfinity >> 7; ++exponent) {
        uint64_t count = 0;
        for (uint32_t bin = exponent << 7; bin < (exponent + 1) << 7; ++bin)
            count += at(bin) + at(bin | kSign);
        if (count != 0)
            out.push_back({static_cast<int>(exponent) - 127, count});
    }
    return out;
}

} // namespace shardscope
