// SPDX-License-Identifier: Apache-2.0
#include "core/report/json/pickle_json.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>

using namespace shardscope;
using Json = nlohmann::json;

namespace {

std::string textOf(const PickleGraph& graph)
{
    return jsonText([&](JsonWriter& json) { writeNode(json, graph, graph.root()); });
}

} // namespace

TEST_CASE("plain values are themselves, the last of equal keys counts")
{
    PickleBuilder builder;
    const NodeId dict = builder.dict();
    builder.setItem(dict, builder.string("lr"), builder.real(0.5));
    builder.setItem(dict, builder.string("lr"), builder.real(0.25));
    builder.setItem(dict, builder.string("amsgrad"), builder.boolean(false));
    builder.setItem(
        dict, builder.string("betas"), builder.tuple(std::array{builder.real(0.9), builder.integer(1)}));
    builder.setItem(dict, builder.string("none"), builder.none());
    builder.setItem(dict, builder.integer(7), builder.string("seven"));
    builder.setItem(dict, builder.string("class"), builder.global("os", "system"));
    const Json object = Json::parse(textOf(builder.finish(dict)));
    CHECK(object.at("lr") == 0.25);
    CHECK(object.at("amsgrad") == false);
    CHECK(object.at("betas") == Json::parse("[0.9, 1]"));
    CHECK(object.at("none").is_null());
    CHECK(object.at("7") == "seven");
    CHECK(object.at("class").is_string()); // recorded, not resolved
    CHECK(object.size() == 6);
}

TEST_CASE("a few nodes that represent billions make a short answer")
{
    PickleBuilder builder;
    NodeId node = builder.string("lol");
    for (int level = 0; level < 60; ++level) {
        const std::array<NodeId, 10> items{node, node, node, node, node, node, node, node, node, node};
        node = builder.list(items);
    }
    const std::string text = textOf(builder.finish(node));
    CHECK(text.size() < 10'000'000);
    CHECK(Json::parse(text).is_array());
}

TEST_CASE("deep nesting causes no crash")
{
    PickleBuilder builder;
    NodeId node = builder.none();
    for (int level = 0; level < 1'000'000; ++level)
        node = builder.list(std::array{node});
    CHECK(Json::accept(textOf(builder.finish(node))));
}
