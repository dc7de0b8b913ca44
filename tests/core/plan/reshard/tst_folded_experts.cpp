// SPDX-License-Identifier: Apache-2.0
// AutoEP's experts folded over tensor slices: what stock DeepSpeed compares with its own run before it loads.
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/layout/slices/merged_slices.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace shardscope;
using test::openForPlan;
using test::planSample;

namespace {

const PickleGraph& graphOf(const Checkpoint& checkpoint, const std::string& name)
{
    const auto file = std::find_if(checkpoint.files.begin(), checkpoint.files.end(),
        [&](const CheckpointFile& candidate) { return candidate.name == name; });
    REQUIRE_MESSAGE(file != checkpoint.files.end(), name);
    REQUIRE(file->content);
    return file->content->pickle();
}

std::string foldingIn(const Checkpoint& checkpoint, const std::string& name)
{
    const PickleGraph& graph = graphOf(checkpoint, name);
    return nodeText(graph, lookup(graph, graph.root(), kFolding));
}

struct Fold {
    int64_t expertRank = -1;
    int64_t rank = -1;
    int64_t count = -1;
    bool operator==(const Fold&) const = default;
};

Fold foldIn(const Checkpoint& checkpoint, const std::string& name)
{
    const PickleGraph& graph = graphOf(checkpoint, name);
    const NodeId folding = lookup(graph, graph.root(), kFolding);
    const auto number
        = [&](const char* key) { return asInteger(graph, lookup(graph, folding, key)).value_or(-1); };
    return {number("ep_rank"), number("zero_partition_rank"), number("zero_partition_count")};
}

/// Of one parameter in an optimizer file's `param_families`.
Fold partitionOf(const Checkpoint& checkpoint, const std::string& file, const std::string& param)
{
    const PickleGraph& graph = graphOf(checkpoint, file);
    const NodeId families = lookup(graph, lookup(graph, graph.root(), kFolding), "param_families");
    const NodeId entry = lookup(graph, families, param);
    const auto number
        = [&](const char* key) { return asInteger(graph, lookup(graph, entry, key)).value_or(-1); };
    return {-1, number("zero_partition_rank"), number("zero_partition_count")};
}

} // namespace

TEST_CASE("every slice's data-parallel ranks come in families of expert-parallel ranks of their own")
{
    const CheckpointPtr source = openForPlan(planSample("folded-w4"));
    CHECK(source->parallel.ranks() == 4);
    CHECK(source->parallel.ep == 4);
    // For rank 2 × dp + tp the value is that number.
    for (uint32_t expert = 0; expert < 4; ++expert) {
        CAPTURE(expert);
        const auto param = source->findParam("layers.1.mlp.experts.w3." + std::to_string(expert));
        REQUIRE(param);
        const FlatUnit& unit = *source->unitOf(*param);
        CHECK(unit.partition.ranks() == 1);
        CHECK(source->rankOf(unit, 0) == RankCoordinate{expert / 2, expert % 2, 0});
    }
    const FusedExperts ofSecond = FusedExperts::of(*source->parts[1]);
    CHECK(ofSecond.slices() == 2);
    CHECK(ofSecond.families() == 2);
    CHECK(ofSecond.rankOf(1) == 3);
}

TEST_CASE("our own rewrite of folded experts records what stock DeepSpeed recorded")
{
    const test::TemporaryFolder folder;
    for (const char* sample : {"folded-w4", "folded-zero3-w4"}) {
        CAPTURE(sample);
        const CheckpointPtr source = openForPlan(planSample(sample));
        const CheckpointPtr again = test::rewrite(source, {.worldSize = 4}, folder / sample);
        test::checkSameState(again, source);
        for (const CheckpointFile& file : source->files) {
            if (!parseCheckpointFileName(file.name))
                continue;
            CAPTURE(file.name);
            CHECK(foldingIn(*again, file.name) == foldingIn(*source, file.name));
        }
    }
}

TEST_CASE("folded experts are cut for the new ranks of every slice")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("folded-w4"));
    const CheckpointPtr eight = test::rewrite(source, {.worldSize = 8}, folder / "eight");
    test::checkSameState(eight, source);
    CHECK(eight->parallel.dp == 4);
    CHECK(eight->parallel.ep == 4);
    // Data-parallel rank 3 of slice 1 is rank 7 of all: expert-parallel rank 3, the second that has it.
    const std::string last = "bf16_zero_pp_rank_3_mp_rank_01_optim_states.pt";
    CHECK(foldIn(*eight, last) == Fold{3, 3, 4});
    CHECK(partitionOf(*eight, last, "head.weight") == Fold{-1, 3, 4});
    CHECK(partitionOf(*eight, last, "layers.0.mlp.experts.w2") == Fold{-1, 1, 2});
    CHECK(foldIn(*eight, "mp_rank_01_model_states.pt") == Fold{1, 0, 4});
    CHECK(foldIn(*eight, "layer_0_expert_3_mp_rank_01_model_states.pt") == Fold{3, 0, 2});
    const PickleGraph& model = graphOf(*eight, "mp_rank_01_model_states.pt");
    for (const NodeId layer : sequenceItems(model, lookup(model, model.root(), "ds_autoep_layers"))) {
        CHECK(asInteger(model, lookup(model, layer, "ep_rank")) == 1);
        CHECK(asInteger(model, lookup(model, layer, "expert_data_parallel_world_size")) == 2);
    }
}

TEST_CASE("under ZeRO-3 partition groups name the ranks of all slices")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("folded-zero3-w4"));
    const CheckpointPtr six = test::rewrite(source, {.worldSize = 6}, folder / "six");
    test::checkSameState(six, source);
    const std::string name = "bf16_zero_pp_rank_2_mp_rank_01_optim_states.pt";
    const PickleGraph& graph = graphOf(*six, name);
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    const auto groups = sequenceItems(graph, lookup(graph, wrapper, "ds_zero_partition_groups"));
    REQUIRE(groups.size() == 2);
    for (const NodeId group : groups)
        CHECK(nodeText(graph, lookup(graph, group, "partition_ranks")) == "[1, 3, 5]");
    CHECK(foldIn(*six, name) == Fold{1, 2, 3});
    CHECK(foldIn(*six, "zero_pp_rank_2_mp_rank_01_model_states.pt") == Fold{1, 2, 3});
}

TEST_CASE("unsupported rewrites of folded experts are refused by name")
{
    const CheckpointPtr source = openForPlan(planSample("folded-w4"));
    const auto refusal = [&](const ReshardOptions& options) {
        JobContext job;
        const auto plan = planReshard(io::realFileSystem(), source, options, job);
        REQUIRE(!plan.has_value());
        return plan.error();
    };
    const Error odd = refusal({.worldSize = 6});
    CHECK(odd.code == ErrorCode::Usage);
    CHECK(odd.message == "6 ranks do not divide by 4 expert-parallel ranks");
    CHECK(odd.hint.text == "choose 4 or 8");
    for (const ReshardOptions& options : {ReshardOptions{.form = TargetForm::Universal},
             ReshardOptions{.worldSize = 4, .tp = 1}, ReshardOptions{.worldSize = 4, .tp = 4},
             ReshardOptions{.worldSize = 4, .stage = 3}, ReshardOptions{.worldSize = 4, .ep = 2}})
        CHECK(refusal(options).code == ErrorCode::Unsupported);
}

TEST_CASE("the plan reports the degrees that the resumed run must have")
{
    const auto plan = test::planFor(openForPlan(planSample("folded-zero3-w4")), {.worldSize = 2});
    const auto& required = plan->reshard->mustStayEqual;
    for (const char* key : {"expert_parallel.autoep_size", "tensor_parallel.autotp_size"})
        CHECK(std::find(required.begin(), required.end(), std::pair<std::string, std::string>(key, "2"))
            != required.end());
}

TEST_CASE("slices are merged next to experts that are not sliced")
{
    const CheckpointPtr source = openForPlan(planSample("folded-w4"));
    const auto wholeModel = mergeSlices(source);
    REQUIRE_MESSAGE(wholeModel.has_value(), describe(wholeModel.error()));
    const Checkpoint& whole = **wholeModel;
    CHECK(whole.params.size() == 17 + 2 * 3 * 4);
    std::set<std::string> experts;
    for (const ParamId param : whole.units[1].params)
        experts.insert(whole.params[index(param)].name);
    CHECK(experts.size() == 2 * 3 * 4);
    CHECK(experts.contains("layers.0.mlp.experts.w1.3"));
    CHECK(whole.params[index(*whole.findParam("layers.0.up_proj.weight"))].shape == Shape{48, 12});
}
