// SPDX-License-Identifier: Apache-2.0
// Reshard plans on checkpoints that stock DeepSpeed wrote: whatever the way of ranks, the training state
// stays the same.
#include "core/checkpoint/open.h"
#include "core/engine/verify.h"
#include "core/plan/reshard.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

const io::Path kSamples = io::Path(SHARDSCOPE_SOURCE_DIR) / "tests/data/samples";
constexpr const char* kAll[] = {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "aligned-w2"};

CheckpointPtr open(const io::Path& path)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    return opened->checkpoint;
}

std::shared_ptr<const ReshardPlan> planFor(const CheckpointPtr& source, ReshardOptions options)
{
    JobContext job;
    auto plan = planReshard(io::realFileSystem(), source, options, job);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    return *plan;
}

std::vector<std::string> bytesOfAll(const WritePlan& plan)
{
    std::vector<std::string> out;
    for (size_t i = 0; i < plan.files().size(); ++i) {
        out.push_back(test::plainBytes(plan, i));
        CHECK(out.back().size() == plan.files()[i].bytes);
    }
    return out;
}

void checkSame(const CheckpointPtr& result, const CheckpointPtr& source)
{
    JobContext job;
    const auto report = verifyCheckpoint(io::realFileSystem(), result, source, 2, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    for (const Finding& problem : report->problems)
        MESSAGE(problem.code, " ", problem.where, ": ", problem.message);
    CHECK(report->ok);
}

} // namespace

TEST_CASE("a resharded sample holds the same training state at every world size")
{
    for (const char* name : kAll) {
        const CheckpointPtr source = open(kSamples / name);
        for (const uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 7u, 64u, 1024u}) {
            CAPTURE(name);
            CAPTURE(ranks);
            const test::TemporaryFolder folder;
            const auto plan = planFor(source, {.worldSize = ranks});
            test::plainWrite(*plan, folder.path());
            const CheckpointPtr result = open(folder.path());
            for (const Finding& finding : result->findings)
                CHECK_MESSAGE(finding.severity == Severity::Info, finding.where, ": ", finding.message);
            REQUIRE(!result->modelError);
            CHECK(result->complete);
            CHECK(result->parallel.dp == ranks);
            CHECK(result->kind == source->kind);
            CHECK(result->steps.globalSteps == source->steps.globalSteps);
            checkSame(result, source);
        }
    }
}

TEST_CASE("there and back again gives the bytes of rewriting at the same world size")
{
    for (const char* name : kAll) {
        const CheckpointPtr source = open(kSamples / name);
        const uint32_t ranks = source->parallel.dp;
        const test::TemporaryFolder same;
        test::plainWrite(*planFor(source, {.worldSize = ranks}), same.path());
        const auto straight = bytesOfAll(*planFor(source, {.worldSize = ranks}));
        for (const uint32_t via : {1u, 3u, 5u, 64u}) {
            CAPTURE(name);
            CAPTURE(via);
            const test::TemporaryFolder folder;
            test::plainWrite(*planFor(source, {.worldSize = via}), folder.path());
            const auto back = bytesOfAll(*planFor(open(folder.path()), {.worldSize = ranks}));
            CHECK(back == straight);
        }
        // Rewriting what was rewritten changes nothing any more.
        CHECK(bytesOfAll(*planFor(open(same.path()), {.worldSize = ranks})) == straight);
    }
}

TEST_CASE("ZeRO-3 sub-groups follow the size that is asked for")
{
    const CheckpointPtr source = open(kSamples / "zero3-w4");
    REQUIRE(source->subGroupSize == 3000u);
    for (const uint64_t size : {uint64_t{1}, uint64_t{500}, uint64_t{3000}, uint64_t{1000000000}}) {
        CAPTURE(size);
        const test::TemporaryFolder folder;
        const auto plan = planFor(source, {.worldSize = 3, .subGroupSize = size});
        CHECK(plan->subGroupSize() == size);
        test::plainWrite(*plan, folder.path());
        const CheckpointPtr result = open(folder.path());
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
        checkSame(result, source);
    }
}

TEST_CASE("what cannot be right is refused before anything is planned")
{
    JobContext job;
    const CheckpointPtr source = open(kSamples / "zero2-w2");
    const auto code = [&](const ReshardOptions& options) {
        const auto plan = planReshard(io::realFileSystem(), source, options, job);
        REQUIRE(!plan.has_value());
        return plan.error().code;
    };
    CHECK(code({.worldSize = 0}) == ErrorCode::Usage);
    CHECK(code({.worldSize = 2, .subGroupSize = 5}) == ErrorCode::Usage);
    CHECK(code({.worldSize = 2, .tagOut = "../x"}) == ErrorCode::Usage);

    const test::TemporaryFolder folder;
    std::filesystem::copy(
        kSamples / "zero2-w2", folder.path() / "run", std::filesystem::copy_options::recursive);
    std::filesystem::remove(
        folder.path() / "run/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const auto plan = planReshard(io::realFileSystem(), open(folder.path() / "run"), {.worldSize = 4}, job);
    REQUIRE(!plan.has_value());
    CHECK(plan.error().code == ErrorCode::Refused);
    CHECK(plan.error().message.find("rank-missing") != std::string::npos);
}
