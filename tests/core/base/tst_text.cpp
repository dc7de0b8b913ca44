// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <doctest/doctest.h>

#include <random>

using namespace shardscope;

TEST_CASE("percent encoding touches exactly the characters that addresses use, and comes back")
{
    CHECK(percentEncode("layers.0.mlp/weight größe *") == "layers.0.mlp/weight größe *");
    CHECK(percentEncode("a%b#c!d[e]f+g@h\n") == "a%25b%23c%21d%5Be%5Df%2Bg%40h%0A");
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        std::string raw(random() % 40, ' ');
        for (char& c : raw)
            c = static_cast<char>(random());
        const std::string encoded = percentEncode(raw);
        CHECK(encoded.find_first_of("#![]+@") == std::string::npos);
        CHECK(percentDecode(encoded) == raw);
    }
    CHECK(!percentDecode("a%2"));
    CHECK(!percentDecode("a%zz"));
}

TEST_CASE("only valid UTF-8 counts as such, and repair gives valid UTF-8")
{
    for (const char* good : {"", "abc", "größe", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
        CHECK(isValidUtf8(good));
    for (const char* bad :
        {"\xFF", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC3", "a\x80"}) {
        CHECK(!isValidUtf8(bad));
        CHECK(isValidUtf8(toValidUtf8(bad)));
        CHECK(toValidUtf8(bad).find("\xEF\xBF\xBD") != std::string::npos);
    }
    CHECK(toHex("\x01\xFE") == "01fe");
}

TEST_CASE("sizes are read in binary units, and invalid sizes are refused")
{
    CHECK(parseBytes("0") == 0u);
    CHECK(parseBytes("123") == 123u);
    CHECK(parseBytes("64K") == 65536u);
    CHECK(parseBytes("64KiB") == 65536u);
    CHECK(parseBytes("1.5G") == 1610612736u);
    CHECK(parseBytes("2 GB") == 2147483648u);
    for (const char* bad : {"", "x", "-1", "1X", "12 parsecs", "1e40", "nan"})
        CHECK(!parseBytes(bad));
    CHECK(formatBytes(1023) == "1023 B");
    CHECK(formatBytes(1536) == "1.5 KiB");
    CHECK(formatCount(1234567) == "1,234,567");
    CHECK(formatCount(999) == "999");
}

TEST_CASE("numbers in names compare by value")
{
    const std::vector<std::string> sorted{"", "a", "a.2", "a.02", "a.10", "a.10.x", "a.10x", "a.b", "a0",
        "a1b", "a2", "a02b", "a10", "layers.2.w", "layers.10.w", "layers.99999999999999999999999", "x1y2",
        "x1y10", "x01y3"};
    // Strict order of all pairs, also between equal values with other numbers of zeros.
    std::vector<std::string> shuffled(sorted.rbegin(), sorted.rend());
    std::sort(shuffled.begin(), shuffled.end(),
        [](const std::string& a, const std::string& b) { return compareNaturally(a, b) < 0; });
    for (size_t i = 0; i < shuffled.size(); ++i) {
        CHECK(compareNaturally(shuffled[i], shuffled[i]) == 0);
        for (size_t j = i + 1; j < shuffled.size(); ++j) {
            CAPTURE(shuffled[i]);
            CAPTURE(shuffled[j]);
            CHECK(compareNaturally(shuffled[i], shuffled[j]) < 0);
            CHECK(compareNaturally(shuffled[j], shuffled[i]) > 0);
        }
    }
    const auto before = [](std::string_view a, std::string_view b) { return compareNaturally(a, b) < 0; };
    CHECK(before("layers.2.w", "layers.10.w"));
    CHECK(before("layers.10.w", "layers.99999999999999999999999"));
    CHECK(before("x1y2", "x1y10"));
    CHECK(before("x01y3", "x1y10"));
    CHECK(before("a.2", "a.b"));
    CHECK(before("rank_9", "rank_10"));
}
