// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/kept_bytes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace shardscope;

TEST_CASE("any range of kept bytes is what a map of bytes says")
{
    KeptBytes kept;
    std::map<uint64_t, char> oracle;
    for (uint64_t i = 0, at = 3; i < 20; at += 1 + i % 5, ++i) {
        const std::string bytes(i % 4, static_cast<char>('a' + i));
        kept.add(at, bytes);
        for (const char c : bytes)
            oracle[at++] = c;
    }
    const std::vector<uint64_t> places = placesOf(kept.extents());
    for (uint64_t offset = 0; offset < 100; ++offset) {
        for (uint64_t bytes = 1; bytes < 30; ++bytes) {
            CAPTURE(offset);
            CAPTURE(bytes);
            std::string expected(bytes, '\0');
            size_t known = 0;
            for (uint64_t i = 0; i < bytes; ++i) {
                if (const auto found = oracle.find(offset + i); found != oracle.end()) {
                    expected[i] = found->second;
                    ++known;
                }
            }
            std::string read(bytes, '?');
            const bool any = readKept(kept.extents(), places, kept.bytes(), offset,
                {reinterpret_cast<uint8_t*>(read.data()), read.size()});
            CHECK(any == (known > 0));
            CHECK(read == expected);
            const auto whole = kept.at(offset, bytes);
            CHECK(whole.empty() == (known < bytes));
            CHECK((whole.empty() || std::equal(whole.begin(), whole.end(), expected.begin())));
        }
    }
}
