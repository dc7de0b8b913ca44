// SPDX-License-Identifier: Apache-2.0
// Files that belong to the target but are next to it in the run folder: a framework's files.
#include "tests/core/engine/execute_fixture.h"
#include "tests/support/faulting_file_system.h"

#include <cerrno>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::string bytesNextToTarget(const Bench& bench)
{
    return bench.plan.expected().at("../weights.bin");
}

} // namespace

TEST_CASE("another checkpoint's file of the same name is refused, and nothing is written")
{
    Bench bench;
    spill(bench.destination() / "weights.bin", "theirs");
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::TargetExists);
    CHECK(report.error().path == (bench.destination() / "weights.bin").string());
    checkNothingCommitted(bench);
    CHECK(slurp(bench.destination() / "weights.bin") == "theirs");
    CHECK_FALSE(std::filesystem::exists(bench.work()));
}

TEST_CASE("a file of the same size is compared byte by byte before anything is committed")
{
    Bench bench;
    std::string theirs = bytesNextToTarget(bench);
    theirs.back() = static_cast<char>(theirs.back() ^ 1);
    spill(bench.destination() / "weights.bin", theirs);
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::TargetExists);
    checkNothingCommitted(bench);
    CHECK(slurp(bench.destination() / "weights.bin") == theirs);

    ExecuteOptions options = bench.options();
    options.force = true;
    const auto forced = run(bench, options);
    REQUIRE(forced);
    CHECK(forced->bytesReused == bench.plan.writesBytes); // the refused run had written all of it
    checkComplete(bench);
}

TEST_CASE("an identical file in its place is not a conflict")
{
    Bench bench;
    spill(bench.destination() / "weights.bin", bytesNextToTarget(bench));
    REQUIRE(run(bench, bench.options()));
    checkComplete(bench);
}

TEST_CASE("a file that appears after the commit is not overwritten, and latest is not written")
{
    Bench bench;
    // The first call that creates a name next to the target fails; then another program takes the name.
    const auto commits = [&](uint64_t call) {
        std::filesystem::remove_all(bench.destination());
        io::FaultingFileSystem files(io::realFileSystem(), {.callNumber = call, .errnoValue = EIO});
        const auto report = run(bench, bench.options(1), files);
        return std::pair(!report, files.faultWasHit());
    };
    bool found = false;
    for (uint64_t call = 1; !found; ++call) {
        const auto [failed, hit] = commits(call);
        REQUIRE(hit);
        found = failed && std::filesystem::exists(bench.target())
            && !std::filesystem::exists(bench.destination() / "weights.bin");
    }
    spill(bench.destination() / "weights.bin", "theirs");
    const auto refused = run(bench, bench.options());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::TargetExists);
    CHECK_FALSE(std::filesystem::exists(bench.destination() / "latest"));
    CHECK(slurp(bench.destination() / "weights.bin") == "theirs");
    ExecuteOptions options = bench.options();
    options.force = true;
    REQUIRE(run(bench, options));
    checkComplete(bench);
}

TEST_CASE("force replaces the target and the files next to it")
{
    Bench bench;
    spill(bench.destination() / "weights.bin", "theirs");
    ExecuteOptions options = bench.options();
    options.force = true;
    REQUIRE(run(bench, options));
    checkComplete(bench);
}

TEST_CASE("a raw source that changed is refused like any other")
{
    Bench bench;
    spill(bench.plan.sourceRun() / "weights.bin", bytesNextToTarget(bench) + "x");
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::SourceChanged);
    checkNothingCommitted(bench);
}
