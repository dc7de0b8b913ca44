// SPDX-License-Identifier: Apache-2.0
// Repairs of single records, states and values: undamaged values stay bit for bit.
#include "core/base/finding_codes.h"
#include "core/plan/repair/repair.h"
#include "core/tensor/convert.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
constexpr const char* kLostShard = "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt";

/// Where rank 1's first group keeps a state.
Way stateOf(const std::string& sample, const char* state)
{
    if (sample == "zero3-w4")
        return {"optimizer_state_dict", "optimizer_state_dict", "state", 0, state};
    return {"optimizer_state_dict", "base_optimizer_state", "state", 0, state};
}

/// Another checkpoint of the same step, of another number of ranks.
fs::path donorOf(const std::string& sample, const TemporaryFolder& folder)
{
    ReshardOptions other;
    other.worldSize = 3;
    rewrite(openForPlan(planSample(sample.c_str())), other, folder / "donor");
    return folder / "donor";
}

/// Fixes of `code` from a donor of the same step restore exactly that state.
void checkFromDonor(const std::string& sample, const Patchable& damaged, const std::string& code)
{
    CAPTURE(sample);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    CHECK(troubles(damaged.check(CheckDepth::Bytes)).contains(code));
    const Repaired repaired = repair(damaged,
        {.fixes = {code},
            .donor = donorOf(sample, folder).string(),
            .masters = RepairOptions::Masters::Donor,
            .moments = RepairOptions::Moments::Donor},
        folder / "repaired");
    CHECK(!repaired.plan->marks.empty());
    checkSameState(repaired.copy, openForPlan(planSample(sample.c_str())));
}

void editState(const Patchable& damaged, const std::string& sample, const char* state,
    const std::function<void(float* values)>& edit)
{
    damaged.operate(kShard, [&](Surgery& surgery) {
        surgery.editTensor(stateOf(sample, state), [&](std::string& elements) {
            std::vector<float> values(elements.size() / sizeof(float));
            std::copy_n(elements.data(), elements.size(), reinterpret_cast<char*>(values.data()));
            edit(values.data());
            std::copy_n(reinterpret_cast<const char*>(values.data()), elements.size(), elements.data());
        });
    });
}

} // namespace

TEST_CASE("a value that changed on disk is found by its record's checksum, and only that record is refilled")
{
    for (const std::string sample : {"zero2-w2", "zero3-w4"}) {
        const Patchable damaged(sample);
        const fs::path shard = damaged.tag() / kShard;
        std::string bytes = slurp(shard);
        const CheckpointPtr whole = openForPlan(planSample(sample.c_str()));
        const StoredRun& run = whole->units.front().states[1].perRank[1];
        bytes[run.byteOffset + 17] ^= 4;
        spill(shard, bytes);
        CHECK(troubles(damaged.check(CheckDepth::Metadata)).empty());
        checkFromDonor(sample, damaged, "record-corrupt");
    }
}

TEST_CASE("a record without a header is refilled")
{
    for (const std::string sample : {"zero2-w2", "zero3-w4"}) {
        const Patchable damaged(sample);
        const fs::path shard = damaged.tag() / kShard;
        std::string bytes = slurp(shard);
        const size_t at = bytes.find("/data/1");
        REQUIRE(at != std::string::npos);
        bytes.replace(bytes.rfind("PK\x03\x04", at), 20, std::string(20, '\0'));
        spill(shard, bytes);
        checkFromDonor(sample, damaged, "record-corrupt");
    }
}

TEST_CASE("a state that one rank lacks is refilled")
{
    for (const std::string sample : {"zero2-w2", "zero3-w4"}) {
        const Patchable damaged(sample);
        Way entry = stateOf(sample, "");
        entry.pop_back();
        damaged.operate(kShard, [&](Surgery& surgery) { surgery.remove(entry, "exp_avg"); });
        checkFromDonor(sample, damaged, "state-missing");
    }
}

TEST_CASE("a universal file that is longer than its parameter is truncated to its length")
{
    const Patchable damaged("zero2-universal-w2", "global_step5_universal");
    OpenOptions universal;
    universal.tag = "global_step5_universal";
    JobContext job;
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    fs::copy(damaged.run(), folder / "whole", fs::copy_options::recursive);
    damaged.operate("zero/layers.0.attention.wq.weight/exp_avg.pt", [](Surgery& surgery) {
        surgery.editTensor({"param"}, [](std::string& elements) { elements.append(12, '\0'); });
    });
    const Repaired repaired
        = repair(damaged, {.fixes = {"universal-overlong"}}, folder / "repaired", universal);
    CHECK(repaired.plan->marks.empty());
    checkSameState(
        repaired.copy, openCheckpoint(io::realFileSystem(), folder / "whole", universal, job)->checkpoint);
    CHECK(troublesOf(folder / "repaired").empty());
}

TEST_CASE("NaN values are refilled, and all others stay")
{
    for (const std::string sample : {"zero2-w2", "zero3-w4"}) {
        const Patchable damaged(sample);
        editState(damaged, sample, "exp_avg", [](float* values) {
            values[3] = values[4] = std::numeric_limits<float>::quiet_NaN();
            values[9] = -std::numeric_limits<float>::infinity();
        });
        editState(damaged, sample, "exp_avg_sq", [](float* values) { values[4] = -1; });
        checkFromDonor(sample, damaged, "non-finite");

        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired zeroed = repair(
            damaged, {.fixes = {"S18"}, .moments = RepairOptions::Moments::Zeros}, folder / "zeroed");
        CHECK(zeroed.plan->repair->depth == CheckDepth::Bytes);
        const CheckpointPtr whole = openForPlan(planSample(sample.c_str()));
        uint64_t zeros = 0;
        for (const Parameter& param : whole->params) {
            if (param.unit == kNoUnit || param.elements == 0 || param.role != ParamRole::Trainable)
                continue;
            const auto was = bytesOf(*whole, param.name, "exp_avg");
            const auto is = bytesOf(*zeroed.copy, param.name, "exp_avg");
            for (size_t i = 0; i < was.size(); i += 4) {
                if (std::equal(was.begin() + i, was.begin() + i + 4, is.begin() + i))
                    continue;
                CHECK(
                    std::all_of(is.begin() + i, is.begin() + i + 4, [](uint8_t byte) { return byte == 0; }));
                ++zeros;
            }
        }
        CHECK(zeros == 3);
        // The copy marks exactly these elements, also when it is opened again.
        std::vector<std::pair<uint64_t, uint64_t>> marked;
        for (const Finding& finding : zeroed.copy->findings) {
            if (finding.code != code::kMarked || finding.where.text().find("#exp_avg[") == std::string::npos)
                continue;
            for (const Place& part : finding.parts)
                marked.push_back(*part.param()->range);
        }
        REQUIRE(marked.size() == 2);
        CHECK(marked[0].second == marked[0].first + 2);
        CHECK(marked[1] == std::pair(marked[0].first + 6, marked[0].first + 7));
    }
}

TEST_CASE("NaN values are repaired together with a lost shard")
{
    for (const std::string sample : {"roundrobin-w3", "zero3-w4"}) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        editState(damaged, sample, "exp_avg",
            [](float* values) { values[0] = std::numeric_limits<float>::quiet_NaN(); });
        fs::remove(damaged.tag() / kLostShard);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired whole = repair(damaged,
            {.fixes = {"all"},
                .donor = donorOf(sample, folder).string(),
                .masters = RepairOptions::Masters::Donor,
                .moments = RepairOptions::Moments::Donor,
                .depth = CheckDepth::Bytes},
            folder / "repaired");
        CHECK(std::set<std::string>(whole.plan->repair->fixed.begin(), whole.plan->repair->fixed.end())
            == std::set<std::string>{"non-finite", "rank-missing"});
        checkSameState(whole.copy, openForPlan(planSample(sample.c_str())));
    }
}

TEST_CASE("masters that are not what the copies were rounded from are refilled with their moments")
{
    const std::string sample = "zero2-w2";
    const Patchable damaged(sample);
    damaged.operate(kShard, [&](Surgery& surgery) {
        surgery.editTensor({"optimizer_state_dict", "single_partition_of_fp32_groups", 0},
            [](std::string& elements) { // numbers of others, beyond what the reader looks at
                std::rotate(elements.begin() + 1000, elements.begin() + 1400, elements.begin() + 2000);
            });
    });
    const std::set<std::string> found = troubles(damaged.check(CheckDepth::Bytes));
    CAPTURE(found);
    checkFromDonor(sample, damaged, "masters-not-copies");
}

TEST_CASE("moments of a parameter that the converter skipped are filled in a universal folder")
{
    const Patchable damaged("zero2-universal-w2", "global_step5_universal");
    const std::string name = "layers.0.attention.wq.weight";
    const fs::path files = damaged.tag() / "zero" / name;
    for (const char* file : {"exp_avg.pt", "exp_avg_sq.pt", "step.pt"})
        fs::remove(files / file);
    damaged.operate("zero/" + name + "/fp32.pt", [&](Surgery& surgery) {
        surgery.editTensor({"param"}, [](std::string& elements) { // what the model file's fp16 copy says
            std::vector<uint8_t> narrow(elements.size() / 2);
            const std::span<uint8_t> wide(reinterpret_cast<uint8_t*>(elements.data()), elements.size());
            convertElements(DType::Float32, wide, DType::Float16, narrow);
            convertElements(DType::Float16, narrow, DType::Float32, wide);
        });
    });
    REQUIRE(troubles(damaged.check()).contains("universal-parameter-skipped"));
    OpenOptions open;
    open.tag = "global_step5_universal";
    JobContext job;
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    repair(damaged, {.fixes = {"S21"}, .moments = RepairOptions::Moments::Zeros}, folder / "repaired", open);
    const CheckResult after = examine(io::realFileSystem(), folder / "repaired", {}, job).value();
    CHECK(troubles(after) == std::set<std::string>{"marked"});
    const CheckpointPtr whole
        = openCheckpoint(io::realFileSystem(), planSample("zero2-universal-w2"), open, job)->checkpoint;
    for (const Parameter& param : whole->params) {
        if (param.unit == kNoUnit || param.elements == 0)
            continue;
        CAPTURE(param.name);
        const auto moment = bytesOf(*after.checkpoint, param.name, "exp_avg");
        CHECK((moment == bytesOf(*whole, param.name, "exp_avg")) == (param.name != name));
        CHECK((moment == std::vector<uint8_t>(moment.size())) == (param.name == name));
    }
}
