// SPDX-License-Identifier: Apache-2.0
// Reshard plans on checkpoints that stock DeepSpeed wrote: the training state stays the same for any sequence
// of world sizes.
#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/engine/verify/verify.h"
#include "core/plan/reshard/reshard.h"

#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr const char* kAll[]
    = {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "aligned-w2"};

std::vector<std::string> bytesOfAll(const WritePlan& plan)
{
    std::vector<std::string> out;
    for (size_t i = 0; i < plan.files.size(); ++i) {
        out.push_back(plainBytes(plan, i));
        CHECK(out.back().size() == plan.files[i].bytes);
    }
    return out;
}

} // namespace

TEST_CASE("a resharded sample holds the same training state at every world size")
{
    for (const char* name : kAll) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 7u, 64u, 1024u}) {
            CAPTURE(name);
            CAPTURE(ranks);
            const TemporaryFolder folder;
            const auto plan = planFor(source, {.worldSize = ranks});
            plainWrite(*plan, folder.path());
            const CheckpointPtr result = openForPlan(folder.path());
            for (const Finding& finding : result->findings)
                CHECK_MESSAGE(
                    finding.severity == Severity::Info, finding.where.text(), ": ", finding.message);
            REQUIRE(!result->modelError);
            CHECK(result->complete);
            CHECK(result->parallel.dp == ranks);
            CHECK(result->kind == source->kind);
            CHECK(result->steps.globalSteps == source->steps.globalSteps);
            checkSameState(result, source);
        }
    }
}

TEST_CASE("there and back again gives the bytes of rewriting at the same world size")
{
    for (const char* name : kAll) {
        const CheckpointPtr source = openForPlan(planSample(name));
        const uint32_t ranks = source->parallel.dp;
        const TemporaryFolder same;
        plainWrite(*planFor(source, {.worldSize = ranks}), same.path());
        const auto straight = bytesOfAll(*planFor(source, {.worldSize = ranks}));
        for (const uint32_t via : {1u, 3u, 5u, 64u}) {
            CAPTURE(name);
            CAPTURE(via);
            const TemporaryFolder folder;
            plainWrite(*planFor(source, {.worldSize = via}), folder.path());
            const auto back = bytesOfAll(*planFor(openForPlan(folder.path()), {.worldSize = ranks}));
            CHECK(back == straight);
        }
        // Rewriting a rewritten checkpoint changes nothing.
        CHECK(bytesOfAll(*planFor(openForPlan(same.path()), {.worldSize = ranks})) == straight);
    }
}

TEST_CASE("ZeRO-3 sub-groups have the requested size")
{
    const CheckpointPtr source = openForPlan(planSample("zero3-w4"));
    REQUIRE(source->subGroupSize == 3000u);
    for (const uint64_t size : {uint64_t{1}, uint64_t{500}, uint64_t{3000}, uint64_t{1000000000}}) {
        CAPTURE(size);
        const TemporaryFolder folder;
        const auto plan = planFor(source, {.worldSize = 3, .subGroupSize = size});
        CHECK(plan->reshard->subGroupSize == size);
        plainWrite(*plan, folder.path());
        const CheckpointPtr result = openForPlan(folder.path());
        std::vector<uint64_t> sizes;
        for (const ParamGroup& group : result->groups) {
            std::vector<uint64_t> elements;
            std::vector<uint32_t> ends;
            for (const UnitId unit : group.units) {
                for (const ParamId param : result->units[index(unit)].params)
                    elements.push_back(result->params[index(param)].elements);
                ends.push_back(static_cast<uint32_t>(elements.size()));
            }
            const auto ranges = splitIntoSubGroups(elements, 3, size);
            REQUIRE(ranges.size() == ends.size());
            for (size_t i = 0; i < ends.size(); ++i)
                CHECK(ranges[i].end == ends[i]);
        }
        checkSameState(result, source);
    }
}

TEST_CASE("impossible requests are refused before anything is planned")
{
    JobContext job;
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto code = [&](const ReshardOptions& options) {
        const auto plan = planReshard(io::realFileSystem(), source, options, job);
        REQUIRE(!plan.has_value());
        return plan.error().code;
    };
    CHECK(code({.worldSize = 0}) == ErrorCode::Usage);
    CHECK(code({.worldSize = 2, .subGroupSize = 5}) == ErrorCode::Usage);
    CHECK(code({.worldSize = 2, .tagOut = "../x"}) == ErrorCode::Usage);

    const TemporaryFolder folder;
    std::filesystem::copy(
        planSample("zero2-w2"), folder.path() / "run", std::filesystem::copy_options::recursive);
    std::filesystem::remove(
        folder.path() / "run/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const auto plan
        = planReshard(io::realFileSystem(), openForPlan(folder.path() / "run"), {.worldSize = 4}, job);
    REQUIRE(!plan.has_value());
    CHECK(plan.error().code == ErrorCode::Refused);
    CHECK(plan.error().message.find("rank-missing") != std::string::npos);
}
