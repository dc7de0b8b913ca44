// SPDX-License-Identifier: Apache-2.0
// What a plan says of its target before it is written is what a reader finds afterwards.
#include "core/plan/reshard/planned_checkpoint.h"

#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::vector<std::string> namesOf(const Checkpoint& checkpoint, const std::vector<FileId>& files)
{
    std::vector<std::string> names;
    for (const FileId file : files)
        names.push_back(file == kNoFile ? std::string() : checkpoint.file(file).name);
    return names;
}

void checkSameUnits(const Checkpoint& planned, const Checkpoint& written)
{
    REQUIRE(planned.units.size() == written.units.size());
    for (size_t i = 0; i < written.units.size(); ++i) {
        CAPTURE(i);
        const FlatUnit& ours = planned.units[i];
        const FlatUnit& theirs = written.units[i];
        CHECK(ours.kind == theirs.kind);
        CHECK(ours.group == theirs.group);
        CHECK(ours.partition.ranks() == theirs.partition.ranks());
        CHECK(ours.partition.partitionElements() == theirs.partition.partitionElements());
        REQUIRE(ours.params.size() == theirs.params.size());
        for (size_t at = 0; at < ours.params.size(); ++at) {
            const Parameter& param = planned.params[index(ours.params[at])];
            CHECK(param.name == written.params[index(theirs.params[at])].name);
            CHECK(param.unit == UnitId{static_cast<uint32_t>(i)});
            CHECK(param.indexInUnit == at);
        }
        REQUIRE(ours.states.size() == theirs.states.size());
        for (size_t state = 0; state < ours.states.size(); ++state)
            for (uint32_t rank = 0; rank < ours.partition.ranks(); ++rank)
                CHECK(planned.file(ours.states[state].perRank[rank].file).name
                    == written.file(theirs.states[state].perRank[rank].file).name);
    }
}

} // namespace

TEST_CASE("a planned checkpoint has the ranks, units and files of the one that is written")
{
    struct Case {
        const char* sample;
        ReshardOptions options;
    };
    for (const auto& [sample, options] :
        {Case{"zero2-w2", {.worldSize = 3}}, Case{"zero3-w4", {.worldSize = 2}},
            Case{"zero1-w2", {.worldSize = 5}}, Case{"slices-w4", {.worldSize = 8}}}) {
        CAPTURE(sample);
        const auto plan = planFor(openForPlan(planSample(sample)), options);
        const CheckpointPtr planned = plannedCheckpoint(*plan);
        const TemporaryFolder folder;
        plainWrite(*plan, folder.path());
        const CheckpointPtr written = openForPlan(folder.path());
        CHECK(planned->kind == written->kind);
        CHECK(planned->parallel.dp == written->parallel.dp);
        CHECK(planned->parts.size() == written->parts.size());
        CHECK(planned->findings.empty());
        CHECK(namesOf(*planned, planned->optimFiles) == namesOf(*written, written->optimFiles));
        for (const CheckpointFile& file : written->files) {
            CAPTURE(file.name);
            const auto same = std::find_if(planned->files.begin(), planned->files.end(),
                [&](const CheckpointFile& other) { return other.name == file.name; });
            REQUIRE(same != planned->files.end());
            CHECK(same->identity.bytes == file.identity.bytes);
        }
        CHECK(planned->files.size() == plan->files.size());
        checkSameUnits(*planned, *written);
        // A part numbers files as the whole does, and its options are in its own optimizer file.
        for (size_t i = 0; i < written->parts.size(); ++i) {
            const Checkpoint& part = *planned->parts[i];
            CHECK(namesOf(part, part.optimFiles) == namesOf(*written, written->parts[i]->optimFiles));
            CHECK(namesOf(*planned, part.optimFiles) == namesOf(part, part.optimFiles));
            REQUIRE(part.templateOptim != kNoFile);
            CHECK(part.templateOptim == part.optimFiles.front());
            CHECK(part.file(part.templateOptim).content != nullptr);
        }
    }
}

TEST_CASE("what ranks would hold for other numbers is what the plans for them say")
{
    struct Case {
        const char* sample;
        ReshardOptions options;
    };
    const std::vector<uint32_t> sizes{1, 2, 3, 4, 5, 7, 8, 16};
    for (const auto& [sample, options] :
        {Case{"zero2-w2", {.worldSize = 3}}, Case{"zero3-w4", {.worldSize = 2}},
            Case{"zero3-w4", {.worldSize = 2, .stage = 1}}, Case{"slices-w4", {.worldSize = 8}},
            Case{"experts-w4", {.worldSize = 4}}, Case{"stage0-fp32", {.worldSize = 4}}}) {
        CAPTURE(sample);
        const CheckpointPtr source = openForPlan(planSample(sample));
        JobContext job;
        const auto loads = plannedLoads(*planFor(source, options), sizes, job);
        REQUIRE(loads.size() == sizes.size());
        for (size_t i = 0; i < sizes.size(); ++i) {
            CAPTURE(sizes[i]);
            ReshardOptions wanted = options;
            wanted.worldSize = sizes[i];
            const auto plan = planReshard(io::realFileSystem(), source, wanted, job);
            CHECK(loads[i].has_value() == plan.has_value());
            if (!plan || !loads[i])
                continue;
            const RankLoad exact = rankLoad(*plannedCheckpoint(**plan));
            CHECK(loads[i]->leastBytes == exact.leastBytes);
            CHECK(loads[i]->mostBytes == exact.mostBytes);
            CHECK(loads[i]->padding == exact.padding);
            CHECK(loads[i]->mostPadding == exact.mostPadding);
        }
    }
}

TEST_CASE("a universal folder has no ranks that could hold something")
{
    JobContext job;
    const auto plan = planFor(openForPlan(planSample("zero2-w2")), {.form = TargetForm::Universal});
    const std::vector<uint32_t> sizes{1, 2};
    for (const auto& load : plannedLoads(*plan, sizes, job))
        CHECK(!load.has_value());
}
