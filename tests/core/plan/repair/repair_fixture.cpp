// SPDX-License-Identifier: Apache-2.0
#include "tests/core/plan/repair/repair_fixture.h"

#include "core/engine/write/execute.h"

namespace shardscope::test {

Repaired repair(const Patchable& damaged, const RepairOptions& options,
    const std::filesystem::path& destination, const OpenOptions& open)
{
    JobContext job;
    auto plan = planRepair(io::realFileSystem(), damaged.run(), open, options, job);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    ExecuteOptions execution;
    execution.destination = destination;
    execution.sourceRunFolder = damaged.run();
    const auto report = execute(io::realFileSystem(), **plan, execution, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    return {*plan, openForPlan(destination)};
}

std::set<std::string> troublesOf(const std::filesystem::path& run, CheckDepth depth)
{
    JobContext job;
    CheckOptions options;
    options.depth = depth;
    return troubles(examine(io::realFileSystem(), run, options, job).value());
}

Error refusalOf(const Patchable& damaged, const RepairOptions& options)
{
    JobContext job;
    const auto plan = planRepair(io::realFileSystem(), damaged.run(), {}, options, job);
    REQUIRE(!plan);
    return plan.error();
}

std::set<double> stepsOf(const Checkpoint& checkpoint)
{
    std::set<double> out;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.isFlat() && unit.step)
            out.insert(*unit.step);
    }
    return out;
}

} // namespace shardscope::test
