// SPDX-License-Identifier: Apache-2.0
#include "tests/core/plan/plan_fixture.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/open/open.h"
#include "core/engine/verify/verify.h"
#include "core/layout/fragments.h"
#include "tests/support/places.h"
#include "tests/support/plain_writer.h"

#include <doctest/doctest.h>

namespace shardscope::test {

io::Path planSample(const char* name)
{
    return io::Path(sourceFolder()) / "tests/data/samples" / name;
}

CheckpointPtr openForPlan(const io::Path& path)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    return opened->checkpoint;
}

WritePlanPtr planFor(const CheckpointPtr& source, const ReshardOptions& options)
{
    JobContext job;
    auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    return *plan;
}

CheckpointPtr rewrite(const CheckpointPtr& source, const ReshardOptions& options, const io::Path& folder,
    std::string_view allowed)
{
    plainWrite(*planFor(source, options), folder);
    CheckpointPtr result = openForPlan(folder);
    for (const Finding& finding : result->findings)
        CHECK_MESSAGE((finding.severity == Severity::Info || finding.code == allowed), finding.where.text(),
            ": ", finding.message);
    REQUIRE(!result->modelError);
    CHECK(result->complete);
    return result;
}

std::vector<uint8_t> bytesOf(const Checkpoint& checkpoint, const std::string& name, const std::string& state)
{
    const auto param = checkpoint.findParam(name);
    REQUIRE_MESSAGE(param, name);
    const uint64_t elements = checkpoint.params[index(*param)].elements;
    std::vector<uint8_t> out(elements * itemSize(findState(checkpoint, *param, state)->dtype));
    REQUIRE(readElements(io::realFileSystem(), checkpoint, {*param, state, 0, elements}, out).has_value());
    return out;
}

std::vector<uint8_t> interleaved(const std::vector<std::vector<uint8_t>>& slices, size_t parts)
{
    std::vector<uint8_t> out;
    for (size_t part = 0; part < parts; ++part) {
        for (const auto& slice : slices) {
            const size_t size = slice.size() / parts;
            out.insert(out.end(), slice.begin() + static_cast<std::ptrdiff_t>(part * size),
                slice.begin() + static_cast<std::ptrdiff_t>((part + 1) * size));
        }
    }
    return out;
}

void checkSameState(const CheckpointPtr& result, const CheckpointPtr& source)
{
    JobContext job;
    const auto report = verifyCheckpoint(io::realFileSystem(), result, {source}, 2, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    for (const Finding& problem : report->problems)
        MESSAGE(problem.code, " ", problem.where.text(), ": ", problem.message);
    CHECK(report->ok);
}

} // namespace shardscope::test
