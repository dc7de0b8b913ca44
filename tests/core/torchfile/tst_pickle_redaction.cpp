// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_redaction.h"
#include "tests/support/pickle_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;

namespace {

bool isText(NodeKind kind)
{
    return kind == NodeKind::String || kind == NodeKind::Bytes || kind == NodeKind::ByteArray;
}

bool isNumber(NodeKind kind)
{
    return kind == NodeKind::Int || kind == NodeKind::BigInt || kind == NodeKind::Float
        || kind == NodeKind::Bool;
}

/// The stream with nothing kept but what `keep` says.
std::string redacted(const std::string& stream, const PickleGraph& graph, const std::vector<bool>& kept)
{
    std::string out = stream;
    redactPickle(out, graph, kept);
    return out;
}

bool isOf(std::string_view text, std::string_view characters)
{
    return text.find_first_not_of(characters) == std::string_view::npos;
}

} // namespace

TEST_CASE("everything that is not kept is blanked, and no offset changes, in every protocol")
{
    for (const char* name : {"optimizer_states", "model_states", "client_state", "large", "scalar",
             "protocol0", "protocol1", "protocol3", "protocol4", "protocol5"}) {
        CAPTURE(name);
        const std::string stream = fixture::readPickle(name);
        const PickleGraph before = fixture::parse(stream);
        const std::string blank = redacted(stream, before, std::vector<bool>(before.nodeCount(), false));
        REQUIRE(blank.size() == stream.size());
        const PickleGraph after = fixture::parse(blank);
        REQUIRE(after.nodeCount() == before.nodeCount());
        for (uint32_t i = 0; i < before.nodeCount(); ++i) {
            const NodeId node{i};
            if (before.kind(node) == NodeKind::BigInt) // zeros are a small number
                CHECK(isNumber(after.kind(node)));
            else
                CHECK(after.kind(node) == before.kind(node));
            CHECK(after.sourceBegin(node) == before.sourceBegin(node));
            CHECK(after.sourceEnd(node) == before.sourceEnd(node));
            CHECK(after.globalModule(node) == before.globalModule(node));
            CHECK(after.globalName(node) == before.globalName(node));
            CHECK(after.items(node).size() == before.items(node).size());
            if (isNumber(before.kind(node))) {
                CHECK(isOf(std::to_string(after.integer(node)), "01"));
                CHECK(after.real(node) == 0.0);
                CHECK(!after.boolean(node));
            }
        }
    }
}

TEST_CASE("every text except names of classes and storages is blanked")
{
    const std::string stream = fixture::readPickle("client_state");
    const PickleGraph before = fixture::parse(stream);
    const PickleGraph after
        = fixture::parse(redacted(stream, before, std::vector<bool>(before.nodeCount(), false)));
    size_t covered = 0;
    for (uint32_t i = 0; i < before.nodeCount(); ++i) {
        const NodeId node{i};
        if (!isText(before.kind(node)))
            continue;
        CHECK(after.text(node).size() == before.text(node).size());
        CHECK(isOf(after.text(node), "x"));
        covered += before.text(node) != after.text(node) ? 1 : 0;
    }
    CHECK(covered > 3);
}

TEST_CASE("kept nodes keep every byte")
{
    for (const char* name :
        {"optimizer_states", "model_states", "client_state", "large", "protocol0", "protocol5"}) {
        CAPTURE(name);
        const std::string stream = fixture::readPickle(name);
        const PickleGraph graph = fixture::parse(stream);
        CHECK(redacted(stream, graph, std::vector<bool>(graph.nodeCount(), true)) == stream);
    }
}

TEST_CASE("a long row of equal integers is one value, and a short one is several")
{
    for (const size_t count : {3, 16, 17, 18, 40}) {
        CAPTURE(count);
        std::string stream = "\x80\x02](";
        for (size_t i = 0; i < count; ++i)
            stream += "K\x07";
        stream += "K\x09"
                  "e.";
        const PickleGraph graph = fixture::parse(stream);
        std::vector<bool> kept(graph.nodeCount(), false);
        const PickleGraph blank = fixture::parse(redacted(stream, graph, kept));
        REQUIRE(blank.items(blank.root()).size() == count + 1);
        for (const NodeId item : blank.items(blank.root()))
            CHECK(blank.integer(item) == 0);
        kept[index(graph.items(graph.root()).back())] = true;
        const PickleGraph last = fixture::parse(redacted(stream, graph, kept));
        CHECK(last.integer(last.items(last.root()).front()) == 0);
        CHECK(last.integer(last.items(last.root()).back()) == 9);
    }
}

TEST_CASE("numbers and truth values of protocol 0 stay what they are")
{
    const std::string stream
        = "(I01\nI00\nI5\nI-42\nI123456789012345678901\nL7L\nF-1.5e3\nS'a\\'b'\nVtext\nNl.";
    const PickleGraph before = fixture::parse(stream);
    const std::string out = redacted(stream, before, std::vector<bool>(before.nodeCount(), false));
    CHECK(out == "(I00\nI00\nI1\nI001\nI000000000000000000001\nL1L\nF000000\nS'xxxx'\nVxxxx\nNl.");
    const PickleGraph after = fixture::parse(out);
    const auto items = after.items(after.root());
    REQUIRE(items.size() == 10);
    CHECK(after.kind(items[0]) == NodeKind::Bool);
    CHECK(after.kind(items[4]) == NodeKind::Int);
    CHECK(after.kind(items[6]) == NodeKind::Float);
    CHECK(after.kind(items[9]) == NodeKind::None);
}
