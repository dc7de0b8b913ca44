// SPDX-License-Identifier: Apache-2.0
// Repairs as plans: what is refilled, from where, and that the rest keeps every bit.
#include "core/engine/write/execute.h"
#include "core/plan/repair/amended.h"
#include "core/plan/repair/repair.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// A copy of a sample's run folder.
fs::path copyOf(const char* sample, const TemporaryFolder& folder)
{
    fs::copy(planSample(sample), folder / "run", fs::copy_options::recursive);
    return folder / "run";
}

fs::path tagOf(const fs::path& run)
{
    return run / slurp(run / "latest");
}

fs::path shardOf(const fs::path& tag, int rank)
{
    for (const std::string prefix : {"", "bf16_"}) {
        const fs::path path
            = tag / (prefix + "zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt");
        if (fs::exists(path))
            return path;
    }
    FAIL("no such shard");
    return {};
}

Result<WritePlanPtr> tryRepair(const fs::path& run, const RepairOptions& options)
{
    JobContext job;
    return planRepair(io::realFileSystem(), run, {}, options, job);
}

WritePlanPtr repair(const fs::path& run, const RepairOptions& options)
{
    auto plan = tryRepair(run, options);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    return std::move(*plan);
}

/// What the plan writes, opened again.
CheckpointPtr written(const WritePlan& plan, const fs::path& run, const fs::path& folder)
{
    JobContext job;
    ExecuteOptions options;
    options.destination = folder;
    options.sourceRunFolder = run;
    const auto report = execute(io::realFileSystem(), plan, options, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    return openForPlan(folder);
}

size_t marksOf(const Checkpoint& checkpoint)
{
    return static_cast<size_t>(std::count_if(checkpoint.findings.begin(), checkpoint.findings.end(),
        [](const Finding& finding) { return finding.code == code::kMarked; }));
}

constexpr auto kFromDonor = RepairOptions::Masters::Donor;

} // namespace

TEST_CASE("every fix belongs to a diagnosis that names it")
{
    std::set<std::string_view> fixes{code::kLatestMissing, code::kLatestDangling}; // choose the tag
    for (const RepairFix& fix : repairFixes())
        CHECK(fixes.insert(fix.code).second);
    std::set<std::string_view> promised;
    for (const Diagnosis* diagnosis : diagnoses()) {
        if (diagnosis->repairs)
            promised.insert(diagnosis->code);
    }
    CHECK(fixes == promised);
}

TEST_CASE("a lost shard refilled from a copy with another world size is restored bit for bit")
{
    for (const char* sample : {"zero3-w4", "zero2-w2", "zero1-w2", "bf16opt-w2", "roundrobin-w3",
             "aligned-w2", "ds0144-zero3-w3", "ds0144-zero2-w2"}) {
        for (const int rank : {0, 1}) {
            CAPTURE(std::string(sample));
            CAPTURE(rank);
            const TemporaryFolder folder(TemporaryFolder::Where::Memory);
            const fs::path run = copyOf(sample, folder);
            const CheckpointPtr whole = openForPlan(planSample(sample));
            ReshardOptions other;
            other.worldSize = 5;
            rewrite(whole, other, folder / "other");
            fs::remove(shardOf(tagOf(run), rank));
            RepairOptions options{
                {"L6"}, (folder / "other").string(), kFromDonor, RepairOptions::Moments::Donor};
            const auto plan = repair(run, options);
            const CheckpointPtr repaired = written(*plan, run, folder / "repaired");
            CHECK(marksOf(*repaired) > 0);
            checkSameState(repaired, whole);
        }
    }
}

TEST_CASE("masters come from the 16-bit copies, moments from the neighbouring tag or not at all")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const fs::path run = copyOf("zero2-w2", folder);
    const CheckpointPtr whole = openForPlan(planSample("zero2-w2"));
    OpenOptions older;
    older.tag = "global_step3";
    JobContext job;
    const CheckpointPtr before
        = openCheckpoint(io::realFileSystem(), planSample("zero2-w2"), older, job)->checkpoint;
    fs::remove(shardOf(tagOf(run), 1));
    // What is not there is not read, and zeros are not read either.
    uint64_t left = 0;
    for (const auto& file : fs::directory_iterator(tagOf(run)))
        left += file.file_size();
    const RepairOptions zeros{.fixes = {"rank-missing"}, .moments = RepairOptions::Moments::Zeros};
    CHECK(repair(run, zeros)->readsBytes < left);
    CHECK(repair(run, {{"rank-missing"}})->readsBytes > repair(run, zeros)->readsBytes);
    const auto repaired = written(*repair(run, {{"rank-missing"}}), run, folder / "a");
    const auto zeroed = written(
        *repair(run, {.fixes = {"all"}, .moments = RepairOptions::Moments::Zeros}), run, folder / "b");
    size_t refilled = 0;
    for (const Parameter& param : whole->params) {
        if (param.unit == kNoUnit || param.elements == 0)
            continue;
        CAPTURE(param.name);
        const auto weights = bytesOf(*whole, param.name, "weight");
        const auto was = bytesOf(*whole, param.name, "fp32");
        const auto is = bytesOf(*repaired, param.name, "fp32");
        for (uint64_t i = 0; i < param.elements; ++i) {
            const bool same = std::equal(was.begin() + 4 * i, was.begin() + 4 * i + 4, is.begin() + 4 * i);
            // A bf16 value is the upper half of an fp32 one.
            const bool copied = is[4 * i] == 0 && is[4 * i + 1] == 0 && is[4 * i + 2] == weights[2 * i]
                && is[4 * i + 3] == weights[2 * i + 1];
            CHECK((same || copied));
            refilled += same ? 0 : 1;
        }
        const auto moment = bytesOf(*repaired, param.name, "exp_avg");
        const auto own = bytesOf(*whole, param.name, "exp_avg");
        const auto old = bytesOf(*before, param.name, "exp_avg");
        const auto none = bytesOf(*zeroed, param.name, "exp_avg");
        for (size_t i = 0; i < moment.size(); ++i) {
            CHECK((moment[i] == own[i] || moment[i] == old[i]));
            CHECK((none[i] == own[i] || none[i] == 0));
        }
    }
    CHECK(refilled > 1000);
}

TEST_CASE("all records of a file with a lost directory are recovered")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const fs::path run = copyOf("zero2-w2", folder);
    const CheckpointPtr whole = openForPlan(planSample("zero2-w2"));
    const fs::path shard = shardOf(tagOf(run), 1);
    const std::string bytes = slurp(shard);
    const size_t directory = bytes.find("PK\x01\x02");
    REQUIRE(directory != std::string::npos);
    spill(shard, bytes.substr(0, directory));
    const auto plan = repair(run, {{"F1"}});
    CHECK(plan->marks.empty());
    checkSameState(written(*plan, run, folder / "repaired"), whole);

    spill(shard, bytes.substr(0, bytes.size() / 3)); // records are lost, too
    const auto refilled = repair(run, {{"file-torn"}});
    CHECK(!refilled->marks.empty());
    written(*refilled, run, folder / "refilled");
}

TEST_CASE("the pointer is set to the newest complete tag")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const fs::path run = copyOf("zero2-w2", folder);
    fs::remove(shardOf(run / "global_step6", 1));
    fs::remove(run / "latest");
    const auto plan = repair(run, {{"latest-missing"}});
    CHECK(plan->targetName == "global_step3");
    CHECK(plan->pointerName == "latest");
    CHECK(plan->repair->fixed == std::vector<std::string>{"latest-missing"});
}

TEST_CASE("findings that cannot be repaired are refused by name")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const fs::path run = copyOf("zero3-w4", folder);
    const auto nothing = tryRepair(run, {{"all"}});
    REQUIRE(!nothing);
    CHECK(nothing.error().code == ErrorCode::NotFound);
    CHECK(tryRepair(run, {}).error().code == ErrorCode::Usage);
    CHECK(tryRepair(run, {{"no-such-code"}}).error().code == ErrorCode::Usage);
    fs::remove(shardOf(tagOf(run), 2)); // ZeRO-3 keeps no copies, and there is one tag alone
    const auto lost = tryRepair(run, {{"rank-missing"}});
    REQUIRE(!lost);
    CHECK(lost.error().code == ErrorCode::Refused);
    CHECK(lost.error().hint.text.find("--from") != std::string::npos);
    fs::remove(tagOf(run) / "zero_pp_rank_0_mp_rank_00_model_states.pt");
    CHECK(!tryRepair(run, {{"all"}}));
}

TEST_CASE("a repair is undone from its source")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const fs::path run = copyOf("zero2-w2", folder);
    const fs::path tag = tagOf(run);
    const fs::path shard = shardOf(tag, 1);
    const std::string bytes = slurp(shard);
    spill(shard, bytes.substr(0, bytes.find("PK\x01\x02")));
    spill(tag / "zero_pp_rank_7_mp_rank_00_optim_states.pt", bytes); // of an older, larger save
    const auto plan = repair(run, {{"all"}});
    CHECK(plan->repair->fixed.size() >= 2);
    written(*plan, run, folder / "repaired");

    JobContext job;
    const auto all = planUndo(io::realFileSystem(), folder / "repaired", {}, {}, true, job);
    REQUIRE_MESSAGE(all.has_value(), (all ? "" : describe(all.error())));
    REQUIRE_FALSE(all->plan->repair);
    ExecuteOptions options;
    options.destination = folder / "again";
    options.sourceRunFolder = run;
    REQUIRE(execute(io::realFileSystem(), *all->plan, options, job));
    for (const auto& entry : fs::directory_iterator(tag))
        CHECK(slurp(folder / "again" / tag.filename() / entry.path().filename()) == slurp(entry.path()));

    const auto none = planUndo(io::realFileSystem(), folder / "repaired", {}, {"rank-missing"}, true, job);
    CHECK(none.error().code == ErrorCode::NotFound);
    CHECK(planUndo(io::realFileSystem(), run, {}, {}, true, job).error().code == ErrorCode::NotACheckpoint);
    spill(shard, bytes.substr(0, 2000));
    CHECK(planUndo(io::realFileSystem(), folder / "repaired", {}, {}, true, job).error().code
        == ErrorCode::SourceChanged);
}
