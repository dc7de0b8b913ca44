// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"

#include <doctest/doctest.h>

#include <limits>

using namespace shardscope;

TEST_CASE("a number from a file is an integer only if int64_t has it")
{
    CHECK(wholeNumber(0.0) == 0);
    CHECK(wholeNumber(-0.0) == 0);
    CHECK(wholeNumber(-3.0) == -3);
    CHECK(wholeNumber(9007199254740992.0) == 9007199254740992);
    CHECK(wholeNumber(-0x1p63) == std::numeric_limits<int64_t>::min());
    using Limits = std::numeric_limits<double>;
    for (const double number : {0.5, -1.5, 0x1p63, -0x1p64, 1e45, -1e45, Limits::infinity(),
             -Limits::infinity(), Limits::quiet_NaN()})
        CHECK_FALSE(wholeNumber(number).has_value());
}
