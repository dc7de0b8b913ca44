// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_emitter.h"
#include "tests/support/pickle_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

/// The position where two streams differ, with the bytes around it, for the message of a failed test.
std::string difference(const std::string& expected, const std::string& actual)
{
    if (expected == actual)
        return {};
    size_t at = 0;
    while (at < std::min(expected.size(), actual.size()) && expected[at] == actual[at])
        ++at;
    return "differs at byte " + std::to_string(at) + " of " + std::to_string(expected.size());
}

} // namespace

TEST_CASE("streams of torch and of CPython's pickler are written back byte for byte")
{
    for (const char* name :
        {"optimizer_states", "model_states", "client_state", "large", "scalar", "empty_tuple"}) {
        CAPTURE(name);
        const std::string stream = fixture::readPickle(name);
        const PickleGraph graph = fixture::parse(stream);
        const auto written = emitPickle(graph);
        REQUIRE(written);
        CHECK(difference(stream, *written) == "");
    }
}

TEST_CASE("an imported copy of a whole graph is written with the same bytes")
{
    for (const char* name : {"optimizer_states", "model_states", "client_state", "large"}) {
        CAPTURE(name);
        const std::string stream = fixture::readPickle(name);
        PickleBuilder builder;
        NodeId root = kNoNode;
        {
            const PickleGraph graph = fixture::parse(stream);
            root = PickleImporter(builder, graph).import(graph.root());
        } // the copy must not need its source
        const auto written = emitPickle(builder.finish(root));
        REQUIRE(written);
        CHECK(difference(stream, *written) == "");
    }
}

TEST_CASE("pickles of other protocols reach a fixed point in protocol 2")
{
    for (const char* name : {"protocol0", "protocol1", "protocol3", "protocol4", "protocol5"}) {
        CAPTURE(name);
        const auto once = emitPickle(fixture::parse(fixture::readPickle(name)));
        REQUIRE(once);
        const auto twice = emitPickle(fixture::parse(*once));
        REQUIRE(twice);
        CHECK(difference(*once, *twice) == "");
    }
}
