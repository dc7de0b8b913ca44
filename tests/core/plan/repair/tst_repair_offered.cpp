// SPDX-License-Identifier: Apache-2.0
// A repair is offered only if it changes something: its finding is not in the copy.
#include "core/checkpoint/model/file_names.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

std::set<std::string> offeredIn(const CheckResult& result)
{
    std::set<std::string> out;
    for (const DoctorFinding& made : result.findings) {
        if (repairs(*made.diagnosis, made.finding))
            out.emplace(made.finding.code);
    }
    return out;
}

/// Repairs one finding, and compares the copy with the source.
void checkChanges(const Patchable& source, const std::string& code)
{
    CAPTURE(code);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Repaired repaired = repair(source, {.fixes = {code}}, folder / "repaired");
    CHECK(!repaired.plan->repair->changes.empty());
    std::set<std::string> names;
    bool isRewritten = false;
    for (const PlannedFile& file : repaired.plan->files) {
        names.insert(file.path);
        isRewritten = isRewritten || (!file.copyOf && parseCheckpointFileName(file.path));
    }
    const bool isLeftOut = std::ranges::any_of(
        source.filesLike(".pt"), [&](const std::string& name) { return !names.contains(name); });
    CHECK((isRewritten || isLeftOut));
    JobContext job;
    const auto after = examine(io::realFileSystem(), folder / "repaired", {}, job);
    REQUIRE(after);
    CHECK(findingOf(*after, code) == nullptr);
    CHECK(troubles(*after).empty());
}

Patchable sampleOf(const std::string& sample)
{
    const size_t colon = sample.find(':');
    return Patchable(sample.substr(0, colon), sample.substr(colon + 1));
}

} // namespace

TEST_CASE("every repair that is offered for a sample changes something")
{
    size_t offered = 0;
    for (const std::string& sample : allSamples()) {
        CAPTURE(sample);
        const Patchable copy = sampleOf(sample);
        spill(copy.run() / "latest", sample.substr(sample.find(':') + 1)); // some are not the newest tag
        for (const std::string& code : offeredIn(copy.check())) {
            JobContext job;
            const auto plan = planRepair(io::realFileSystem(), copy.run(), {}, {.fixes = {code}}, job);
            if (!plan
                && (plan.error().code == ErrorCode::Refused || plan.error().code == ErrorCode::Unsupported))
                continue; // with the reason: not for slices, or something is not in the files
            checkChanges(copy, code);
            ++offered;
        }
    }
    CHECK(offered > 2);
}

TEST_CASE("numbers of slices that contradict the files are set to those of the files")
{
    for (const char* sample : {"zero2-w2", "zero3-w4", "ulysses-zero2-w4"}) {
        CAPTURE(std::string(sample));
        const Patchable slices(sample);
        slices.operateOnAll("model_states.pt", [](Surgery& surgery) { surgery.set({"mp_world_size"}, 0); });
        CHECK(troubles(slices.check()) == std::set<std::string>{"bad-world-size-field"});
        checkChanges(slices, "bad-world-size-field");
        const Patchable degrees(sample);
        degrees.operateOnAll("model_states.pt", [](Surgery& surgery) {
            surgery.set({"checkpoint_parallel_dimensions", "tp_degree"}, 3);
        });
        CHECK(troubles(degrees.check()) == std::set<std::string>{"bad-world-size-field"});
        checkChanges(degrees, "bad-world-size-field");
    }
}

TEST_CASE("degrees that count sequence-parallel ranks are no wrong number")
{
    for (const char* sample : {"ulysses-zero2-w4", "ulysses-zero3-w4"}) {
        CAPTURE(std::string(sample));
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        CHECK(troublesOf(planSample(sample)).empty());
        for (const uint32_t ranks : {2, 3}) { // no whole number of sequence groups
            CAPTURE(ranks);
            ReshardOptions options;
            options.worldSize = ranks;
            const io::Path made = folder / std::to_string(ranks);
            checkSameState(
                rewrite(openForPlan(planSample(sample)), options, made), openForPlan(planSample(sample)));
            CHECK(troublesOf(made).empty());
        }
    }
}

TEST_CASE("files of a Ulysses run get the names that other releases look for")
{
    for (const char* sample : {"ds0184-ulysses-zero2-w4", "ds0184-ulysses-zero3-w4"}) {
        CAPTURE(std::string(sample));
        const Patchable source(sample);
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired repaired = repair(source, {.fixes = {"sequence-names"}}, folder / "repaired");
        CHECK(repaired.plan->marks.empty());
        checkSameState(repaired.copy, openForPlan(planSample(sample)));
        for (const CheckpointFile& file : repaired.copy->files) {
            const auto parsed = parseCheckpointFileName(file.name);
            CHECK((!parsed || parsed->mp == 0));
        }
        CHECK(repaired.copy->findings.empty());
        // Nothing is wrong, so `all` has nothing to repair.
        CHECK(refusalOf(source, {.fixes = {"all"}}).code == ErrorCode::NotFound);
    }
}
