// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pickle_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

namespace shardscope::fixture {

std::string readPickle(std::string_view name)
{
    const std::string path = sourceFolder() + "/tests/data/pickles/" + std::string(name) + ".pkl";
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<PickleParse> tryParse(std::string stream, const PickleLimits& limits)
{
    JobContext job;
    return parsePickle(std::make_shared<const std::string>(std::move(stream)), limits, job);
}

PickleGraph parse(std::string stream)
{
    auto parsed = tryParse(std::move(stream));
    REQUIRE_MESSAGE(parsed.has_value(), (parsed ? std::string() : parsed.error().message));
    return std::move(parsed->graph);
}

} // namespace shardscope::fixture
