// SPDX-License-Identifier: Apache-2.0
// Patterns that say how tensor slices are merged, and their results.
#include "core/layout/slices/slice_pieces.h"
#include "core/layout/slices/slice_rules.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace shardscope;

namespace {

SliceRules rulesOf(const std::string& json)
{
    auto rules = SliceRules::fromJson(json, "patterns.json");
    REQUIRE_MESSAGE(rules, (rules ? std::string() : rules.error().message));
    return std::move(*rules);
}

std::string refusalOf(const std::string& json)
{
    const auto rules = SliceRules::fromJson(json, "patterns.json");
    REQUIRE(!rules);
    CHECK(rules.error().code == ErrorCode::Usage);
    return rules.error().message;
}

/// Elements of slices, numbered slice × 1000 + element, in the order of the whole.
std::vector<uint64_t> wholeOf(const RuledPieces& made)
{
    std::vector<uint64_t> out;
    forEachSliceRun(made.pieces, 0, *elementCount(made.shape), [&](const SliceRun& run) {
        REQUIRE(run.element == out.size());
        for (uint64_t i = 0; i < run.elements; ++i)
            out.push_back(index(run.slice) * 1000 + run.sliceElement + i);
        return true;
    });
    REQUIRE(out.size() == *elementCount(made.shape));
    return out;
}

RuledPieces madeOf(const SliceRules& rules, const std::string& name, const std::vector<Shape>& shapes)
{
    ParamSlices slices;
    slices.shapes = shapes;
    for (uint32_t i = 0; i < shapes.size(); ++i)
        slices.ids.push_back(ParamId{i});
    const auto rule = rules.ruleFor(name);
    REQUIRE(rule);
    auto made = piecesOf(*rule, slices);
    REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message));
    return std::move(*made);
}

std::string misfitOf(const SliceRules& rules, const std::string& name, const std::vector<Shape>& shapes)
{
    ParamSlices slices;
    slices.shapes = shapes;
    for (uint32_t i = 0; i < shapes.size(); ++i)
        slices.ids.push_back(ParamId{i});
    const auto made = piecesOf(*rules.ruleFor(name), slices);
    REQUIRE(!made);
    return made.error().message;
}

std::vector<uint64_t> rows(std::initializer_list<std::pair<uint32_t, uint32_t>> sliceAndRow, uint64_t width)
{
    std::vector<uint64_t> out;
    for (const auto& [slice, row] : sliceAndRow) {
        for (uint64_t i = 0; i < width; ++i)
            out.push_back(slice * 1000 + row * width + i);
    }
    return out;
}

} // namespace

TEST_CASE("slices are merged as the categories of universal_checkpoint_info say")
{
    const SliceRules rules = rulesOf(R"({
        "vocabulary_parameter_patterns": ["embed"], "original_vocab_size": 3,
        "parameter_with_row_parallelism_patterns": ["h\\.\\d+\\.down"],
        "tp_replicated_parameter_patterns": [".*norm\\.(weight|bias)$"],
        "parameter_to_average_patterns": ["mean"],
        "parameter_with_2_sub_params_cat_dim_0": ["h\\.[0-9]+\\.gate"],
        "parameter_with_sub_params": [
            {"patterns": ["qkv"], "shape": [[4, 2, 2], 3], "partition_dim": 0},
            {"patterns": ["legacy"], "shape": [3, -1], "partition_dim": 0}]})");
    const auto dimension0 = madeOf(rules, "anything", {{2, 3}, {1, 3}});
    CHECK(dimension0.shape == Shape{3, 3});
    CHECK(wholeOf(dimension0) == rows({{0, 0}, {0, 1}, {1, 0}}, 3));
    CHECK(!rules.ruleFor("anything")->isNamed);
    const auto columns = madeOf(rules, "h.12.down.weight", {{2, 2}, {2, 1}});
    CHECK(columns.shape == Shape{2, 3});
    CHECK(wholeOf(columns) == std::vector<uint64_t>{0, 1, 1000, 2, 3, 1001});
    CHECK(columns.marks.catDimension == 1);
    for (const char* name : {"final_norm.weight", "mean.weight"}) {
        const auto copies = madeOf(rules, name, {{4}, {4}});
        CHECK(copies.alike);
        CHECK(wholeOf(copies) == std::vector<uint64_t>{0, 1, 2, 3});
    }
    const auto halves = madeOf(rules, "h.0.gate", {{4, 2}, {2, 2}});
    CHECK(wholeOf(halves) == rows({{0, 0}, {0, 1}, {1, 0}, {0, 2}, {0, 3}, {1, 1}}, 2));
    CHECK(halves.marks.subParams == 2);
    const auto parts = madeOf(rules, "qkv.weight", {{4, 3}, {4, 3}});
    CHECK(wholeOf(parts) == rows({{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}}, 3));
    CHECK(parts.marks.subShape->sizes == std::vector<uint64_t>{4, 2, 2});
    const auto equal = madeOf(rules, "legacy", {{3, 2}, {3, 2}});
    CHECK(wholeOf(equal) == rows({{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}}, 2));
    const auto vocabulary = madeOf(rules, "embed.weight", {{2, 2}, {2, 2}});
    CHECK(vocabulary.shape == Shape{3, 2});
    CHECK(vocabulary.marks.isVocabulary);
    CHECK(vocabulary.marks.paddingRows == 1);
    CHECK(wholeOf(vocabulary) == rows({{0, 0}, {0, 1}, {1, 0}}, 2));
}

TEST_CASE("sub-parameters that ranks share unevenly follow the recorded widths")
{
    const SliceRules rules = rulesOf(R"({"universal_checkpoint_version": 0.4,
        "parameter_with_sub_params": [{"patterns": ["qkv"], "shape": [[3, 1], 2], "partition_dim": 0}],
        "sub_param_shard_widths": {"qkv": [[2, 1], [1, 0]]}})");
    const auto made = madeOf(rules, "qkv", {{3, 2}, {1, 2}});
    CHECK(wholeOf(made) == rows({{0, 0}, {0, 1}, {1, 0}, {0, 2}}, 2));
    CHECK(misfitOf(rules, "qkv", {{2, 2}, {2, 2}}).find("sub_param_shard_widths") != std::string::npos);
    const SliceRules without = rulesOf(R"({"universal_checkpoint_version": 0.4,
        "parameter_with_sub_params": [{"patterns": ["qkv"], "shape": [[3, 1], 2], "partition_dim": 0}]})");
    CHECK(!without.ruleFor("qkv"));
}

TEST_CASE("slices that do not fit their pattern are refused")
{
    const SliceRules rules = rulesOf(R"({
        "vocabulary_parameter_patterns": ["embed"], "original_vocab_size": 9,
        "parameter_with_row_parallelism_patterns": ["row"], "tp_replicated_parameter_patterns": ["same"],
        "parameter_with_2_sub_params_cat_dim_0": ["gate"],
        "parameter_with_sub_params": [{"patterns": ["qkv"], "shape": [[4, 2], 3], "partition_dim": 0},
                                      {"patterns": ["view"], "shape": [[4, 2], 3, 2], "partition_dim": 0},
                                      {"patterns": ["none"], "shape": [0, -1], "partition_dim": 0}]})");
    CHECK(misfitOf(rules, "row", {{2}, {2}}).find("no dimension 1") != std::string::npos);
    CHECK(misfitOf(rules, "row", {{2, 2}, {3, 2}}).find("other dimensions") != std::string::npos);
    CHECK(misfitOf(rules, "same", {{2}, {3}}).find("different shapes") != std::string::npos);
    CHECK(misfitOf(rules, "gate", {{3, 2}, {3, 2}}).find("2 equal parts") != std::string::npos);
    CHECK(misfitOf(rules, "qkv", {{4, 3}, {4, 3}}).find("sub-parameters") != std::string::npos);
    CHECK(misfitOf(rules, "view", {{3, 6}, {3, 6}}).find("the shape that the pattern gives them")
        != std::string::npos);
    CHECK(misfitOf(rules, "none", {{3, 6}, {3, 6}}).find("0 equal") != std::string::npos);
    CHECK(misfitOf(rules, "embed", {{4, 2}, {4, 2}}).find("fewer than the vocabulary's 9")
        != std::string::npos);
    constexpr uint64_t kHuge = uint64_t{1} << 63;
    CHECK(misfitOf(rules, "rest", {{kHuge, 1}, {kHuge, 1}}).find("larger") != std::string::npos);
}

TEST_CASE("invalid pattern objects are refused with the reason")
{
    CHECK(refusalOf("[]").find("not a JSON object") != std::string::npos);
    CHECK(refusalOf("{").find("not a JSON object") != std::string::npos);
    CHECK(refusalOf(R"({"row_patterns": []})").find("`row_patterns`") != std::string::npos);
    CHECK(refusalOf(R"({"parameter_to_average_patterns": "a"})").find("no list") != std::string::npos);
    CHECK(refusalOf(R"({"parameter_to_average_patterns": ["(a"]})").find("`(a`") != std::string::npos);
    CHECK(refusalOf(R"({"parameter_to_average_patterns": [7]})").find("not a pattern") != std::string::npos);
    CHECK(refusalOf(R"({"original_vocab_size": -1})").find("original_vocab_size") != std::string::npos);
    for (const char* entry : {R"({})", R"({"patterns": ["a"], "shape": [[1]], "partition_dim": 1})",
             R"({"patterns": ["a"], "shape": [["x"]], "partition_dim": 0})",
             R"({"patterns": ["a"], "shape": 3, "partition_dim": 0})",
             R"({"patterns": ["a"], "shape": [[1]], "partition_dim": -1})", "7"}) {
        CAPTURE(entry);
        CHECK(refusalOf(std::string(R"({"parameter_with_sub_params": [)") + entry + "]}")
                  .find("parameter_with_sub_params")
            != std::string::npos);
    }
}

TEST_CASE("patterns that contradict each other, or match nothing, are reported")
{
    const SliceRules rules = rulesOf(
        R"({"parameter_with_row_parallelism_patterns": ["a", "a.*b"], "vocabulary_parameter_patterns": ["v"]})");
    const auto twice = rules.ruleFor("a.b");
    REQUIRE(!twice);
    CHECK(twice.error().message.find("more than once") != std::string::npos);
    CHECK(!rules.ruleFor("v")); // no original_vocab_size
    CHECK(rules.unusedPattern({"a", "v"}) == "a.*b");
    CHECK(rules.unusedPattern({"a..b", "v"}).empty());
    // Expressions on which a backtracking matcher never ends.
    const SliceRules deep = rulesOf(R"({"tp_replicated_parameter_patterns": ["(x+x+)+y"]})");
    CHECK(!deep.ruleFor(std::string(100'000, 'x'))->isNamed);
}
