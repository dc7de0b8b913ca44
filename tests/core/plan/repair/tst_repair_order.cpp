// SPDX-License-Identifier: Apache-2.0
// Parameters that are in another order than recorded get their own values again.
#include "core/partition/round_robin.h"
#include "tests/core/plan/repair/repair_fixture.h"
#include "tests/support/plain_writer.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSample = "roundrobin-w3";
constexpr const char* kModel = "mp_rank_00_model_states.pt";

/// A group's parameters in the order of `param_shapes`, or in that before round_robin_gradients.
std::vector<std::string> namesOf(const Checkpoint& native, const FlatUnit& unit, bool listed)
{
    const auto order = roundRobinOrder(static_cast<uint32_t>(unit.params.size()), native.parallel.dp);
    std::vector<std::string> out(unit.params.size());
    for (size_t i = 0; i < out.size(); ++i)
        out[listed ? i : order[i]] = native.params[index(unit.params[i])].name;
    return out;
}

std::string flatOf(const Checkpoint& native, const std::vector<std::string>& names, const std::string& state)
{
    std::string out;
    for (const std::string& name : names) {
        const std::vector<uint8_t> bytes = bytesOf(native, name, state);
        out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return out;
}

/// Replaces a round-robin checkpoint by what stock DeepSpeed's converter makes of it: the converter splits
/// the flat buffers in the order that there would be without round_robin_gradients.
void convertAsStock(const Patchable& damaged, const CheckpointPtr& native)
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    plainWrite(*planFor(native, {.form = TargetForm::Universal}), folder.path());
    fs::remove_all(damaged.tag());
    fs::copy(openForPlan(folder.path())->tagFolder, damaged.tag(), fs::copy_options::recursive);
    fs::copy_file(native->file(native->templateModel).path.native(), damaged.tag() / kModel,
        fs::copy_options::overwrite_existing); // as it was, with the 16-bit copies
    for (const FlatUnit& unit : native->units) {
        for (const UnitState& state : unit.states) {
            const std::string flat = flatOf(*native, namesOf(*native, unit, true), state.name);
            size_t at = 0;
            for (const std::string& name : namesOf(*native, unit, false))
                damaged.operate("zero/" + name + "/" + state.name + ".pt", [&](Surgery& surgery) {
                    surgery.editTensor({"param"}, [&](std::string& elements) {
                        elements = flat.substr(at, elements.size());
                        at += elements.size();
                    });
                });
            REQUIRE(at == flat.size());
        }
    }
}

/// Lays the flat buffers out as a run without round_robin_gradients does; `param_shapes` stays.
void layOutWithoutRoundRobin(const Patchable& damaged, const CheckpointPtr& native)
{
    const std::vector<std::string> files = damaged.filesLike("optim_states.pt");
    for (int g = 0; g < static_cast<int>(native->units.size()); ++g) {
        const FlatUnit& unit = native->units[static_cast<size_t>(g)];
        for (const UnitState& state : unit.states) {
            std::string flat = flatOf(*native, namesOf(*native, unit, false), state.name);
            flat.resize(unit.partition.partitionElements() * unit.partition.ranks() * itemSize(state.dtype));
            const Way way = state.name == "fp32"
                ? Way{"optimizer_state_dict", "single_partition_of_fp32_groups", g}
                : Way{"optimizer_state_dict", "base_optimizer_state", "state", g, state.name.c_str()};
            size_t at = 0;
            for (const std::string& file : files)
                damaged.operate(file, [&](Surgery& surgery) {
                    surgery.editTensor(way, [&](std::string& elements) {
                        elements = flat.substr(at, elements.size());
                        at += elements.size();
                    });
                });
        }
    }
}

/// No value was invented, so nothing is marked.
void checkSound(const Repaired& repaired, const fs::path& run, const CheckpointPtr& native)
{
    checkSameState(repaired.copy, native);
    CHECK(troublesOf(run, CheckDepth::Bytes).empty());
    CHECK(repaired.plan->marks.empty());
}

} // namespace

TEST_CASE("the wrong order of a universal folder that stock made of a round-robin run is repaired")
{
    const CheckpointPtr native = openForPlan(planSample(kSample));
    const Patchable damaged(kSample);
    convertAsStock(damaged, native);
    const CheckResult found = damaged.check(CheckDepth::Bytes);
    CHECK(troubles(found) == std::set<std::string>{"universal-from-round-robin"});
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {"S22"}}, folder / "repaired");
    CHECK(repaired.plan->repair->fixed == std::vector<std::string>{"universal-from-round-robin"});
    checkSound(repaired, folder / "repaired", native);
}

TEST_CASE("if the copies do not prove the order, it is another finding without a repair")
{
    const CheckpointPtr native = openForPlan(planSample(kSample));
    const Patchable damaged(kSample);
    convertAsStock(damaged, native);
    damaged.operate(kModel, [](Surgery& surgery) { surgery.set({"dp_world_size"}, 5); });
    CHECK(troubles(damaged.check()) == std::set<std::string>{"universal-source"});
    CHECK(refusalOf(damaged, {.fixes = {"S22"}}).code == ErrorCode::Unsupported);
}

TEST_CASE("a wrong order and damaged masters of a universal folder are not repaired in one step")
{
    const CheckpointPtr native = openForPlan(planSample(kSample));
    const Patchable damaged(kSample);
    convertAsStock(damaged, native);
    const std::string name = native->params[index(native->units.front().params.back())].name;
    fs::remove(damaged.tag() / "zero" / name / "exp_avg.pt");
    const Error error = refusalOf(damaged, {.fixes = {"all"}});
    CHECK(error.code != ErrorCode::Internal);
}

TEST_CASE("flat buffers in the order without round_robin_gradients are laid out in the recorded one")
{
    const CheckpointPtr native = openForPlan(planSample(kSample));
    const Patchable damaged(kSample);
    layOutWithoutRoundRobin(damaged, native);
    CHECK(troubles(damaged.check(CheckDepth::Bytes)) == std::set<std::string>{"param-order"});
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(damaged, {.fixes = {"all"}}, folder / "repaired");
    CHECK(repaired.plan->repair->fixed == std::vector<std::string>{"param-order"});
    checkSound(repaired, folder / "repaired", native);
    CHECK(repaired.copy->roundRobin);
}

TEST_CASE("a list in another order than the flat buffers is rewritten")
{
    const CheckpointPtr native = openForPlan(planSample(kSample));
    const Patchable damaged(kSample);
    damaged.operate(kModel, [&](Surgery& surgery) {
        for (int g = 0; g < static_cast<int>(native->units.size()); ++g) {
            const NodeId old = surgery.at({"param_shapes", g});
            const NodeId made = surgery.composer().orderedDict();
            for (const std::string& name : namesOf(*native, native->units[static_cast<size_t>(g)], false))
                surgery.builder().setItem(made, surgery.builder().string(name),
                    surgery.composer().import(lookup(surgery.graph(), old, name)));
            surgery.composer().substitute(old, made);
        }
    });
    CHECK(troubles(damaged.check(CheckDepth::Bytes)) == std::set<std::string>{"param-order"});
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    checkSound(repair(damaged, {.fixes = {"L9"}}, folder / "repaired"), folder / "repaired", native);
}

TEST_CASE("a configuration that records another order than list and values is not repaired")
{
    const Patchable damaged("zero1-w2");
    damaged.operate(kModel, [](Surgery& surgery) {
        const NodeId options = surgery.at({"ds_config", "zero_optimization"});
        if (lookup(surgery.graph(), options, "round_robin_gradients") == kNoNode)
            surgery.add(
                {"ds_config", "zero_optimization"}, "round_robin_gradients", surgery.builder().boolean(true));
        else
            surgery.set(
                {"ds_config", "zero_optimization", "round_robin_gradients"}, surgery.builder().boolean(true));
    });
    REQUIRE(troubles(damaged.check()).contains("param-order"));
    const Error error = refusalOf(damaged, {.fixes = {"param-order"}});
    CHECK(error.code == ErrorCode::Unsupported);
    CHECK(error.message.find("configuration") != std::string::npos);
}
