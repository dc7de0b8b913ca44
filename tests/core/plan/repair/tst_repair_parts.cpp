// SPDX-License-Identifier: Apache-2.0
// Repairs of tensor slices, pipeline stages and experts: each by itself, and the others keep every bit.
#include "core/base/finding_codes.h"
#include "core/layout/fragments.h"
#include "core/plan/repair/repair.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// Slices, stages, and slices over which experts fold.
constexpr std::array<const char*, 3> kCut{"slices-w4", "pipeline-w4", "folded-w4"};
const std::string kLastPart = "_mp_rank_01_optim_states.pt";

CheckpointPtr wholeOf(const char* sample)
{
    return openForPlan(planSample(sample));
}

/// Another checkpoint of the same step, of another number of ranks.
fs::path donorOf(const char* sample, uint32_t worldSize, const TemporaryFolder& folder)
{
    ReshardOptions other;
    other.worldSize = worldSize;
    rewrite(wholeOf(sample), other, folder / "donor");
    return folder / "donor";
}

RepairOptions fromDonor(const std::string& code, const fs::path& donor)
{
    return {.fixes = {code},
        .donor = donor.string(),
        .masters = RepairOptions::Masters::Donor,
        .moments = RepairOptions::Moments::Donor};
}

/// Sets floats [first, second) of a tensor.
void editFloats(const Patchable& damaged, const std::string& file, const Way& tensor,
    std::pair<size_t, size_t> range, float value)
{
    damaged.operate(file, [&](Surgery& surgery) {
        surgery.editTensor(tensor, [&](std::string& elements) {
            REQUIRE(elements.size() >= range.second * sizeof(float));
            for (size_t i = range.first; i < range.second; ++i)
                std::copy_n(
                    reinterpret_cast<const char*>(&value), sizeof value, elements.data() + i * sizeof value);
        });
    });
}

/// What differs between two checkpoints, as "NAME#STATE" with the number of elements.
std::map<std::string, size_t> differences(const Checkpoint& a, const Checkpoint& b)
{
    std::map<std::string, size_t> out;
    for (uint32_t i = 0; i < a.params.size(); ++i) {
        for (const std::string& state : statesOf(a, ParamId{i})) {
            const auto here = bytesOf(a, a.params[i].name, state);
            const auto there = bytesOf(b, a.params[i].name, state);
            REQUIRE(here.size() == there.size());
            const size_t item = itemSize(findState(a, ParamId{i}, state)->dtype);
            size_t count = 0;
            for (size_t at = 0; at < here.size(); at += item)
                count += std::equal(here.begin() + at, here.begin() + at + item, there.begin() + at) ? 0 : 1;
            if (count > 0)
                out.emplace(a.params[i].name + "#" + state, count);
        }
    }
    return out;
}

} // namespace

TEST_CASE("a lost shard of a slice or stage is refilled from a copy with another world size, bit for bit")
{
    for (const char* sample : kCut) {
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const CheckpointPtr whole = wholeOf(sample);
        REQUIRE(whole->parts.size() == 2);
        const bool experts = whole->parallel.ep > 1;
        const fs::path donor = donorOf(sample, experts ? 8 : 6, folder);
        int number = 0;
        for (const std::string& lost : Patchable(sample).filesLike("optim_states.pt")) {
            CAPTURE(sample);
            CAPTURE(lost);
            const Patchable damaged(sample);
            fs::remove(damaged.tag() / lost);
            CHECK(troubles(damaged.check()).contains("rank-missing"));
            const fs::path target = folder / ("repaired" + std::to_string(number++));
            const Repaired repaired = repair(damaged, fromDonor("L6", donor), target);
            CHECK(!repaired.plan->marks.empty());
            checkSameState(repaired.copy, whole);
            CHECK(troublesOf(target, CheckDepth::Bytes) == std::set<std::string>{"marked"});
        }
    }
}

TEST_CASE(
    "a lost shard of any rank of experts is refilled, although the first remaining file holds other experts")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const CheckpointPtr whole = wholeOf("experts-w4");
    const fs::path donor = donorOf("experts-w4", 8, folder);
    int number = 0;
    for (const std::string& lost : Patchable("experts-w4").filesLike("optim_states.pt")) {
        CAPTURE(lost);
        const Patchable damaged("experts-w4");
        fs::remove(damaged.tag() / lost);
        const fs::path target = folder / ("repaired" + std::to_string(number++));
        checkSameState(repair(damaged, fromDonor("L6", donor), target).copy, whole);
        CHECK(troublesOf(target, CheckDepth::Bytes) == std::set<std::string>{"marked"});
    }
    CHECK(number == 4);
}

TEST_CASE("without a donor, the shard of one stage is refilled from copies and zeros, and no other changes")
{
    for (const char* sample : {"slices-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const CheckpointPtr whole = wholeOf(sample);
        const Patchable damaged(sample);
        fs::remove(damaged.tag() / ("bf16_zero_pp_rank_1" + kLastPart));
        const Repaired repaired = repair(damaged, {.fixes = {"all"}}, folder / "repaired");
        const auto changed = differences(*whole, *repaired.copy);
        CHECK(!changed.empty());
        const size_t firstOfLast = whole->parts.front()->params.size();
        for (const auto& [address, count] : changed) {
            CAPTURE(address);
            const auto param = whole->findParam(address.substr(0, address.rfind('#')));
            REQUIRE(param);
            CHECK(index(*param) >= firstOfLast);
            CHECK(!address.ends_with("#weight"));
        }
        const bool tied = changed.contains("tied_modules.embed.weight:pp1#fp32")
            || changed.contains("tied_modules.embed.weight:pp1#exp_avg");
        CHECK(!tied); // the first stage has the same
        for (const Finding& mark : repaired.plan->marks) {
            CHECK(mark.where.text().find(whole->parallel.tp > 1 ? "tp1" : "pp1") != std::string::npos);
            CHECK(mark.message.find("dp1") != std::string::npos);
        }
    }
}

TEST_CASE("NaN values of one slice are refilled only there")
{
    for (const char* sample : {"slices-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const CheckpointPtr whole = wholeOf(sample);
        const Patchable damaged(sample);
        editFloats(damaged, "bf16_zero_pp_rank_0" + kLastPart,
            {"optimizer_state_dict", "single_partition_of_fp32_groups", 0}, {7, 10},
            std::numeric_limits<float>::quiet_NaN());
        CHECK(troubles(damaged.check(CheckDepth::Bytes)).contains("non-finite"));
        const CheckpointPtr copy = repair(damaged, {.fixes = {"non-finite"}}, folder / "copies").copy;
        size_t refilled = 0;
        for (const auto& [address, count] : differences(*whole, *copy)) {
            CAPTURE(address);
            CHECK(address.ends_with("#fp32"));
            refilled += count;
        }
        CHECK(refilled <= 3); // some masters are bf16 values
        const Repaired donated
            = repair(damaged, fromDonor("non-finite", donorOf(sample, 6, folder)), folder / "donated");
        checkSameState(donated.copy, whole);
    }
}

TEST_CASE("options that one rank of a slice has alone are set to what the others have")
{
    for (const char* sample : {"slices-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Patchable damaged(sample);
        damaged.operate("bf16_zero_pp_rank_1" + kLastPart, [](Surgery& surgery) {
            surgery.set({"optimizer_state_dict", "base_optimizer_state", "param_groups", 0, "lr"},
                surgery.builder().real(0.75));
        });
        REQUIRE(troubles(damaged.check()).contains("option-mismatch"));
        const Repaired repaired = repair(damaged, {.fixes = {"option-mismatch"}}, folder / "repaired");
        CHECK(repaired.plan->marks.empty());
        checkSameState(repaired.copy, wholeOf(sample));
        CHECK(troublesOf(folder / "repaired", CheckDepth::Bytes).empty());
    }
}

TEST_CASE("reviewed values are set in the files of every slice and stage")
{
    for (const char* sample : {"slices-w4", "pipeline-w4", "folded-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const CheckpointPtr whole = wholeOf(sample);
        const Patchable source(sample);
        const CheckpointPtr copy
            = repair(source, {.values = {"step=41", "global_steps=41", "lr=0.125"}}, folder / "set").copy;
        CHECK(stepsOf(*copy) == std::set<double>{41});
        REQUIRE(copy->parts.size() == whole->parts.size());
        for (const auto& part : copy->parts) {
            CHECK(part->steps.globalSteps == 41);
            const PickleGraph& graph = part->file(part->templateOptim).content->pickle();
            for (const ParamGroup& group : part->groups)
                CHECK(asNumber(graph, lookup(graph, group.options, "lr")) == 0.125);
        }
        CHECK(differences(*whole, *copy).empty());
    }
}

TEST_CASE("steps that contradict the counters are set in every slice and stage")
{
    for (const char* sample : {"slices-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Patchable damaged(sample);
        const int64_t steps = *wholeOf(sample)->steps.globalSteps + 20;
        damaged.operateOnAll("model_states.pt", [&](Surgery& surgery) {
            if (lookup(surgery.graph(), surgery.graph().root(), "global_steps") != kNoNode)
                surgery.set({"global_steps"}, steps);
        });
        REQUIRE(troubles(damaged.check()).contains("step-off-counters"));
        const CheckpointPtr copy = repair(damaged, {.fixes = {"S6"}}, folder / "set").copy;
        CHECK(stepsOf(*copy) == std::set<double>{static_cast<double>(steps)});
        CHECK(!troublesOf(folder / "set").contains("step-off-counters"));
    }
}

TEST_CASE("a donor with other slices is refused by name, and stages may have layers of the same name")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const auto resharded = [&](const char* sample, uint32_t tp, uint32_t pp, const char* name) {
        ReshardOptions options;
        options.worldSize = 2;
        options.tp = tp;
        options.pp = pp;
        rewrite(wholeOf(sample), options, folder / name);
        return folder / name;
    };
    const Patchable slices("slices-w4");
    fs::remove(slices.tag() / ("bf16_zero_pp_rank_1" + kLastPart));
    const Error error = refusalOf(slices, fromDonor("L6", resharded("slices-w4", 1, 1, "merged")));
    CHECK(error.code == ErrorCode::Unsupported);
    CHECK(error.message.find("tensor") != std::string::npos);

    const Patchable stages("pipeline-w4");
    fs::remove(stages.tag() / ("bf16_zero_pp_rank_1" + kLastPart));
    const Repaired repaired
        = repair(stages, fromDonor("L6", resharded("pipeline-w4", 1, 1, "flat")), folder / "m");
    checkSameState(repaired.copy, wholeOf("pipeline-w4"));
}

TEST_CASE("unsupported repairs of slices and stages are refused by name")
{
    for (const char* sample : {"slices-w4", "pipeline-w4"}) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        fs::remove(damaged.tag() / "mp_rank_01_model_states.pt");
        const Error error = refusalOf(damaged, {.fixes = {"model-states-missing"}});
        CHECK(error.code == ErrorCode::Refused);
        CHECK(error.message.find("model file") != std::string::npos);
        const RepairOptions options{.fixes = {"model-states-missing"}, .donor = planSample(sample).string()};
        CHECK(refusalOf(damaged, options).code == ErrorCode::Unsupported);
    }
}
