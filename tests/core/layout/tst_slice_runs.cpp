// SPDX-License-Identifier: Apache-2.0
// Runs of merged slices, compared with an element by element walk.
#include "core/layout/slices/merged_slices.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

using namespace shardscope;

namespace {

struct Spot {
    uint32_t slice = 0;
    uint64_t element = 0;
    bool operator==(const Spot&) const = default;
};

/// The place of every element of the whole, one by one.
std::map<uint64_t, Spot> placesOf(const std::vector<SlicePiece>& pieces)
{
    std::map<uint64_t, Spot> out;
    for (const SlicePiece& piece : pieces) {
        for (uint64_t number = 0; number < piece.count; ++number) {
            for (uint64_t i = 0; i < piece.run; ++i)
                out[piece.first + number * piece.stride + i]
                    = {index(piece.slice), piece.sliceFirst + number * piece.sliceStride + i};
        }
    }
    return out;
}

/// A matrix whose columns are distributed to slices of these widths.
std::vector<SlicePiece> columns(uint64_t rows, const std::vector<uint64_t>& widths)
{
    uint64_t width = 0;
    for (const uint64_t part : widths)
        width += part;
    std::vector<SlicePiece> out;
    uint64_t first = 0;
    for (uint32_t i = 0; i < widths.size(); ++i) {
        if (widths[i] > 0)
            out.push_back({ParamId{i}, first, width, 0, widths[i], widths[i], rows});
        first += widths[i];
    }
    return out;
}

} // namespace

TEST_CASE("runs are those of a walk over single elements, for every range")
{
    std::mt19937 random(7);
    const auto upTo = [&](uint64_t most) { return std::uniform_int_distribution<uint64_t>(0, most)(random); };
    for (int round = 0; round < 60; ++round) {
        const uint64_t rows = 1 + upTo(6);
        const auto pieces = columns(rows, {upTo(5), 1 + upTo(5), upTo(5)});
        const auto places = placesOf(pieces);
        const uint64_t elements = places.size();
        const uint64_t begin = upTo(elements);
        const uint64_t end = begin + upTo(elements - begin);
        uint64_t at = begin;
        forEachSliceRun(pieces, begin, end, [&](const SliceRun& run) {
            CHECK(run.element == at);
            CHECK(run.elements > 0);
            for (uint64_t i = 0; i < run.elements; ++i)
                CHECK(places.at(at + i) == Spot{index(run.slice), run.sliceElement + i});
            at += run.elements;
            return true;
        });
        CHECK(at == end);
    }
}

TEST_CASE("a walk stops when the visitor asks, and where no slice has an element")
{
    const auto pieces = columns(3, {2, 2});
    int visits = 0;
    forEachSliceRun(pieces, 0, 12, [&](const SliceRun&) { return ++visits < 2; });
    CHECK(visits == 2);
    uint64_t visited = 0;
    forEachSliceRun({pieces.front()}, 0, 12, [&](const SliceRun& run) {
        visited += run.elements;
        return true;
    });
    CHECK(visited == 2);
}
