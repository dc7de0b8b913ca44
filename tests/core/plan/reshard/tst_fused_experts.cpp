// SPDX-License-Identifier: Apache-2.0
// AutoEP's experts for another number of data-parallel ranks: files as stock DeepSpeed writes them there.
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace shardscope;
using test::openForPlan;
using test::planSample;

namespace {

struct Spot {
    int64_t start = 0;
    int64_t elements = 0;
    bool operator==(const Spot&) const = default;
};

/// `param_slice_mappings` of one rank's file, group by group.
std::vector<std::map<std::string, Spot>> placesOn(const Checkpoint& checkpoint, uint32_t rank)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.optimFiles[rank]).content->pickle();
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    std::vector<std::map<std::string, Spot>> out;
    for (const NodeId group : sequenceItems(graph, lookup(graph, wrapper, "param_slice_mappings"))) {
        auto& places = out.emplace_back();
        const auto items = mappingItems(graph, group);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto address = asObject(graph, items[i + 1]);
            REQUIRE(address);
            const auto number = [&](const char* key) {
                return asInteger(graph, lookup(graph, address->attributes, key)).value_or(-1);
            };
            places.emplace(*asString(graph, items[i]), Spot{number("start"), number("numel")});
        }
    }
    return out;
}

/// How many ranks hold the same experts, according to both lists of the layers.
std::vector<int64_t> replicasIn(const Checkpoint& checkpoint)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    const NodeId info = lookup(graph, graph.root(), "universal_checkpoint_info");
    std::vector<int64_t> out;
    for (const NodeId root : {graph.root(), info}) {
        for (const NodeId entry : sequenceItems(graph, lookup(graph, root, "ds_autoep_layers")))
            out.push_back(
                asInteger(graph, lookup(graph, entry, "expert_data_parallel_world_size")).value_or(-1));
    }
    return out;
}

} // namespace

TEST_CASE("our own rewrite records the positions that stock DeepSpeed recorded")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("autoep-w4"));
    const CheckpointPtr again = test::rewrite(source, {.worldSize = 4}, folder / "again");
    test::checkSameState(again, source);
    CHECK(replicasIn(*source) == std::vector<int64_t>{2, 2, 2, 2});
    CHECK(replicasIn(*again) == replicasIn(*source));
    for (uint32_t rank = 0; rank < 4; ++rank) {
        CAPTURE(rank);
        CHECK(placesOn(*again, rank) == placesOn(*source, rank));
    }
}

TEST_CASE("experts of AutoEP are partitioned for the new ranks, under the names of their tensors")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("autoep-w4"));
    const CheckpointPtr two = test::rewrite(source, {.worldSize = 2}, folder / "two");
    test::checkSameState(two, source);
    CHECK(replicasIn(*two) == std::vector<int64_t>{1, 1, 1, 1});
    CHECK(two->parallel.ep == 2);
    const auto places = placesOn(*two, 1);
    REQUIRE(places.size() == 2);
    REQUIRE(places[1].size() == 6); // w1, w2, w3 of two layers, each of two experts of 120 elements
    CHECK(places[1].at("layers.0.mlp.experts.w1") == Spot{0, 240});
    CHECK(places[1].at("layers.1.mlp.experts.w3") == Spot{1200, 240});
    const CheckpointPtr eight = test::rewrite(two, {.worldSize = 8}, folder / "eight");
    test::checkSameState(eight, source);
    CHECK(replicasIn(*eight) == std::vector<int64_t>{4, 4, 4, 4});
    CHECK(placesOn(*eight, 2)[1].at("layers.0.mlp.experts.w2") == Spot{0, 120});
}

TEST_CASE("before 0.19.3 no file lists the shapes of AutoEP's tensors: the result does")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("ds0192-autoep-w4"));
    const CheckpointPtr two = test::rewrite(source, {.worldSize = 2}, folder / "two");
    test::checkSameState(two, source);
    const PickleGraph& graph = two->file(two->templateModel).content->pickle();
    const auto groups = sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"));
    REQUIRE(groups.size() == 2);
    CHECK(mappingItems(graph, groups[1]).size() == 2 * 6);
    CHECK(asShape(graph, lookup(graph, groups[1], "layers.1.mlp.experts.w2")) == Shape{2, 12, 10});
    CHECK(placesOn(*two, 0)[1].at("layers.0.mlp.experts.w2") == Spot{240, 240});
}

TEST_CASE("the plan reports the degree that the resumed run must have")
{
    const auto plan = test::planFor(openForPlan(planSample("autoep-w4")), {.worldSize = 2});
    const auto& required = plan->reshard->mustStayEqual;
    const auto degree = std::pair<std::string, std::string>("expert_parallel.autoep_size", "2");
    CHECK(std::find(required.begin(), required.end(), degree) != required.end());
}

namespace {

/// Both lists of AutoEP's layers, in full.
std::vector<std::string> layersIn(const Checkpoint& checkpoint)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    const NodeId info = lookup(graph, graph.root(), "universal_checkpoint_info");
    std::vector<std::string> out;
    for (const NodeId root : {graph.root(), info})
        out.push_back(nodeText(graph, lookup(graph, root, "ds_autoep_layers")));
    return out;
}

} // namespace

TEST_CASE("experts of AutoEP are repartitioned to another number of expert-parallel ranks, and back")
{
    for (const char* sample : {"autoep-w4", "ds0192-autoep-w4"}) {
        CAPTURE(sample);
        const CheckpointPtr source = openForPlan(planSample(sample));
        for (const uint32_t degree : {1u, 4u}) {
            CAPTURE(degree);
            const test::TemporaryFolder folder;
            const CheckpointPtr repartitioned
                = test::rewrite(source, {.worldSize = 4, .ep = degree}, folder / "repartitioned");
            test::checkSameState(repartitioned, source);
            CHECK(repartitioned->parallel.ep == degree);
            const int64_t replicas = 4 / degree;
            if (replicasIn(*source).front() > 0) // otherwise 0.19.2, which does not record it
                CHECK(replicasIn(*repartitioned) == std::vector<int64_t>(4, replicas));
            const FlatUnit& unit
                = *repartitioned->unitOf(*repartitioned->findParam("layers.1.mlp.experts.w2.3"));
            CHECK(unit.partition.ranks() == 4 / degree);
            CHECK(unit.params.size() == 2 * 3 * 4 / degree);
            const CheckpointPtr back
                = test::rewrite(repartitioned, {.worldSize = 4, .ep = 2}, folder / "back");
            test::checkSameState(back, source);
            CHECK(layersIn(*back) == layersIn(*source));
            for (uint32_t rank = 0; rank < 4; ++rank)
                CHECK(placesOn(*back, rank) == placesOn(*source, rank));
            const PickleGraph& graph = repartitioned->file(repartitioned->templateModel).content->pickle();
            const auto groups = sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"));
            REQUIRE(groups.size() == 2);
            CHECK(asShape(graph, lookup(graph, groups[1], "layers.1.mlp.experts.w2"))
                == Shape{4 / degree, 12, 10});
            const auto options = nodeText(repartitioned->file(repartitioned->templateOptim).content->pickle(),
                repartitioned->groups[1].options);
            CHECK(options.find("ep_size_" + std::to_string(degree)) != std::string::npos);
        }
    }
}

TEST_CASE("the expert-parallel degree that was asked for is what the resumed run must have")
{
    const auto plan = test::planFor(openForPlan(planSample("autoep-w4")), {.worldSize = 4, .ep = 4});
    const auto& required = plan->reshard->mustStayEqual;
    const auto degree = std::pair<std::string, std::string>("expert_parallel.autoep_size", "4");
    CHECK(std::find(required.begin(), required.end(), degree) != required.end());
}

TEST_CASE("unsupported rewrites of AutoEP's experts are refused by name")
{
    JobContext job;
    const auto refusal = [&](const ReshardOptions& options) {
        const auto plan
            = planReshard(io::realFileSystem(), openForPlan(planSample("autoep-w4")), options, job);
        REQUIRE(!plan.has_value());
        return plan.error();
    };
    CHECK(refusal({.worldSize = 3}).hint.text == "choose 2 or 4");
    const Error universal = refusal({.form = TargetForm::Universal});
    CHECK(universal.code == ErrorCode::Unsupported);
    CHECK(universal.message.find("AutoEP") != std::string::npos);
    const Error uneven = refusal({.worldSize = 6, .ep = 3});
    CHECK(uneven.code == ErrorCode::Usage);
    CHECK(uneven.message
        == "the 4 experts of `layers.0.mlp.experts.w1` do not divide by 3 expert-parallel ranks");
    CHECK(refusal({.worldSize = 2, .ep = 4}).hint.text == "choose 4");
    for (const int stage : {0, 1, 3})
        CHECK(refusal({.worldSize = 4, .stage = stage}).code == ErrorCode::Unsupported);
}

namespace {

/// "families" and "partition_ranks" of every sub-group, as a rank's optimizer file says.
std::vector<std::string> partitionGroupsOn(const Checkpoint& checkpoint, uint32_t rank)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.optimFiles[rank]).content->pickle();
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    std::vector<std::string> out;
    for (const NodeId entry : sequenceItems(graph, lookup(graph, wrapper, "ds_zero_partition_groups")))
        out.push_back(nodeText(graph, entry));
    return out;
}

} // namespace

TEST_CASE("under ZeRO-3 experts of AutoEP are partitioned over the ranks that have the same experts")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("autoep-zero3-w4"));
    const CheckpointPtr again = test::rewrite(source, {.worldSize = 4}, folder / "again");
    test::checkSameState(again, source);
    for (uint32_t rank = 0; rank < 4; ++rank)
        CHECK(partitionGroupsOn(*again, rank) == partitionGroupsOn(*source, rank));
    const CheckpointPtr six = test::rewrite(source, {.worldSize = 6}, folder / "six");
    test::checkSameState(six, source);
    const FlatUnit& experts = *six->unitOf(*six->findParam("layers.0.mlp.experts.w1:ep1"));
    CHECK(experts.partition.ranks() == 3);
    CHECK(experts.firstRank == 1);
    CHECK(experts.rankStride == 2);
    CHECK(partitionGroupsOn(*six, 3)[1].find("[1, 3, 5]") != std::string::npos);
    CHECK(replicasIn(*six) == std::vector<int64_t>{3, 3, 3, 3});
    test::checkSameState(test::rewrite(six, {.worldSize = 4}, folder / "back"), source);
}

TEST_CASE("unsupported rewrites of AutoEP under ZeRO-3 are refused")
{
    const CheckpointPtr source = openForPlan(planSample("autoep-zero3-w4"));
    const auto refusal = [&](const ReshardOptions& options) {
        JobContext job;
        const auto plan = planReshard(io::realFileSystem(), source, options, job);
        REQUIRE(!plan.has_value());
        return plan.error();
    };
    const Error odd = refusal({.worldSize = 3});
    CHECK(odd.code == ErrorCode::Usage);
    CHECK(odd.hint.text == "choose 2 or 4");
    const Error repartitioned = refusal({.worldSize = 4, .ep = 4});
    CHECK(repartitioned.code == ErrorCode::Unsupported);
    CHECK(repartitioned.message.find("AutoEP") != std::string::npos);
    CHECK(refusal({.worldSize = 4, .stage = 2}).code == ErrorCode::Unsupported);
    CHECK(refusal({.form = TargetForm::Universal}).code == ErrorCode::Unsupported);
}
