// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/counted_names.h"

#include <doctest/doctest.h>

#include <string>

using namespace shardscope;

TEST_CASE("names that count and all others have numbers of their own")
{
    CountedNames names(3);
    const std::string_view all[]
        = {"0", "2", "3", "00", "02", "+1", "-1", "1 ", "", "x", "99999999999999999"};
    uint32_t number = 10;
    for (const std::string_view name : all) {
        CAPTURE(name);
        CHECK_FALSE(names.find(name));
        CHECK(names[name] == CountedNames::kNone);
        CHECK_FALSE(names.find(name)); // not set yet
        names[name] = number++;
    }
    number = 10;
    for (const std::string_view name : all) {
        CAPTURE(name);
        CHECK(names[name] == number);
        CHECK(names.find(name) == number++);
    }
    CHECK_FALSE(names.find("1"));
    CHECK_FALSE(names.find("2 "));
    CHECK_FALSE(CountedNames().find("0"));
}
