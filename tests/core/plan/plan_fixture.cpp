// SPDX-License-Identifier: Apache-2.0
#include "tests/core/plan/plan_fixture.h"

#include "core/base/finding_codes.h"
#include "core/engine/verify.h"
#include "tests/support/plain_writer.h"

#include <doctest/doctest.h>

namespace shardscope::test {

io::Path planSample(const char* name)
{
    return io::Path(SHARDSCOPE_SOURCE_DIR) / "tests/data/samples" / name;
}

CheckpointPtr openForPlan(const io::Path& path)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    return opened->checkpoint;
}

std::shared_ptr<const ReshardPlan> planFor(const CheckpointPtr& source, const ReshardOptions& options)
{
    JobContext job;
    auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    return *plan;
}

CheckpointPtr rewrite(const CheckpointPtr& source, const ReshardOptions& options, const io::Path& folder)
{
    plainWrite(*planFor(source, options), folder);
    CheckpointPtr result = openForPlan(folder);
    for (const Finding& finding : result->findings)
        CHECK_MESSAGE((finding.severity == Severity::Info || finding.code == code::kSubGroupSize),
            finding.where, ": ", finding.message);
    REQUIRE(!result->modelError);
    CHECK(result->complete);
    return result;
}

void checkSameState(const CheckpointPtr& result, const CheckpointPtr& source)
{
    JobContext job;
    const auto report = verifyCheckpoint(io::realFileSystem(), result, source, 2, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    for (const Finding& problem : report->problems)
        MESSAGE(problem.code, " ", problem.where, ": ", problem.message);
    CHECK(report->ok);
}

} // namespace shardscope::test
