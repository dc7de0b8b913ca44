// SPDX-License-Identifier: Apache-2.0
// Tensors in boxes, against a list of every element.
#include "core/tensor/boxes.h"

#include <doctest/doctest.h>

#include <random>

using namespace shardscope;

namespace {

/// Cuts a box at random places into boxes that cover it once, a pinwheel among what comes out.
void cut(const Box& box, int depth, std::mt19937& random, std::vector<Box>& out)
{
    const size_t d = box.sizes.empty() ? 0 : random() % box.sizes.size();
    if (depth == 0 || box.sizes.empty() || box.sizes[d] < 2) {
        out.push_back(box);
        return;
    }
    const uint64_t at = 1 + random() % (box.sizes[d] - 1);
    Box low = box;
    Box high = box;
    low.sizes[d] = at;
    high.offsets[d] += at;
    high.sizes[d] -= at;
    cut(low, depth - 1, random, out);
    cut(high, depth - 1, random, out);
}

/// Box and number in it of every element, by looking at every element of every box.
std::vector<std::pair<uint32_t, uint64_t>> listOf(const Shape& shape, const std::vector<Box>& boxes)
{
    uint64_t elements = *elementCount(shape);
    std::vector<std::pair<uint32_t, uint64_t>> out(elements);
    for (uint64_t element = 0; element < elements; ++element) {
        Shape place(shape.size());
        uint64_t rest = element;
        for (size_t d = shape.size(); d-- > 0;) {
            place[d] = rest % shape[d];
            rest /= shape[d];
        }
        for (uint32_t i = 0; i < boxes.size(); ++i) {
            uint64_t number = 0;
            bool inside = true;
            for (size_t d = 0; d < shape.size(); ++d) {
                inside = inside && place[d] >= boxes[i].offsets[d]
                    && place[d] < boxes[i].offsets[d] + boxes[i].sizes[d];
                number = number * boxes[i].sizes[d] + place[d] - boxes[i].offsets[d];
            }
            if (inside)
                out[element] = {i, number};
        }
    }
    return out;
}

bool coveredOnce(const Shape& shape, const std::vector<Box>& boxes, uint64_t effort = 1'000'000)
{
    return coverOnce(shape, boxes, effort);
}

} // namespace

TEST_CASE("runs of boxes equal those of single elements, for any cut")
{
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        Shape shape(random() % 5);
        for (uint64_t& size : shape)
            size = 1 + random() % 7;
        std::vector<Box> boxes;
        cut({Shape(shape.size(), 0), shape}, static_cast<int>(random() % 5), random, boxes);
        std::shuffle(boxes.begin(), boxes.end(), random);
        CHECK(coveredOnce(shape, boxes));
        const auto expected = listOf(shape, boxes);
        const uint64_t begin = random() % expected.size();
        const uint64_t end = begin + 1 + random() % (expected.size() - begin);
        uint64_t at = begin;
        forEachBoxRun(shape, boxes, begin, end, [&](const BoxRun& run) {
            CHECK(run.element == at);
            for (uint64_t i = 0; i < run.elements; ++i)
                CHECK(expected[at + i] == std::pair(run.box, run.boxElement + i));
            at += run.elements;
            return true;
        });
        CHECK(at == end);
        for (uint32_t b = 0; b < boxes.size(); ++b) {
            uint64_t number = 0;
            forEachRunOfBox(shape, boxes[b], [&](const BoxRun& run) {
                CHECK(run.boxElement == number);
                for (uint64_t i = 0; i < run.elements; ++i)
                    CHECK(expected[run.element + i] == std::pair(b, number + i));
                number += run.elements;
            });
            CHECK(number == *elementCount(boxes[b].sizes));
        }
    }
}

TEST_CASE("boxes that leave a hole or overlap are detected")
{
    const Shape shape{4, 4};
    CHECK(coveredOnce(shape, {{{0, 0}, {4, 2}}, {{0, 2}, {4, 2}}}));
    CHECK(
        coveredOnce(shape, {{{0, 0}, {4, 4}}, {{4, 0}, {0, 4}}})); // an empty one, as ranks without rows have
    CHECK_FALSE(coveredOnce(shape, {{{0, 0}, {4, 2}}}));
    CHECK_FALSE(coveredOnce(shape, {{{0, 0}, {4, 2}}, {{0, 1}, {4, 2}}})); // as many elements as it has
    CHECK_FALSE(coveredOnce(shape, {{{0, 0}, {4, 4}}, {{0, 0}, {4, 4}}}));
    CHECK_FALSE(coveredOnce(shape, {}));
    CHECK(coveredOnce({}, {{{}, {}}}));
    CHECK(coveredOnce({0, 3}, {}));
    CHECK_FALSE(coveredOnce(shape, {{{0, 0}, {4, 2}}, {{0, 2}, {4, 2}}}, 1)); // the limit of work is used up
    // Cut differently in every column, so that there are many cells between all cuts.
    std::vector<Box> columns;
    for (uint64_t i = 0; i < 200; ++i) {
        columns.push_back({{0, i}, {1 + i * 4, 1}});
        columns.push_back({{1 + i * 4, i}, {1000 - 1 - i * 4, 1}});
    }
    CHECK(coveredOnce({1000, 200}, columns));
    columns[1].offsets[0] -= 1;
    CHECK_FALSE(coveredOnce({1000, 200}, columns));
    bool stopped = false;
    forEachBoxRun(shape, std::vector<Box>{{{0, 0}, {4, 2}}, {{0, 2}, {4, 2}}}, 0, 16, [&](const BoxRun&) {
        CHECK_FALSE(stopped);
        stopped = true;
        return false;
    });
}
