// SPDX-License-Identifier: Apache-2.0
#include "core/io/kept_ranges.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace shardscope::io;

namespace {

using Bytes = std::vector<uint8_t>;

uint8_t byteAt(uint64_t offset)
{
    return static_cast<uint8_t>(offset % 251);
}

Bytes bytesAt(uint64_t offset, size_t count)
{
    Bytes out(count);
    for (size_t i = 0; i < count; ++i)
        out[i] = byteAt(offset + i);
    return out;
}

bool isKept(KeptRanges& kept, const std::string& version, uint64_t offset, size_t count)
{
    Bytes out(count);
    const bool taken = kept.take(version, offset, out);
    if (taken)
        CHECK(out == bytesAt(offset, count));
    return taken;
}

} // namespace

TEST_CASE("a range is taken from all that was kept of its version, and of no other")
{
    KeptRanges kept;
    CHECK_FALSE(isKept(kept, "a", 0, 1));
    kept.keep("a", 100, bytesAt(100, 50));
    kept.keep("a", 150, bytesAt(150, 50));
    CHECK(isKept(kept, "a", 100, 100));
    CHECK(isKept(kept, "a", 149, 2));
    CHECK(isKept(kept, "a", 199, 1));
    CHECK_FALSE(isKept(kept, "a", 199, 2));
    CHECK_FALSE(isKept(kept, "a", 99, 2));
    CHECK_FALSE(isKept(kept, "b", 100, 1));
    kept.forget("b");
    CHECK(isKept(kept, "a", 100, 1));
    kept.forget("a");
    CHECK_FALSE(isKept(kept, "a", 100, 1));
}

TEST_CASE("ranges that overlap in every way are kept as they were read")
{
    KeptRanges kept;
    std::vector<bool> known(2000);
    std::mt19937 random(7);
    for (int times = 0; times < 4000; ++times) {
        const uint64_t offset = random() % known.size();
        const size_t count = random() % std::min<size_t>(known.size() - offset, times % 50 == 0 ? 2000 : 12);
        const auto first = known.begin() + static_cast<ptrdiff_t>(offset);
        const auto last = first + static_cast<ptrdiff_t>(count);
        if (times % 2 == 0) {
            kept.keep("a", offset, bytesAt(offset, count));
            std::fill(first, last, true);
        } else {
            CHECK(isKept(kept, "a", offset, count) == std::all_of(first, last, [](bool one) { return one; }));
        }
        if (times % 500 == 499) {
            kept.forget("a");
            std::fill(known.begin(), known.end(), false);
        }
    }
}

TEST_CASE("kept ranges are of bounded memory, and those of files that were used last")
{
    KeptRanges kept;
    const Bytes longest = bytesAt(0, KeptRanges::kLongest);
    const int most = static_cast<int>(KeptRanges::kMostBytes / KeptRanges::kLongest) - 1; // with their costs
    for (int file = 0; file <= most; ++file) {
        kept.keep(std::to_string(file), 0, longest);
        if (file == most - 1)
            CHECK(isKept(kept, "0", 0, longest.size()));
    }
    CHECK(isKept(kept, "0", 0, 1));
    CHECK_FALSE(isKept(kept, "1", 0, 1));
    CHECK(isKept(kept, std::to_string(most), 0, 1));
    kept.keep("longer", 0, bytesAt(0, KeptRanges::kLongest + 1));
    CHECK_FALSE(isKept(kept, "longer", 0, 1));
}

TEST_CASE("short ranges and names count with what they take besides")
{
    KeptRanges kept;
    const uint64_t most = KeptRanges::kMostBytes / KeptRanges::kRangeCost;
    kept.keep("first", 0, bytesAt(0, 1));
    for (uint64_t i = 0; i < most - 10; ++i)
        kept.keep("many", 2 * i, bytesAt(2 * i, 1));
    CHECK_FALSE(isKept(kept, "first", 0, 1));
    const std::string name(1000, 'n');
    for (int file = 0; file < 100'000; ++file)
        kept.keep(name + std::to_string(file), 0, bytesAt(0, 1));
    CHECK_FALSE(isKept(kept, name + "0", 0, 1));
    CHECK(isKept(kept, name + "99999", 0, 1));
}
