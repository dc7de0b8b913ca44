// SPDX-License-Identifier: Apache-2.0
// Universal folders that we write, and native checkpoints that we make of universal ones.
#include "core/plan/target/universal_names.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr const char* kNative[] = {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3",
    "aligned-w2", "ds0144-zero2-w2", "ds0144-zero3-w3"};

const ReshardOptions kUniversal{.form = TargetForm::Universal};

} // namespace

TEST_CASE("a universal folder holds the training state, and converts back to every stage")
{
    for (const char* name : kNative) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const CheckpointPtr universal = rewrite(source, kUniversal, folder.path() / "u");
        CHECK(universal->kind == CheckpointKind::Universal);
        CHECK(universal->tag == source->tag + "_universal");
        checkSameState(universal, source);
        for (const int stage : {1, 2, 3}) {
            CAPTURE(stage);
            const auto native
                = rewrite(universal, {.worldSize = 3, .stage = stage}, folder.path() / std::to_string(stage));
            CHECK(native->tag == source->tag);
            CHECK(native->zeroStage == stage);
            checkSameState(native, source);
        }
    }
}

TEST_CASE("both forms of stock's converter convert back to the native state, and to our form")
{
    for (const auto& [name, tag] : {std::pair("zero2-universal-w2", "global_step5_universal"),
             std::pair("zero3-universal-w3", "global_step3_universal")}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr native = openForPlan(planSample(name));
        REQUIRE(native->kind != CheckpointKind::Universal);
        const CheckpointPtr stock = openForPlan(planSample(name) / tag);
        REQUIRE(stock->kind == CheckpointKind::Universal);
        for (const int stage : {1, 2, 3})
            checkSameState(
                rewrite(stock, {.worldSize = 2, .stage = stage}, folder.path() / std::to_string(stage)),
                native);
        const CheckpointPtr ours = rewrite(stock, kUniversal, folder.path() / "u");
        CHECK(ours->tag == tag);
        checkSameState(ours, native);
    }
}

TEST_CASE("a universal folder has the files and keys that all stages of stock DeepSpeed read")
{
    const CheckpointPtr source = openForPlan(planSample("zero3-w4"));
    const auto plan = planFor(source, kUniversal);
    std::set<std::string> names;
    for (const PlannedFile& file : plan->files)
        names.insert(file.path);
    CHECK(names.contains("mp_rank_00_model_states.pt"));
    CHECK(names.contains("zero_pp_rank_0_mp_rank_00_model_states.pt"));
    CHECK(names.contains("zero/optimizer_state.pt"));
    for (const Parameter& param : source->params) {
        if (param.role != ParamRole::Trainable || param.sharedWith != kNoParam)
            continue;
        for (const char* state : {"fp32", "exp_avg", "exp_avg_sq", "step"})
            CHECK(names.contains(universalStateName(param.name, state)));
    }
    CHECK(plan->pointerName == "latest_universal");
    const TemporaryFolder folder;
    const CheckpointPtr made = rewrite(source, kUniversal, folder.path());
    const PickleGraph& optim = made->file(made->templateOptim).content->pickle();
    CHECK(asString(optim, lookup(optim, optim.root(), "ds_version")) == source->deepspeedVersion);
    const auto groups = sequenceItems(optim, lookup(optim, optim.root(), "param_groups"));
    CHECK(groups.size() == source->groups.size());
    const NodeId nested = lookup(optim, optim.root(), "optimizer_state_dict");
    CHECK(sequenceItems(optim, lookup(optim, nested, "param_groups")).size() == groups.size());
    const NodeId first = lookup(optim, lookup(optim, nested, "state"), int64_t{0});
    CHECK(lookup(optim, first, "step") != kNoNode);
    CHECK(lookup(optim, optim.root(), "fp32_flat_groups") == kNoNode);
}

TEST_CASE("names with slashes are folders in folders, written and read")
{
    const Patchable named("zero3-w4");
    const CheckpointPtr before = openForPlan(named.run());
    const std::string from = before->params[index(before->units.front().params.front())].name;
    const std::string to = "nested/inner/weight";
    named.operateOnAll("model_states.pt", [&](Surgery& surgery) {
        surgery.rename({"module"}, from, to);
        surgery.rename({"param_shapes", 0}, from, to);
    });
    const CheckpointPtr source = openForPlan(named.run());
    REQUIRE(source->findParam(to));
    const TemporaryFolder folder;
    const CheckpointPtr universal = rewrite(source, kUniversal, folder / "universal");
    CHECK(std::filesystem::is_regular_file(universal->tagFolder / "zero/nested/inner/weight/exp_avg.pt"));
    checkSameState(universal, source);
    // A link is followed to a parameter's folder, not to a folder of folders.
    std::filesystem::create_directory_symlink("..", universal->tagFolder / "zero/nested/inner/up");
    const CheckpointPtr again = openForPlan(folder / "universal");
    CHECK(again->files.size() == universal->files.size());
    const CheckpointPtr native = rewrite(universal, {.worldSize = 3, .stage = 3}, folder / "native");
    checkSameState(native, source);
}

TEST_CASE("states that a universal folder cannot hold are refused by name")
{
    for (const std::string& name : {std::string("/a"), std::string("a/"), std::string("a//b"),
             std::string("a/../../b"), std::string("../b"), std::string("a/./b"), std::string("a/fp32.pt"),
             std::string("a/") + std::string(256, 'x'), std::string("optimizer_state.pt/a"),
             std::string(".."), std::string("."), std::string(), std::string("a\0b", 3),
             std::string(256, 'x'), std::string("optimizer_state.pt")}) {
        CAPTURE(name);
        CHECK(!checkUniversalName(name).has_value());
    }
    CHECK(checkUniversalName("layers.0.w[1]*").has_value());
    CHECK(checkUniversalName("experts/0/w..1.weight").has_value());
    JobContext job;
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    for (const ReshardOptions& options : {ReshardOptions{.worldSize = 2, .form = TargetForm::Universal},
             ReshardOptions{.form = TargetForm::Universal, .stage = 2},
             ReshardOptions{.form = TargetForm::Universal, .subGroupSize = 5}}) {
        const auto plan = planReshard(io::realFileSystem(), source, options, job);
        REQUIRE(!plan.has_value());
        CHECK(plan.error().code == ErrorCode::Usage);
    }
}
