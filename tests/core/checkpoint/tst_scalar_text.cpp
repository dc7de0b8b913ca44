// SPDX-License-Identifier: Apache-2.0
// The text that digests of options and schedulers are computed from.
#include "core/checkpoint/model/scalar_text.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using namespace shardscope;

namespace {

ScalarSpelling spell(const std::function<NodeId(PickleBuilder&)>& make)
{
    PickleBuilder builder;
    const NodeId root = make(builder);
    const PickleGraph graph = builder.finish(root);
    return spellScalar(graph, graph.root());
}

/// What numpy.float64(x) is pickled as.
NodeId numpyScalar(PickleBuilder& builder, std::string_view module, std::string_view bytes)
{
    const std::array encodeArguments{builder.string(bytes), builder.string("latin1")};
    const NodeId encoded
        = builder.reduce(builder.global("_codecs", "encode"), builder.tuple(encodeArguments));
    const std::array typeArguments{builder.string("f8"), builder.boolean(false), builder.boolean(true)};
    const NodeId type = builder.reduce(builder.global("numpy", "dtype"), builder.tuple(typeArguments));
    const std::array arguments{type, encoded};
    return builder.reduce(builder.global(module, "scalar"), builder.tuple(arguments));
}

} // namespace

TEST_CASE("plain values have one text")
{
    const auto text = [](const auto& make) {
        const ScalarSpelling spelling = spell(make);
        CHECK(spelling.lacks.empty());
        return spelling.text;
    };
    CHECK(text([](PickleBuilder& builder) { return builder.none(); }) == "null");
    CHECK(text([](PickleBuilder& builder) { return builder.boolean(true); }) == "true");
    CHECK(text([](PickleBuilder& builder) { return builder.integer(-7); }) == "-7");
    CHECK(text([](PickleBuilder& builder) { return builder.real(0.1); }) == "0.10000000000000001");
    CHECK(text([](PickleBuilder& builder) { return builder.real(-0.0); }) == "-0");
    CHECK(text([](PickleBuilder& builder) { return builder.real(INFINITY); }) == "inf");
    CHECK(text([](PickleBuilder& builder) { return builder.string("a\"b\\c"); }) == R"("a\"b\\c")");
    CHECK(
        text([](PickleBuilder& builder) { return builder.global("torch", "float16"); }) == "<torch.float16>");
    CHECK(text([](PickleBuilder& builder) {
        const std::array items{builder.integer(1), builder.real(2)};
        return builder.tuple(items);
    }) == "[1,2]");
}

TEST_CASE("mappings and sets have one text, for any insertion order")
{
    const auto mapping = [](bool backwards) {
        return spell([&](PickleBuilder& builder) {
            const NodeId dict = builder.dict();
            const auto put = [&](const char* key, int64_t value) {
                builder.setItem(dict, builder.string(key), builder.integer(value));
            };
            put(backwards ? "b" : "a", backwards ? 2 : 1);
            put(backwards ? "a" : "b", backwards ? 1 : 2);
            return dict;
        }).text;
    };
    CHECK(mapping(false) == R"({"a":1,"b":2})");
    CHECK(mapping(true) == mapping(false));
    CHECK(spell([](PickleBuilder& builder) {
        const std::array items{builder.integer(3), builder.integer(1)};
        const std::array arguments{builder.list(items)};
        return builder.reduce(builder.global("builtins", "set"), builder.tuple(arguments));
    }).text
        == "{1,3}");
}

TEST_CASE("the text of a numpy number is its value, without numpy's module names")
{
    const auto text = [](std::string_view module, std::string_view bytes) {
        const ScalarSpelling spelling
            = spell([&](PickleBuilder& builder) { return numpyScalar(builder, module, bytes); });
        CHECK(spelling.lacks.empty());
        return spelling.text;
    };
    CHECK(text("numpy.core.multiarray", "12345678") == text("numpy._core.multiarray", "12345678"));
    CHECK(text("numpy.core.multiarray", "12345678") != text("numpy.core.multiarray", "12345679"));
}

TEST_CASE("omitted parts are marked, and shared parts do not make the text grow without limit")
{
    const auto nested = [](int levels, size_t width) {
        return spell([&](PickleBuilder& builder) {
            NodeId inner = builder.integer(1);
            for (int i = 0; i < levels; ++i)
                inner = builder.list(std::vector<NodeId>(width, inner));
            return inner;
        });
    };
    CHECK(nested(16, 1).lacks.empty());
    CHECK(!nested(17, 1).lacks.empty());
    const ScalarSpelling wide = nested(12, 50);
    CHECK(!wide.lacks.empty());
    CHECK(wide.text.size() < size_t{16} << 20);
}
