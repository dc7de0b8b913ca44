// SPDX-License-Identifier: Apache-2.0
// Rows gathered from a file that has a matrix column by column, against reading one element after the other.
#include "core/engine/stream/gathered_rows.h"
#include "core/tensor/transposed_order.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr uint64_t kHead = 37; ///< bytes before the matrix, so that nothing is aligned

struct Rows {
    std::vector<GatheredRow> rows;
    std::vector<std::vector<uint8_t>> memory;
};

/// The stored elements [begin, end) of a matrix as rows, some cut in two and some left out.
Rows rowsOf(const TransposedOrder& order, uint64_t begin, uint64_t end, uint32_t item, std::mt19937& random)
{
    Rows out;
    for (uint64_t row = 0; row < order.rows; ++row) {
        uint64_t first = order.columns;
        uint64_t stop = 0;
        for (uint64_t column = 0; column < order.columns; ++column) {
            const uint64_t stored = column * order.rows + row;
            if (stored < begin || stored >= end)
                continue;
            first = std::min(first, column);
            stop = column + 1;
        }
        while (first < stop) {
            const uint64_t cut = first + 1 + random() % (stop - first);
            if (random() % 5 != 0) {
                Segment segment;
                segment.source = 0;
                segment.tensor = 0;
                segment.sourceOffset = kHead + (first * order.rows + row - begin) * item;
                segment.firstElement = row * order.columns + first;
                segment.bytes = (cut - first) * item;
                segment.sourceType = segment.outputType = item == 4 ? DType::Float32 : DType::BFloat16;
                segment.sourceStep = static_cast<uint32_t>(order.rows);
                out.memory.emplace_back(segment.bytes);
                out.rows.push_back({segment, {}});
            }
            first = cut;
        }
    }
    for (size_t i = 0; i < out.rows.size(); ++i)
        out.rows[i].out = out.memory[i];
    std::shuffle(out.rows.begin(), out.rows.end(), random);
    return out;
}

} // namespace

TEST_CASE("gathered rows are the stored elements")
{
    std::mt19937 random(11);
    const TemporaryFolder folder;
    const TransposedOrder shapes[] = {{2, 2}, {3, 50}, {50, 3}, {17, 16}, {1000, 7}, {700, 900}};
    for (const TransposedOrder& order : shapes) {
        for (int round = 0; round < 6; ++round) {
            const uint32_t item = round % 2 == 0 ? 4 : 2;
            const uint64_t all = order.rows * order.columns;
            const uint64_t begin = round < 2 ? 0 : random() % all;
            const uint64_t end = round < 2 ? all : begin + 1 + random() % (all - begin);
            CAPTURE(order.rows);
            CAPTURE(order.columns);
            CAPTURE(begin);
            CAPTURE(end);
            std::string bytes(kHead + (end - begin) * item, '\0');
            std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
            spill(folder / "file", bytes);
            const auto file = io::realFileSystem().openRead(folder / "file");
            REQUIRE(file.has_value());
            const Rows rows = rowsOf(order, begin, end, item, random);
            const auto loaded = loadGatheredRows(
                rows.rows, [&](uint32_t) { return all; },
                [&](uint32_t) -> Result<const io::ReadFile*> { return file->get(); });
            REQUIRE_MESSAGE(loaded.has_value(), (loaded ? "" : describe(loaded.error())));
            bool same = true;
            for (const GatheredRow& row : rows.rows) {
                for (size_t at = 0; at < row.out.size(); ++at) {
                    const uint64_t stored = order.storedOf(row.segment.firstElement + at / item);
                    same = same
                        && row.out[at]
                            == static_cast<uint8_t>(bytes[kHead + (stored - begin) * item + at % item]);
                }
            }
            CHECK(same);
        }
    }
}
