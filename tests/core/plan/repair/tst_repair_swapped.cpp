// SPDX-License-Identifier: Apache-2.0
// Checkpoints of NVMe offload made whole: a copy with ordinary shards.
#include "core/engine/write/execute.h"
#include "core/plan/repair/repair.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"
#include "tests/support/swapped_checkpoint.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// A copy of the sample with some sub-groups swapped out.
class Swapped
{
public:
    Swapped()
    {
        fs::copy(planSample("zero3-w4"), m_folder / "run", fs::copy_options::recursive);
        swapOut(m_folder / "run" / "global_step5", {.subgroups = {0, 2}, .ids = true, .pipelined = true});
    }

    [[nodiscard]] fs::path run() const { return m_folder / "run"; }
    [[nodiscard]] fs::path swapFolder() const { return run() / "global_step5" / "offloaded_tensors"; }
    [[nodiscard]] fs::path other(const char* name) const { return m_folder / name; }

private:
    TemporaryFolder m_folder{TemporaryFolder::Where::Memory};
};

CheckpointPtr sample()
{
    return openForPlan(planSample("zero3-w4"));
}

CheckResult checkOf(const fs::path& run)
{
    JobContext job;
    return examine(io::realFileSystem(), run, {}, job).value();
}

Result<WritePlanPtr> planFor(const Swapped& swapped, const RepairOptions& options)
{
    JobContext job;
    return planRepair(io::realFileSystem(), swapped.run(), {}, options, job);
}

CheckpointPtr repaired(const Swapped& swapped, const RepairOptions& options)
{
    auto plan = planFor(swapped, options);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    JobContext job;
    ExecuteOptions execution;
    execution.destination = swapped.other("repaired");
    execution.sourceRunFolder = swapped.run();
    const auto report = execute(io::realFileSystem(), **plan, execution, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    CHECK(!fs::exists(swapped.other("repaired") / "global_step5" / "offloaded_tensors"));
    return openForPlan(swapped.other("repaired"));
}

} // namespace

TEST_CASE("swapped states become ordinary shards, and nothing is marked")
{
    const Swapped swapped;
    REQUIRE(findingOf(checkOf(swapped.run()), "swap-copy") != nullptr);
    checkSameState(repaired(swapped, {.fixes = {"swap-copy"}}), sample());
    const CheckResult after = checkOf(swapped.other("repaired"));
    CHECK(troubles(after).empty());
    CHECK(findingOf(after, "swap-copy") == nullptr);
}

TEST_CASE("states with missing swap files are taken from another checkpoint")
{
    for (const bool wholeRank : {false, true}) {
        CAPTURE(wholeRank);
        const Swapped swapped;
        const fs::path rank = swapped.swapFolder() / "rank01";
        REQUIRE(fs::exists(rank));
        if (wholeRank)
            fs::remove_all(rank);
        else
            fs::remove(fs::directory_iterator(rank)->path());
        REQUIRE(troubles(checkOf(swapped.run())).contains("swap-missing"));
        const auto nowhere = planFor(swapped, {.fixes = {"swap-missing"}});
        if (wholeRank) { // with masters, of which ZeRO-3 has no copies
            REQUIRE(!nowhere);
            CHECK(nowhere.error().code == ErrorCode::Refused);
        }
        ReshardOptions other;
        other.worldSize = 3;
        rewrite(sample(), other, swapped.other("donor"));
        const CheckpointPtr copy = repaired(swapped,
            {.fixes = {"N1"},
                .donor = swapped.other("donor").string(),
                .masters = RepairOptions::Masters::Donor,
                .moments = RepairOptions::Moments::Donor});
        checkSameState(copy, sample());
        CHECK(troubles(checkOf(swapped.other("repaired"))) == std::set<std::string>{"marked"});
    }
}

TEST_CASE("moments that are another tensor's are taken from another checkpoint, and the masters stay")
{
    const Swapped swapped;
    const std::string id = swapIdOf(planSample("zero3-w4"), 2);
    const fs::path moment = swapped.swapFolder() / "rank00" / ("exp_avg-" + id + ".tensor.swp");
    const fs::path square = swapped.swapFolder() / "rank00" / ("exp_avg_sq-" + id + ".tensor.swp");
    fs::rename(moment, swapped.other("aside"));
    fs::rename(square, moment);
    fs::rename(swapped.other("aside"), square);
    REQUIRE(troubles(checkOf(swapped.run())) == std::set<std::string>{"nvme-state-skew", "swap-mismatch"});
    ReshardOptions other;
    other.worldSize = 3;
    rewrite(sample(), other, swapped.other("donor"));
    const RepairOptions options{.fixes = {"swap-mismatch"}, .donor = swapped.other("donor").string()};
    const auto plan = planFor(swapped, options);
    REQUIRE(plan);
    CHECK((*plan)->marks.size() == 2);
    for (const Finding& mark : (*plan)->marks)
        CHECK(mark.where.text().starts_with("dp0.tp0.pp0/subgroup2+0:171@exp_avg"));
    checkSameState(repaired(swapped, options), sample());
    CHECK(troubles(checkOf(swapped.other("repaired"))) == std::set<std::string>{"marked"});
}

TEST_CASE("a run's folder of another step is not repaired but named")
{
    const Swapped swapped;
    const std::string id = swapIdOf(planSample("zero3-w4"), 2);
    makeLive(swapped.run() / "global_step5", swapped.run());
    fs::last_write_time(swapped.run() / "zero_stage_3/optimizer/rank1" / (id + ".tensor.swp"),
        fs::file_time_type::clock::now() + std::chrono::hours(2)); // the run continued
    REQUIRE(findingOf(checkOf(swapped.run()), "swap-mismatch") != nullptr);
    const auto plan = planFor(swapped, {.fixes = {"swap-mismatch"}});
    REQUIRE(!plan);
    CHECK(plan.error().code == ErrorCode::Unsupported);
}

TEST_CASE("swap files that only their order identifies are an error without a fix")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    ReshardOptions small;
    small.worldSize = 2;
    small.subGroupSize = 1; // a sub-group for every parameter; those of the two layers have equal sizes
    rewrite(sample(), small, folder / "run");
    swapOut(folder / "run/global_step5", {.subgroups = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .ids = false});
    const CheckResult found = checkOf(folder / "run");
    const DoctorFinding* unmapped = findingOf(found, "swap-unmapped");
    REQUIRE(unmapped != nullptr);
    CHECK(unmapped->finding.severity == Severity::Error);
    CHECK(!unmapped->diagnosis->repairs);
}
