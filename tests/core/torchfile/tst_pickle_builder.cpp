// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/support/pickle_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace shardscope;
using namespace std::string_literals;

TEST_CASE("a written stream parses to what was built")
{
    PickleBuilder builder;
    const NodeId key = builder.string("key");
    const NodeId dict = builder.dict();
    const NodeId object = builder.newObj(builder.global("pkg", "Class"), builder.tuple({}));
    const NodeId state = builder.dict();
    builder.setItem(state, key, builder.real(0.5));
    builder.setState(object, state);
    const NodeId ordered = builder.reduce(builder.global("collections", "OrderedDict"), builder.tuple({}));
    builder.setItem(ordered, key, builder.integer(-7));
    builder.setItem(ordered, builder.string("key2"), builder.integer(INT64_MIN));
    const std::array items{builder.none(), builder.boolean(true), object, ordered};
    const NodeId list = builder.list(items);
    builder.append(list, builder.persistentId(builder.tuple(std::array{key, key})));
    builder.setItem(dict, key, list);
    const auto written = emitPickle(builder.finish(dict));
    REQUIRE(written);

    const PickleGraph graph = fixture::parse(*written);
    const auto read = graph.items(lookup(graph, graph.root(), "key"));
    REQUIRE(read.size() == 5);
    CHECK(graph.kind(read[0]) == NodeKind::None);
    CHECK(asBool(graph, read[1]) == true);
    const auto view = asObject(graph, read[2]);
    REQUIRE(view);
    CHECK(view->module == "pkg");
    CHECK(view->className == "Class");
    CHECK(asNumber(graph, lookup(graph, view->attributes, "key")) == 0.5);
    CHECK(asInteger(graph, lookup(graph, read[3], "key")) == -7);
    CHECK(asInteger(graph, lookup(graph, read[3], "key2")) == INT64_MIN);
    const auto target = graph.items(graph.target(read[4]));
    CHECK(target[0] == target[1]);
    CHECK(target[0] == graph.items(graph.root())[0]); // one string object, used four times
    CHECK(emitPickle(graph).value() == *written);
}

TEST_CASE("equal strings built twice stay two objects")
{
    PickleBuilder builder;
    const std::array items{builder.string("a"), builder.string("a")};
    CHECK(emitPickle(builder.finish(builder.list(items))).value()
        == "\x80\x02]q\x00(X\x01\x00\x00\x00"s + "aq\x01X\x01\x00\x00\x00"s + "aq\x02" + "e.");
}

TEST_CASE("the builder is empty after finish, and texts beyond one chunk are kept")
{
    PickleBuilder builder;
    std::vector<NodeId> items;
    for (int i = 0; i < 5; ++i)
        items.push_back(builder.string(std::string(700000, static_cast<char>('a' + i))));
    const PickleGraph first = builder.finish(builder.list(items));
    const PickleGraph second = builder.finish(builder.string("alone"));
    CHECK(second.nodeCount() == 1);
    CHECK(second.text(second.root()) == "alone");
    for (size_t i = 0; i < 5; ++i) {
        CHECK(first.text(first.items(first.root())[i]).size() == 700000);
        CHECK(
            first.text(first.items(first.root())[i]).back() == static_cast<char>('a' + static_cast<int>(i)));
    }
}

TEST_CASE("a substituted node is replaced everywhere, and the rest keeps its sharing")
{
    const PickleGraph source = fixture::parse(fixture::readPickle("optimizer_states"));
    const NodeId outer = lookup(source, source.root(), "optimizer_state_dict");
    const NodeId overflow = lookup(source, outer, "overflow");
    const NodeId groups = lookup(source, outer, "single_partition_of_fp32_groups");
    REQUIRE(groups != kNoNode);
    PickleBuilder builder;
    PickleImporter importer(builder, source);
    importer.substitute(overflow, builder.boolean(true));
    importer.substitute(groups, builder.list());
    const NodeId root = importer.import(source.root());
    CHECK(importer.import(outer) != kNoNode);
    CHECK(importer.import(outer) == importer.import(outer));
    const auto written = emitPickle(builder.finish(root));
    REQUIRE(written);
    const PickleGraph edited = fixture::parse(*written);
    const NodeId after = lookup(edited, edited.root(), "optimizer_state_dict");
    CHECK(asBool(edited, lookup(edited, after, "overflow")) == true);
    CHECK(asBool(edited, lookup(edited, after, "dynamic_loss_scale")) == true);
    CHECK(edited.items(lookup(edited, after, "single_partition_of_fp32_groups")).empty());
    CHECK(asObject(edited, lookup(edited, after, "loss_scaler"))->className == "DynamicLossScaler");
    CHECK(
        edited.kind(lookup(edited, after, "zero_stage")) == source.kind(lookup(source, outer, "zero_stage")));
}

TEST_CASE("parts of two graphs are combined in one")
{
    PickleBuilder builder;
    std::array<NodeId, 3> parts{};
    {
        const PickleGraph first
            = fixture::parse(fixture::readPickle("protocol0")); // decoded texts and the stream's
        const PickleGraph second = fixture::parse(fixture::readPickle("protocol5"));
        parts[0] = PickleImporter(builder, first).import(lookup(first, first.root(), "shared"));
        parts[1] = PickleImporter(builder, second).import(lookup(second, second.root(), "nested_class"));
        parts[2] = PickleImporter(builder, second).import(lookup(second, second.root(), "loop"));
    }
    const auto written = emitPickle(builder.finish(builder.list(parts)));
    REQUIRE(written);
    const PickleGraph graph = fixture::parse(*written);
    const auto items = graph.items(graph.root());
    const auto shared = graph.items(items[0]);
    CHECK(graph.text(shared[1]) == "shared");
    CHECK(shared[0] == shared[2]);
    CHECK(shared[0] != shared[1]);
    CHECK(graph.items(items[2])[1] == items[2]);
}

TEST_CASE(
    "P15: a million nested containers are built, imported, written, parsed and destroyed without recursion")
{
    constexpr size_t kDepth = 1000000;
    for (const int kind : {0, 1, 2, 3, 4}) {
        CAPTURE(kind);
        PickleBuilder builder;
        const NodeId callable = builder.global("m", "f");
        const NodeId key = builder.string("k");
        NodeId node = builder.none();
        for (size_t i = 0; i < kDepth; ++i) {
            NodeId outer = kNoNode;
            if (kind == 0) {
                outer = builder.list(std::span(&node, 1));
            } else if (kind == 1) {
                outer = builder.tuple(std::span(&node, 1));
            } else if (kind == 2) {
                outer = builder.dict();
                builder.setItem(outer, key, node);
            } else if (kind == 3) { // each call's result is called
                outer = builder.reduce(i == 0 ? callable : node, builder.tuple({}));
            } else {
                outer = builder.newObj(callable, builder.tuple({}));
                builder.setState(outer, node);
            }
            node = outer;
        }
        const PickleGraph built = builder.finish(node);
        CHECK(nodeText(built, built.root()).size() < 250);
        PickleBuilder copies;
        const NodeId root = PickleImporter(copies, built).import(built.root());
        const auto written = emitPickle(copies.finish(root));
        REQUIRE(written);
        const PickleGraph parsed = fixture::parse(*written);
        CHECK(parsed.nodeCount() >= kDepth);
        CHECK(emitPickle(parsed).value() == *written);
    }
}

TEST_CASE("P16: sharing is never expanded")
{
    PickleBuilder builder;
    NodeId node = builder.list();
    for (int i = 0; i < 60; ++i)
        node = i % 2 == 0 ? builder.list(std::array{node, node}) : builder.tuple(std::array{node, node});
    const auto written = emitPickle(builder.finish(node));
    REQUIRE(written);
    CHECK(written->size() < 1000);
    const PickleGraph graph = fixture::parse(*written);
    CHECK(graph.nodeCount() == 61);
    CHECK(nodeText(graph, graph.root()).size() < 250);
    CHECK(emitPickle(graph).value() == *written);
}

namespace {

/// A graph that grows by random nodes.
struct RandomGraph {
    explicit RandomGraph(std::mt19937& source)
        : random(source)
    {
    }

    size_t below(size_t bound) { return static_cast<size_t>(random() % bound); }

    void addNode()
    {
        const auto pick = [&] { return nodes[below(nodes.size())]; };
        switch (below(10)) {
        case 0:
            nodes.push_back(
                builder.integer(static_cast<int64_t>((uint64_t{random()} << 32 | random()) >> below(64))));
            break;
        case 1:
            nodes.push_back(builder.string(std::string(below(5), 's')));
            break;
        case 2:
            nodes.push_back(lists.emplace_back(builder.list()));
            break;
        case 3:
            nodes.push_back(dicts.emplace_back(builder.dict()));
            break;
        case 4: {
            std::vector<NodeId> items(below(6));
            for (NodeId& item : items)
                item = pick();
            nodes.push_back(tuples.emplace_back(builder.tuple(items)));
            break;
        }
        case 5:
            nodes.push_back(builder.reduce(nodes[1], tuples[below(tuples.size())]));
            builder.setState(nodes.back(), pick());
            break;
        case 6: // cycles arise here
            if (!lists.empty())
                builder.append(lists[below(lists.size())], pick());
            break;
        case 7:
            if (!dicts.empty())
                builder.setItem(dicts[below(dicts.size())], pick(), pick());
            break;
        case 8:
            nodes.push_back(builder.newObj(nodes[1], tuples[below(tuples.size())]));
            builder.append(nodes.back(), pick());
            break;
        default:
            nodes.push_back(builder.persistentId(pick()));
        }
    }

    std::mt19937& random;
    PickleBuilder builder;
    std::vector<NodeId> nodes{builder.none(), builder.global("m", "g")};
    std::vector<NodeId> tuples{builder.tuple({})};
    std::vector<NodeId> lists;
    std::vector<NodeId> dicts;
};

} // namespace

TEST_CASE("random graphs come back as they were")
{
    std::mt19937 random(20260101);
    for (int round = 0; round < 300; ++round) {
        RandomGraph made(random);
        for (size_t step = 0; step < 5 + made.below(300); ++step)
            made.addNode();
        const NodeId root = made.builder.list(made.nodes);
        const PickleGraph graph = made.builder.finish(root);
        const auto written = emitPickle(graph);
        REQUIRE(written);
        const PickleGraph parsed = fixture::parse(*written);
        CHECK(emitPickle(parsed).value() == *written);
        PickleBuilder copies;
        const NodeId copy = PickleImporter(copies, graph).import(graph.root());
        CHECK(emitPickle(copies.finish(copy)).value() == *written);
    }
}
