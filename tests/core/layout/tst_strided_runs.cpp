// SPDX-License-Identifier: Apache-2.0
#include "core/layout/strided_runs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace shardscope;

namespace {

/// Storage offset of every element, by counting indices up the way nested loops do.
std::vector<uint64_t> offsetsByCounting(const Shape& shape, const std::vector<uint64_t>& strides)
{
    std::vector<uint64_t> offsets;
    Shape position(shape.size(), 0);
    for (;;) {
        uint64_t offset = 0;
        for (size_t i = 0; i < shape.size(); ++i)
            offset += position[i] * strides[i];
        offsets.push_back(offset);
        size_t dimension = shape.size();
        while (dimension > 0 && ++position[dimension - 1] == shape[dimension - 1])
            position[--dimension] = 0;
        if (dimension == 0)
            return offsets;
    }
}

} // namespace

TEST_CASE("runs of permuted, sliced and expanded tensors, against counting")
{
    std::mt19937_64 random(7);
    const auto pick = [&](uint64_t low, uint64_t high) {
        return std::uniform_int_distribution<uint64_t>(low, high)(random);
    };
    for (int trial = 0; trial < 3'000; ++trial) {
        CAPTURE(trial);
        Shape shape(pick(0, 4));
        for (uint64_t& size : shape)
            size = pick(1, 5);
        std::vector<size_t> order(shape.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        std::vector<uint64_t> strides(shape.size());
        uint64_t stride = 1;
        bool expanded = false;
        for (const size_t dimension :
            order) { // a permutation of a tensor that may be a slice of a larger one
            strides[dimension] = stride;
            stride *= shape[dimension] + pick(0, 3) / 3;
            if (pick(0, 15) == 0) {
                strides[dimension] = 0;
                expanded = expanded || shape[dimension] > 1;
            }
        }

        const auto offsets = offsetsByCounting(shape, strides);
        uint64_t begin = pick(0, offsets.size());
        uint64_t end = pick(0, offsets.size());
        if (begin > end)
            std::swap(begin, end);
        uint64_t at = begin;
        forEachStridedRun(shape, strides, begin, end, [&](const StridedRun& run) {
            REQUIRE(run.element == at);
            REQUIRE(run.elements > 0);
            for (uint64_t i = 0; i < run.elements; ++i)
                REQUIRE(run.storageOffset + i == offsets[at++]);
            return true;
        });
        REQUIRE(at == end);

        if (expanded)
            continue;
        for (uint64_t offset = 0; offset <= offsets.back() + 3; ++offset) {
            const auto found = std::find(offsets.begin(), offsets.end(), offset);
            const auto element = elementAtStorageOffset(shape, strides, offset);
            REQUIRE(element.has_value() == (found != offsets.end()));
            if (element)
                REQUIRE(*element == static_cast<uint64_t>(found - offsets.begin()));
        }
    }
}

TEST_CASE("shapes without elements and strides that do not fit have no runs")
{
    const auto none = [](const StridedRun&) {
        FAIL("no run expected");
        return true;
    };
    forEachStridedRun({3, 0}, {1, 1}, 0, 1, none);
    forEachStridedRun({3}, {1, 1}, 0, 3, none);
    CHECK_FALSE(elementAtStorageOffset({3, 0}, {1, 1}, 0));
    CHECK_FALSE(elementAtStorageOffset({3}, {}, 0));
}
