// SPDX-License-Identifier: Apache-2.0
#include "core/base/tested_releases.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;

TEST_CASE("a release is newer when its numbers are")
{
    CHECK(std::ranges::none_of(kTestedReleases, isNewerThanTested));
    CHECK(isNewerThanTested("0.19.10"));
    CHECK(isNewerThanTested("0.20.0"));
    CHECK(isNewerThanTested("1.0.0+abc"));
    CHECK(!isNewerThanTested("0.9.20"));
    CHECK(!isNewerThanTested("0.19.8+unknown"));
    for (const char* other : {"", "master", "99", "99.1", "99.1.", "99,1,1", "99999999999.0.0"})
        CHECK_FALSE_MESSAGE(isNewerThanTested(other), other);
}
