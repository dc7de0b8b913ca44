// SPDX-License-Identifier: Apache-2.0
#include "core/compute/cuda/gpu_statistics.h"

#include "core/compute/cuda/gpu_transform.h"

#include <algorithm>

namespace shardscope::compute {

namespace {

tl::unexpected<Error> noRoom()
{
    return fail(ErrorCode::Internal, "a part does not fit the memory that was reserved for it");
}

uint64_t tilesOf(uint64_t elements)
{
    return (elements + kTileElements - 1) / kTileElements;
}

Statistics fromTile(const TileStatistics& tile)
{
    Statistics out;
    out.elements = uint64_t{tile.elements} + tile.nans + tile.infinities;
    out.zeros = tile.zeros;
    out.nans = tile.nans;
    out.infinities = tile.infinities;
    out.min = tile.min;
    out.max = tile.max;
    out.mean = tile.elements == 0 ? 0 : tile.sum / tile.elements;
    out.squaredDeviations = tile.squaredDeviations;
    out.squares = tile.squares;
    out.magnitudes = tile.magnitudes;
    return out;
}

Comparison fromTile(const TileComparison& tile, uint64_t firstElement)
{
    Comparison out;
    out.elements = tile.elements;
    out.different = tile.different;
    out.beyond = tile.beyond;
    out.lastBit = tile.lastBit;
    out.notFinite = tile.notFinite;
    out.notFiniteLeft = tile.notFiniteLeft;
    out.notFiniteRight = tile.notFiniteRight;
    if (tile.different > 0)
        out.firstDifferent = firstElement + tile.firstDifferent;
    out.maxAbsolute = tile.maxAbsolute;
    out.squaredDifference = tile.squaredDifference;
    out.squaredLeft = tile.squaredLeft;
    out.squaredRight = tile.squaredRight;
    out.product = tile.product;
    return out;
}

/// Elements of a part, so that `sides` of them fit the lane with the answers of their tiles and a histogram.
uint64_t partElements(const GpuLane& lane, size_t item, size_t sides)
{
    const size_t room = lane.capacity() / 2 - kHistogramBins * sizeof(uint32_t);
    return std::max<uint64_t>(1, room / (item * sides) / kTileElements) * kTileElements;
}

} // namespace

Result<Statistics> gpuStatistics(
    GpuLane& lane, GpuFloat type, std::span<const uint8_t> bytes, ValueHistogram* histogram)
{
    const size_t item = kGpuItemBytes[static_cast<size_t>(type)];
    const uint64_t most = partElements(lane, item, 1);
    Statistics out;
    std::vector<uint32_t> counts(histogram != nullptr ? kHistogramBins : 0);
    for (uint64_t begin = 0; begin < bytes.size() / item; begin += most) {
        const uint64_t count = std::min<uint64_t>(most, bytes.size() / item - begin);
        lane.begin();
        std::vector<TileStatistics> tiles(tilesOf(count));
        uint8_t* const data = lane.memory().take(count * item);
        auto* const found = lane.memory().takeOf<TileStatistics>(tiles.size());
        auto* const bins = lane.memory().takeOf<uint32_t>(kHistogramBins);
        if (data == nullptr || found == nullptr || bins == nullptr)
            return noRoom();
        SHARDSCOPE_CHECK(lane.upload(data, bytes.subspan(begin * item, count * item)));
        if (histogram != nullptr)
            SHARDSCOPE_CHECK(
                lane.queue().clear(reinterpret_cast<uint8_t*>(bins), kHistogramBins * sizeof(uint32_t)));
        SHARDSCOPE_CHECK(
            lane.queue().statistics({data, type, count}, histogram != nullptr ? bins : nullptr, found));
        SHARDSCOPE_CHECK(lane.downloadAll(tiles, found));
        SHARDSCOPE_CHECK(lane.downloadAll(counts, bins));
        SHARDSCOPE_CHECK(lane.finish());
        for (const TileStatistics& tile : tiles)
            out += fromTile(tile);
        for (uint32_t bin = 0; bin < counts.size(); ++bin) {
            if (counts[bin] != 0)
                histogram->add(bin, counts[bin]);
        }
    }
    return out;
}

Result<Comparison> gpuComparison(GpuLane& lane, const TypedBytes& left, const TypedBytes& right,
    uint64_t firstElement, const Tolerance& tolerance)
{
    const GpuFloat type = *gpuFloat(left.dtype);
    const size_t item = kGpuItemBytes[static_cast<size_t>(type)];
    const uint64_t most = partElements(lane, item, 2);
    Comparison out;
    for (uint64_t begin = 0; begin < left.size(); begin += most) {
        const uint64_t count = std::min<uint64_t>(most, left.size() - begin);
        lane.begin();
        std::vector<TileComparison> tiles(tilesOf(count));
        uint8_t* const one = lane.memory().take(count * item);
        uint8_t* const other = lane.memory().take(count * item);
        auto* const found = lane.memory().takeOf<TileComparison>(tiles.size());
        if (one == nullptr || other == nullptr || found == nullptr)
            return noRoom();
        SHARDSCOPE_CHECK(lane.upload(one, left.part(begin, count).bytes));
        SHARDSCOPE_CHECK(lane.upload(other, right.part(begin, count).bytes));
        SHARDSCOPE_CHECK(lane.queue().compare(
            {one, type, count}, {other, type, count}, {tolerance.relative, tolerance.absolute}, found));
        SHARDSCOPE_CHECK(lane.downloadAll(tiles, found));
        SHARDSCOPE_CHECK(lane.finish());
        for (size_t tile = 0; tile < tiles.size(); ++tile)
            out += fromTile(tiles[tile], firstElement + begin + tile * kTileElements);
    }
    return out;
}

} // namespace shardscope::compute
