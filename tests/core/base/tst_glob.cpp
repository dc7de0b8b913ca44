// SPDX-License-Identifier: Apache-2.0
#include "core/base/glob.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using shardscope::fitsGlob;

namespace {

/// The definition, implemented literally.
bool fitsByDefinition(std::string_view pattern, std::string_view text)
{
    if (pattern.empty())
        return text.empty();
    if (pattern[0] == '*') {
        for (size_t skip = 0; skip <= text.size(); ++skip) {
            if (fitsByDefinition(pattern.substr(1), text.substr(skip)))
                return true;
        }
        return false;
    }
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0])
        && fitsByDefinition(pattern.substr(1), text.substr(1));
}

} // namespace

TEST_CASE("patterns match according to their definition")
{
    std::mt19937 random(7); // NOLINT: the same cases every time
    const std::string letters = "ab.*?";
    size_t fits = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string pattern;
        std::string text;
        for (size_t size = random() % 7; pattern.size() < size;)
            pattern += letters[random() % 5];
        for (size_t size = random() % 9; text.size() < size;)
            text += letters[random() % 3];
        CAPTURE(pattern);
        CAPTURE(text);
        CHECK(fitsGlob(pattern, text) == fitsByDefinition(pattern, text));
        fits += fitsGlob(pattern, text) ? 1 : 0;
    }
    CHECK(fits > 1000);
}

TEST_CASE("one character is one of UTF-8, and hostile patterns end")
{
    CHECK(fitsGlob("gr??e", "größe"));
    CHECK(!fitsGlob("gr?e", "größe"));
    CHECK(fitsGlob("layers.*.weight", "layers.0.mlp.up.weight"));
    CHECK(!fitsGlob("layers.*.weight", "layers.0.mlp.up.bias"));
    std::string pattern;
    for (int i = 0; i < 2000; ++i)
        pattern += "*a";
    CHECK(!fitsGlob(pattern + "b", std::string(4000, 'a')));
}
