// SPDX-License-Identifier: Apache-2.0
// Long rows of equal small integers, as DeepSpeed writes one zero per parameter into every rank's file.
#include "core/torchfile/pickle/pickle_emitter.h"
#include "tests/support/pickle_fixture.h"

#include <doctest/doctest.h>

#include <set>

using namespace shardscope;
using namespace std::string_literals;

namespace {

std::string row(size_t count, char value)
{
    std::string out;
    for (size_t i = 0; i < count; ++i)
        out += {'K', value};
    return out;
}

/// A list of integers as CPython writes it: appended in batches of 1,000.
std::string listStream(const std::string& row)
{
    std::string out = "\x80\x02]q\x00"s;
    if (row.size() == 2)
        return out + row + "a.";
    for (size_t at = 0; at < row.size(); at += 2000)
        out += "(" + row.substr(at, 2000) + "e";
    return out + ".";
}

} // namespace

TEST_CASE("every length and value of a row reads as its integers and is written back byte for byte")
{
    for (const size_t count : {1u, 2u, 15u, 16u, 17u, 18u, 31u, 32u, 33u, 999u, 1000u, 1001u, 2500u}) {
        for (const char value : {'\0', '\x01', 'K', '\xff'}) {
            CAPTURE(count);
            CAPTURE(static_cast<int>(value));
            const std::string stream = listStream(row(count, value));
            const PickleGraph graph = fixture::parse(stream);
            const auto items = graph.items(graph.root());
            REQUIRE(items.size() == count);
            for (const NodeId item : items)
                REQUIRE(graph.integer(item) == static_cast<uint8_t>(value));
            CHECK(emitPickle(graph).value() == stream);
        }
    }
}

TEST_CASE("a row ends where another value or opcode follows")
{
    const std::string stream = listStream(row(40, 0) + row(3, 1) + row(40, 2) + row(1, 0));
    const PickleGraph graph = fixture::parse(stream);
    const auto items = graph.items(graph.root());
    REQUIRE(items.size() == 84);
    for (size_t i = 0; i < items.size(); ++i)
        CHECK(graph.integer(items[i]) == (i < 40 ? 0 : i < 43 ? 1 : i < 83 ? 2 : 0));
    CHECK(emitPickle(graph).value() == stream);
    // The last byte of a stream may be half an opcode.
    CHECK_FALSE(fixture::tryParse("\x80\x02]q\x00("s + row(40, 0) + "K").has_value());
}

TEST_CASE("long rows cost one node, short rows keep one per number because edits go by node")
{
    const PickleGraph longRow = fixture::parse(listStream(row(1000, 0)));
    CHECK(longRow.nodeCount() == 2);
    const PickleGraph shortRow = fixture::parse(listStream(row(10, 0)));
    const auto items = shortRow.items(shortRow.root());
    CHECK(std::set<NodeId>(items.begin(), items.end()).size() == 10);
}

TEST_CASE("rows count against the limits")
{
    PickleLimits limits;
    limits.stackDepth = 100;
    CHECK(fixture::tryParse("\x80\x02("s + row(100, 0) + "t.", limits).has_value());
    CHECK(fixture::tryParse("\x80\x02("s + row(101, 0) + "t.", limits).error().code
        == ErrorCode::LimitExceeded);
    limits = {};
    limits.opcodes = 5000;
    std::string rows = "\x80\x02]"s;
    for (int i = 0; i < 20; ++i)
        rows += "(" + row(1000, 0) + "e";
    CHECK(fixture::tryParse(rows + ".", limits).error().code == ErrorCode::LimitExceeded);
}
