// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/block_sums.h"

#include <cstring>
#include <limits>

// A function for one instruction set can only inline code that is compiled for the same set, so all is
// force-inlined.
#define SHARDSCOPE_INLINE [[gnu::always_inline]] inline

namespace shardscope {

namespace {

constexpr size_t kParts = BlockSums::kParts;

/// N numbers side by side.
template <class Number, size_t N>
struct Vector {
    using Type [[gnu::vector_size(N * sizeof(Number))]] = Number;
};

/// All parts of a sum, N in a vector.
template <class Number, size_t N>
struct Parts {
    using Numbers = typename Vector<Number, N>::Type;
    Numbers vectors[kParts / N];

    explicit Parts(const std::array<Number, kParts>& parts)
    {
        std::memcpy(vectors, parts.data(), sizeof vectors);
    }
    void store(std::array<Number, kParts>& parts) const
    {
        std::memcpy(parts.data(), vectors, sizeof vectors);
    }
};

/// Changed in place: a vector given by value would make the call depend on the instruction set.
template <class Numbers>
SHARDSCOPE_INLINE void load(const double* from, Numbers& to)
{
    std::memcpy(&to, from, sizeof to);
}

template <size_t N>
SHARDSCOPE_INLINE void addGroups(const double* at, size_t groups, BlockSums& out)
{
    using Numbers = typename Vector<double, N>::Type;
    Parts<double, N> values(out.values);
    Parts<double, N> squares(out.squares);
    Parts<double, N> magnitudes(out.magnitudes);
    Parts<double, N> low(out.low);
    Parts<double, N> high(out.high);
    Parts<int64_t, N> zeros(out.zeros);
    for (size_t group = 0; group < groups; ++group) {
        for (size_t i = 0; i < kParts / N; ++i, at += N) {
            Numbers value;
            load(at, value);
            values.vectors[i] += value;
            squares.vectors[i] += value * value;
            magnitudes.vectors[i] += value < 0.0 ? -value : value;
            low.vectors[i] = value < low.vectors[i] ? value : low.vectors[i];
            high.vectors[i] = high.vectors[i] < value ? value : high.vectors[i];
            zeros.vectors[i] -= value == 0.0; // -1 where it is
        }
    }
    values.store(out.values);
    squares.store(out.squares);
    magnitudes.store(out.magnitudes);
    low.store(out.low);
    high.store(out.high);
    zeros.store(out.zeros);
}

void addOne(double value, size_t part, BlockSums& out)
{
    out.values[part] += value;
    out.squares[part] += value * value;
    out.magnitudes[part] += value < 0 ? -value : value;
    out.low[part] = value < out.low[part] ? value : out.low[part];
    out.high[part] = out.high[part] < value ? value : out.high[part];
    out.zeros[part] += value == 0 ? 1 : 0;
}

using DeviationParts = std::array<double, kParts>;

template <size_t N>
SHARDSCOPE_INLINE void addDeviations(const double* at, size_t groups, double mean, DeviationParts& out)
{
    using Numbers = typename Vector<double, N>::Type;
    Parts<double, N> sums(out);
    for (size_t group = 0; group < groups; ++group) {
        for (size_t i = 0; i < kParts / N; ++i, at += N) {
            Numbers off;
            load(at, off);
            off -= mean;
            sums.vectors[i] += off * off;
        }
    }
    sums.store(out);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void addGroupsWithAvx2(const double* at, size_t groups, BlockSums& out)
{
    addGroups<4>(at, groups, out);
}

[[gnu::target("avx2")]] void addDeviationsWithAvx2(
    const double* at, size_t groups, double mean, DeviationParts& out)
{
    addDeviations<4>(at, groups, mean, out);
}
#endif

bool hasWideVectors()
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

BlockSums sumOf(std::span<const double> all, bool wide)
{
    BlockSums out;
    const size_t groups = all.size() / kParts;
#if defined(__x86_64__)
    if (wide)
        addGroupsWithAvx2(all.data(), groups, out);
    else
#endif
        addGroups<2>(all.data(), groups, out);
    for (size_t i = groups * kParts; i < all.size(); ++i)
        addOne(all[i], i % kParts, out);
    return out;
}

DeviationParts deviationsOf(std::span<const double> all, double mean, bool wide)
{
    DeviationParts out{};
    const size_t groups = all.size() / kParts;
#if defined(__x86_64__)
    if (wide)
        addDeviationsWithAvx2(all.data(), groups, mean, out);
    else
#endif
        addDeviations<2>(all.data(), groups, mean, out);
    for (size_t i = groups * kParts; i < all.size(); ++i)
        out[i % kParts] += (all[i] - mean) * (all[i] - mean);
    return out;
}

} // namespace

BlockSums::BlockSums()
{
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
}

BlockSums sumBlock(std::span<const double> all)
{
    return sumOf(all, hasWideVectors());
}

BlockSums sumBlockPlainly(std::span<const double> all)
{
    return sumOf(all, false);
}

std::array<double, kParts> sumSquaredDeviations(std::span<const double> all, double mean)
{
    return deviationsOf(all, mean, hasWideVectors());
}

std::array<double, kParts> sumSquaredDeviationsPlainly(std::span<const double> all, double mean)
{
    return deviationsOf(all, mean, false);
}

} // namespace shardscope
