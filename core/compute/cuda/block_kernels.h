// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/element_math.h"

/// The work of one block of threads on one tile, written once for the GPU and for its copy on the host, which
/// the tests run: a Block calls a step for each of its threads and is done when all are. Results do not
/// depend on the order of threads, so both make the same bits.
namespace shardscope::compute {

/// Shared memory of a block: one T per thread, merged in pairs.
template <class T>
struct PerThread {
    T of[kThreads];
};

/// Merges the values of all threads into thread 0's, always in the same order.
template <class Block, class T, class Join>
SHARDSCOPE_ON_GPU void joinThreads(Block& block, PerThread<T>& parts, Join join)
{
    for (uint32_t apart = kThreads / 2; apart > 0; apart /= 2) {
        block.each([&](uint32_t thread) {
            if (thread < apart)
                join(parts.of[thread], parts.of[thread + apart]);
        });
    }
}

template <class Block>
SHARDSCOPE_ON_GPU void castTile(Block& block, const CastTile& tile)
{
    block.each([&](uint32_t thread) {
        for (uint32_t i = thread; i < tile.elements; i += kThreads)
            castElement(tile, i);
    });
}

template <class Block>
SHARDSCOPE_ON_GPU void sumTile(Block& block, PerThread<TileSum>& parts, const SumTile& tile, TileSum& out)
{
    block.each([&](uint32_t thread) {
        TileSum sum{};
        for (uint32_t i = thread; i < tile.elements; i += kThreads)
            addElement(tile, i, sum);
        parts.of[thread] = sum;
    });
    joinThreads(block, parts, [](TileSum& into, const TileSum& more) {
        into.lanes[0] += more.lanes[0];
        into.lanes[1] += more.lanes[1];
    });
    block.each([&](uint32_t thread) {
        if (thread == 0)
            out = parts.of[0];
    });
}

struct StatisticsShared {
    PerThread<TileStatistics> parts;
    PerThread<double> deviations;
};

/// Tile number `tile` of the elements; values are counted into `bins` unless it is null.
template <class Block>
SHARDSCOPE_ON_GPU void statisticsTile(Block& block, StatisticsShared& shared, const GpuElements& elements,
    uint64_t tile, uint32_t* bins, double infinity, TileStatistics& out)
{
    const uint64_t begin = tile * kTileElements;
    const uint64_t left = elements.count - begin;
    const auto count = static_cast<uint32_t>(left < kTileElements ? left : kTileElements);
    PerThread<TileStatistics>& parts = shared.parts;
    block.each([&](uint32_t thread) {
        TileStatistics mine{};
        mine.min = infinity;
        mine.max = -infinity;
        for (uint32_t i = thread; i < count; i += kThreads) {
            const double value = asDouble(elements.type, elements.bytes, begin + i);
            if (bins != nullptr)
                block.count(bins, asFloat32(elements.type, elements.bytes, begin + i) >> 16);
            if (!isFiniteNumber(value)) {
                mine.nans += isNan(value) ? 1 : 0;
                mine.infinities += isNan(value) ? 0 : 1;
                continue;
            }
            ++mine.elements;
            mine.zeros += value == 0 ? 1 : 0;
            mine.min = value < mine.min ? value : mine.min;
            mine.max = value > mine.max ? value : mine.max;
            mine.sum += value;
            mine.squares += value * value;
            mine.magnitudes += magnitudeOf(value);
        }
        parts.of[thread] = mine;
    });
    joinThreads(block, parts, [](TileStatistics& into, const TileStatistics& more) {
        into.min = more.min < into.min ? more.min : into.min;
        into.max = more.max > into.max ? more.max : into.max;
        into.sum += more.sum;
        into.squares += more.squares;
        into.magnitudes += more.magnitudes;
        into.zeros += more.zeros;
        into.nans += more.nans;
        into.infinities += more.infinities;
        into.elements += more.elements;
    });
    block.each([&](uint32_t thread) {
        const TileStatistics& all = parts.of[0];
        const double mean = all.elements == 0 ? 0 : all.sum / all.elements;
        double deviations = 0;
        for (uint32_t i = thread; i < count; i += kThreads) {
            const double value = asDouble(elements.type, elements.bytes, begin + i);
            if (isFiniteNumber(value))
                deviations += (value - mean) * (value - mean);
        }
        shared.deviations.of[thread] = deviations;
    });
    joinThreads(block, shared.deviations, [](double& into, double more) { into += more; });
    block.each([&](uint32_t thread) {
        if (thread != 0)
            return;
        out = parts.of[0];
        out.squaredDeviations = shared.deviations.of[0];
    });
}

/// Of two threads.
SHARDSCOPE_ON_GPU void addComparison(TileComparison& into, const TileComparison& more)
{
    into.different += more.different;
    into.beyond += more.beyond;
    into.lastBit += more.lastBit;
    into.notFinite += more.notFinite;
    into.notFiniteLeft += more.notFiniteLeft;
    into.notFiniteRight += more.notFiniteRight;
    into.firstDifferent
        = more.firstDifferent < into.firstDifferent ? more.firstDifferent : into.firstDifferent;
    into.maxAbsolute = more.maxAbsolute > into.maxAbsolute ? more.maxAbsolute : into.maxAbsolute;
    into.squaredDifference += more.squaredDifference;
    into.squaredLeft += more.squaredLeft;
    into.squaredRight += more.squaredRight;
    into.product += more.product;
}

/// Tile number `tile` of two sides of one dtype and length.
template <class Block>
SHARDSCOPE_ON_GPU void comparisonTile(Block& block, PerThread<TileComparison>& parts, const GpuElements& left,
    const GpuElements& right, uint64_t tile, const GpuTolerance& tolerance, TileComparison& out)
{
    constexpr uint32_t kNone = 0xFFFFFFFFu;
    const bool exact = tolerance.relative == 0 && tolerance.absolute == 0; // Tolerance::isExact
    const uint64_t begin = tile * kTileElements;
    const uint64_t rest = left.count - begin;
    const auto count = static_cast<uint32_t>(rest < kTileElements ? rest : kTileElements);
    block.each([&](uint32_t thread) {
        TileComparison mine{};
        mine.firstDifferent = kNone;
        for (uint32_t i = thread; i < count; i += kThreads) {
            const double a = asDouble(left.type, left.bytes, begin + i);
            const double b = asDouble(right.type, right.bytes, begin + i);
            const bool finite = isFiniteNumber(a) && isFiniteNumber(b);
            if (finite) {
                mine.squaredDifference += (a - b) * (a - b);
                mine.squaredLeft += a * a;
                mine.squaredRight += b * b;
                mine.product += a * b;
            }
            if (!differs(left.type, left.bytes, right.bytes, begin + i))
                continue;
            ++mine.different;
            mine.firstDifferent = i < mine.firstDifferent ? i : mine.firstDifferent;
            if (!finite) {
                ++mine.notFinite;
                mine.notFiniteLeft += isFiniteNumber(a) ? 0 : 1;
                mine.notFiniteRight += isFiniteNumber(b) ? 0 : 1;
                mine.beyond += !exact && (a == b || (isNan(a) && isNan(b))) ? 0 : 1;
                continue;
            }
            const double apart = magnitudeOf(a - b);
            mine.maxAbsolute = apart > mine.maxAbsolute ? apart : mine.maxAbsolute;
            mine.beyond
                += !exact && apart <= tolerance.absolute + tolerance.relative * magnitudeOf(b) ? 0 : 1;
            const int64_t here = ordered(left.type, left.bytes, begin + i);
            const int64_t there = ordered(right.type, right.bytes, begin + i);
            const bool neighbours = here == there || (here < there ? here + 1 == there : there + 1 == here);
            mine.lastBit += neighbours ? 1 : 0;
        }
        parts.of[thread] = mine;
    });
    joinThreads(
        block, parts, [](TileComparison& into, const TileComparison& more) { addComparison(into, more); });
    block.each([&](uint32_t thread) {
        if (thread != 0)
            return;
        out = parts.of[0];
        out.elements = count;
    });
}

} // namespace shardscope::compute
