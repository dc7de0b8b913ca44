// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/shape.h"

#include <doctest/doctest.h>

using namespace shardscope;

TEST_CASE("a shape counts its elements or says that they do not fit")
{
    CHECK(elementCount({}) == 1);
    CHECK(elementCount({4, 3}) == 12);
    CHECK(elementCount({uint64_t{1} << 32, (uint64_t{1} << 32) - 1}) == ((uint64_t{1} << 32) - 1) << 32);
    CHECK(!elementCount({uint64_t{1} << 32, uint64_t{1} << 32}));
    CHECK(elementCount({uint64_t{1} << 32, uint64_t{1} << 32, 0}) == 0);
}

TEST_CASE("a shape prints as a Python tuple")
{
    CHECK(shapeText({}) == "()");
    CHECK(shapeText({5}) == "(5,)");
    CHECK(shapeText({4, 3}) == "(4, 3)");
}
