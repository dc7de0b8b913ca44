// SPDX-License-Identifier: Apache-2.0
// Elastic checkpoints hold states without options: what is not known is asked for by name, and what is
// written has torch's own form.
#include "core/base/finding_codes.h"
#include "core/compare/digest/state_digest.h"
#include "core/layout/address.h"
#include "core/plan/saved/saved_plan.h"
#include "core/plan/target/named_option.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// What tests/interop/runs/setups.py gives the three groups, without what the scheduler records.
const std::vector<std::string> kOptions{"0:betas=(0.9, 0.95)", "1:betas=(0.85, 0.99)", "2:betas=(0.8, 0.9)",
    "eps=1e-8", "1:eps=1e-7", "0:weight_decay=0.1", "1:weight_decay=0.01", "2:weight_decay=0.0"};

Error planError(const CheckpointPtr& source, const ReshardOptions& options)
{
    JobContext job;
    const auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE(!plan.has_value());
    return plan.error();
}

ReshardOptions withOptions(ReshardOptions options)
{
    options.optimizerOptions = kOptions;
    return options;
}

std::string optionText(const Checkpoint& checkpoint, size_t group, std::string_view key)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateOptim).content->pickle();
    const NodeId value = lookup(graph, checkpoint.groups[group].options, key);
    return value == kNoNode ? "absent" : nodeText(graph, value);
}

void checkOptions(const Checkpoint& made)
{
    REQUIRE(made.groups.size() == 3);
    CHECK(optionText(made, 0, "betas") == "(0.9, 0.95)");
    CHECK(optionText(made, 1, "betas") == "(0.85, 0.99)");
    CHECK(optionText(made, 1, "eps") == "1e-07");
    CHECK(optionText(made, 2, "eps") == "1e-08");
    CHECK(optionText(made, 2, "weight_decay") == "0");
    CHECK(optionText(made, 0, "amsgrad") == "False");
    CHECK(optionText(made, 0, "initial_lr") == "0.003");
    CHECK(optionText(made, 1, "initial_lr") == "0.002");
    CHECK(optionText(made, 0, "lr") != "absent"); // as four steps of cosine left it
    CHECK(optionText(made, 0, "lr") != "0.003");
}

} // namespace

TEST_CASE("an elastic checkpoint is read in full, lean states and all")
{
    const CheckpointPtr source = openForPlan(planSample("elastic-w3"));
    CHECK(source->complete);
    CHECK(source->groups.front().options == kNoNode);
    CHECK(source->units.front().step == 4.0);
    for (const FlatUnit& unit : source->units) // the last rank's padding is cut off in all of them
        for (const UnitState& state : unit.states)
            CHECK(state.perRank.back().elements == unit.partition.leanElementsOn(2));
}

TEST_CASE("options that an elastic checkpoint lacks are asked for by name")
{
    const CheckpointPtr source = openForPlan(planSample("elastic-w3"));
    for (const ReshardOptions& options :
        {ReshardOptions{.worldSize = 2}, ReshardOptions{.worldSize = 2, .stage = 3},
            ReshardOptions{.worldSize = 2, .stage = 0, .stage0Form = CheckpointKind::Fp16Unfused},
            ReshardOptions{.form = TargetForm::Universal}}) {
        const Error error = planError(source, options);
        CHECK(error.code == ErrorCode::Refused);
        CHECK(error.message.find("Adam or AdamW of torch") != std::string::npos);
        CHECK(error.message.find("`betas`, `eps` and `weight_decay` of param groups 0, 1 and 2")
            != std::string::npos);
        CHECK(error.message.find("`lr`") == std::string::npos); // the scheduler records it
        CHECK(error.hint.text.find("--optimizer-option betas=") != std::string::npos);
    }
    const Error one = planError(
        source, {.worldSize = 2, .optimizerOptions = {"eps=1e-8", "1:betas=0.9,0.95", "weight_decay=0"}});
    CHECK(one.message.find("`betas` of param groups 0 and 2") != std::string::npos);
    CHECK(one.message.find("`eps`") == std::string::npos);
}

TEST_CASE("with its options given, an elastic checkpoint is written in every form")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("elastic-w3"));
    const auto native = rewrite(source, withOptions({.worldSize = 2}), folder.path() / "native");
    CHECK(native->kind == CheckpointKind::Zero2);
    checkSameState(native, source);
    checkOptions(*native);
    // Torch's form: states by number, no longer a list, and padded again.
    const PickleGraph& graph = native->file(native->templateOptim).content->pickle();
    const NodeId base = lookup(graph, native->optimWrapper, "base_optimizer_state");
    CHECK(isMapping(graph, base));
    CHECK(lookup(graph, lookup(graph, base, "state"), int64_t{2}) != kNoNode);
    for (const FlatUnit& unit : native->units)
        CHECK(unit.states[1].perRank.back().elements == unit.partition.partitionElements());

    const auto three = rewrite(source, withOptions({.worldSize = 2, .stage = 3}), folder.path() / "three");
    CHECK(three->kind == CheckpointKind::Zero3);
    checkSameState(three, source);
    checkOptions(*three);
    const auto zero = rewrite(source, withOptions({.worldSize = 2, .stage = 0}), folder.path() / "stage0");
    CHECK(zero->kind == CheckpointKind::Fp16Unfused);
    checkSameState(zero, source);
    const auto universal
        = rewrite(source, withOptions({.form = TargetForm::Universal}), folder.path() / "universal");
    checkOptions(*universal);
    // The same again from there: no option has another place or value.
    const auto again = rewrite(universal, {.worldSize = 2, .stage = 2}, folder.path() / "again");
    checkSameState(again, native);
    checkOptions(*again);
}

TEST_CASE("a plan records the origin of the options, and its file keeps the given ones")
{
    const CheckpointPtr source = openForPlan(planSample("elastic-w3"));
    const auto plan = planFor(source, withOptions({.worldSize = 2}));
    const auto& notes = plan->warnings;
    REQUIRE(!notes.empty());
    CHECK(notes.front().code == code::kOptionMissing);
    CHECK(notes.front().message.find("`betas`, `eps` and `weight_decay` as named") != std::string::npos);
    CHECK(notes.front().message.find("`initial_lr` and `lr` from its scheduler") != std::string::npos);
    const SavedPlan saved = savePlan(*plan, *source, {}, "/somewhere");
    const auto parsed = parseSavedPlan(savedPlanText(saved), "plan.json");
    REQUIRE(parsed.has_value());
    CHECK(std::get<ReshardOptions>(parsed->options) == plan->reshard->options);
    auto other = withOptions({.worldSize = 2});
    other.optimizerOptions.back() = "2:weight_decay=0.5";
    CHECK(planFor(source, other)->id != plan->id);
}

TEST_CASE("options that cannot be used are refused before anything is planned")
{
    const CheckpointPtr source = openForPlan(planSample("elastic-w3"));
    for (const char* wrong : {"lr", "=1", "3:lr=1e-3", "x:lr=1", "lr=", "lr=(1", "lr=1e-3)", "lr=nan",
             "betas=[0.9", "params=0", "a b=1", "lr=$HOME", "note='a"}) {
        CAPTURE(wrong);
        CHECK(planError(source, {.worldSize = 2, .optimizerOptions = {wrong}}).code == ErrorCode::Usage);
    }
    const CheckpointPtr rigid = openForPlan(planSample("zero2-w2"));
    const Error needless = planError(rigid, {.worldSize = 3, .optimizerOptions = {"lr=1e-3"}});
    CHECK(needless.code == ErrorCode::Usage);
    CHECK(needless.hint.text.find("elastic") != std::string::npos);
}

TEST_CASE("values of options are spelled as in Python")
{
    const auto textOf = [](std::string_view value) {
        PickleBuilder builder;
        const auto node = optionValue(builder, value);
        if (!node)
            return std::string("refused");
        const NodeId root = *node;
        const PickleGraph graph = builder.finish(root);
        return nodeText(graph, root);
    };
    CHECK(textOf("1e-3") == "0.001");
    CHECK(textOf("1") == "1");
    CHECK(textOf("+2.5") == "2.5");
    CHECK(textOf("-3") == "-3");
    CHECK(textOf("True") == "True");
    CHECK(textOf("null") == "None");
    CHECK(textOf("0.9,0.95") == "(0.9, 0.95)");
    CHECK(textOf(" ( 0.9 , 0.95 ) ") == "(0.9, 0.95)");
    CHECK(textOf("[1, (2,), []]") == "[1, (2,), []]");
    CHECK(textOf("(3)") == "3");
    CHECK(textOf("sgd") == textOf("'sgd'"));
    CHECK(textOf("((((((((((1))))))))))") == "refused");
    CHECK(textOf("1 2") == "refused");
    CHECK(textOf("") == "refused");
}

/// How many tensors the ranks store for single parameters.
static size_t slicesOf(const UnitState& state)
{
    size_t out = 0;
    state.visitRuns([&](const MappedRun& mapped) {
        out += mapped.param ? 1 : 0;
        return true;
    });
    return out;
}

TEST_CASE("elastic ZeRO-3 is read without its padding, and written in the form of today")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("zero3-elastic-w3"));
    const CheckpointPtr rigid = openForPlan(planSample("zero3-universal-w3/global_step3"));
    REQUIRE(source->groups.size() == rigid->groups.size()); // from sizes and the scheduler's rates
    for (size_t g = 0; g < source->groups.size(); ++g)
        CHECK(source->groups[g].units == rigid->groups[g].units);
    for (const FlatUnit& unit : source->units) {
        for (size_t s = 1; s < unit.states.size(); ++s)
            CHECK(slicesOf(unit.states[s]) == size_t{3} * unit.params.size());
    }
    const Error error = planError(source, {.worldSize = 2});
    CHECK(error.code == ErrorCode::Refused);
    CHECK(error.message.find("`betas`, `eps` and `weight_decay` of param groups 0, 1 and 2")
        != std::string::npos);
    const auto native = rewrite(source, withOptions({.worldSize = 2}), folder.path() / "native");
    checkSameState(native, source);
    checkOptions(*native);
    for (const Parameter& param : rigid->params) {
        for (const char* state : {"fp32", "exp_avg", "exp_avg_sq"}) {
            if (param.role == ParamRole::Trainable && param.sharedWith == kNoParam)
                CHECK(bytesOf(*native, param.name, state) == bytesOf(*rigid, param.name, state));
        }
    }
    const PickleGraph& graph = native->file(native->templateOptim).content->pickle();
    CHECK(lookup(graph, native->optimWrapper, "base_optimizer_state") == kNoNode);
    for (const FlatUnit& unit : native->units)
        CHECK(slicesOf(unit.states.back()) == 0);
    const auto two = rewrite(source, withOptions({.worldSize = 4, .stage = 2}), folder.path() / "two");
    checkSameState(two, source);
    const auto universal
        = rewrite(source, withOptions({.form = TargetForm::Universal}), folder.path() / "universal");
    checkSameState(universal, source);
}

TEST_CASE("an element of elastic ZeRO-3 is found by its file's byte, and padding has none")
{
    const CheckpointPtr source = openForPlan(planSample("zero3-elastic-w3"));
    JobContext job;
    for (const std::string name : {"tok_embeddings.weight", "norm.weight"}) {
        CAPTURE(name);
        const auto here = locate(*source, ParamAddress{name, "exp_avg", std::pair<uint64_t, uint64_t>{3, 4}});
        REQUIRE_MESSAGE(here.has_value(), (here ? "" : describe(here.error())));
        REQUIRE(here->file);
        const auto back = locate(*source, *here->file);
        REQUIRE(back.has_value());
        CHECK(back->param == here->param);
        CHECK(back->flat == here->flat);
    }
}
