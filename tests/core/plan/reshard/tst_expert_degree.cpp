// SPDX-License-Identifier: Apache-2.0
// Experts for another number of expert-parallel ranks.
#include "core/plan/target/expert_degree.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using test::openForPlan;
using test::planSample;

namespace {

std::vector<std::string> namesOf(const Checkpoint& checkpoint, const std::vector<ParamId>& params)
{
    std::vector<std::string> out;
    for (const ParamId param : params)
        out.push_back(checkpoint.params[index(param)].name);
    return out;
}

/// The checkpoint with expert parameters of `elements` each, and the groups of a run that has these.
Checkpoint withGroups(Checkpoint checkpoint, const std::vector<TargetGroup>& groups, uint64_t elements)
{
    const std::vector<FlatUnit> units = std::move(checkpoint.units);
    const std::vector<ParamGroup> old = std::move(checkpoint.groups);
    checkpoint.units.clear();
    checkpoint.groups.clear();
    for (const TargetGroup& from : groups) {
        ParamGroup group = old[from.source];
        std::vector<std::vector<ParamId>> families = from.families;
        if (families.empty())
            families.push_back(units[index(group.units.front())].params);
        else
            checkpoint.parallel.ep = static_cast<uint32_t>(families.size());
        group.index = static_cast<uint32_t>(checkpoint.groups.size());
        group.units.clear();
        for (const auto& family : families) {
            FlatUnit unit = units[index(old[from.source].units.front())];
            unit.group = static_cast<int32_t>(group.index);
            unit.params = family;
            std::vector<uint64_t> sizes;
            for (const ParamId param : family) {
                Parameter& of = checkpoint.params[index(param)];
                if (!from.families.empty())
                    of.elements = elements;
                sizes.push_back(of.elements);
            }
            unit.partition = *FlatPartition::contiguous(sizes, 2, 2);
            group.units.push_back(UnitId{static_cast<uint32_t>(checkpoint.units.size())});
            checkpoint.units.push_back(std::move(unit));
        }
        checkpoint.groups.push_back(std::move(group));
    }
    return checkpoint;
}

} // namespace

TEST_CASE("experts are repartitioned to another number of expert-parallel ranks, and back")
{
    const test::TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("experts-w4"));
    REQUIRE(source->parallel.ep == 2);
    for (const uint32_t ranks : {4u, 3u}) {
        CAPTURE(ranks);
        const io::Path at = folder / ("w" + std::to_string(ranks));
        const CheckpointPtr one = test::rewrite(source, {.worldSize = ranks, .ep = 1}, at / "one");
        CHECK(one->parallel.ep == 1);
        CHECK(one->parallel.dp == ranks);
        test::checkSameState(one, source);
        const CheckpointPtr two = test::rewrite(one, {.worldSize = 4, .ep = 2}, at / "two");
        CHECK(two->parallel.ep == 2);
        test::checkSameState(two, source);
        REQUIRE(two->units.size() == source->units.size());
        for (size_t u = 0; u < two->units.size(); ++u) {
            CAPTURE(u);
            CHECK(namesOf(*two, two->units[u].params) == namesOf(*source, source->units[u].params));
            CHECK(two->units[u].firstRank == source->units[u].firstRank);
            CHECK(two->units[u].rankStride == source->units[u].rankStride);
        }
    }
}

TEST_CASE("experts that cannot be repartitioned are refused by name")
{
    JobContext job;
    const auto refusal = [&](const char* sample, const ReshardOptions& options) {
        const auto plan = planReshard(io::realFileSystem(), openForPlan(planSample(sample)), options, job);
        REQUIRE(!plan.has_value());
        return plan.error();
    };
    const Error layer = refusal("experts-w4", {.worldSize = 4, .ep = 4});
    CHECK(layer.code == ErrorCode::Usage);
    CHECK(layer.message.find("the 2 experts of `blocks.1` do not divide by 4") != std::string::npos);
    CHECK(refusal("experts-w4", {.worldSize = 4, .ep = 0}).code == ErrorCode::Usage);
    CHECK(refusal("zero2-w2", {.worldSize = 4, .ep = 2}).code == ErrorCode::Unsupported);
    CHECK(refusal("experts-w4", {.form = TargetForm::Universal}).message.find("no universal form")
        != std::string::npos);
    CHECK(refusal("experts-w4", {.worldSize = 4, .stage = 1, .ep = 1}).code == ErrorCode::Unsupported);
}

TEST_CASE("groups of experts are split where DeepSpeed splits them")
{
    const CheckpointPtr source = openForPlan(planSample("experts-w4"));
    const auto same = groupsForExpertDegree(*source, 2);
    REQUIRE(same);
    REQUIRE(same->size() == source->groups.size());
    // Four experts of 4 parameters and two of 4, in groups of 2 each: three local ones fit into one group.
    const Checkpoint large = withGroups(*source, *same, 28'000'000);
    const auto one = groupsForExpertDegree(large, 1);
    REQUIRE(one);
    size_t experts = 0;
    for (const TargetGroup& group : *one) {
        if (group.families.empty())
            continue;
        ++experts;
        CHECK(group.families.size() == 1);
        CHECK(group.families.front().size() == 6); // 168 million elements; 7 would be 196
    }
    CHECK(experts == 4);
    const Checkpoint split = withGroups(large, *one, 28'000'000);
    const auto back = groupsForExpertDegree(split, 2);
    REQUIRE(back);
    REQUIRE(back->size() == same->size());
    for (size_t g = 0; g < back->size(); ++g) {
        REQUIRE((*back)[g].families.size() == (*same)[g].families.size());
        for (size_t family = 0; family < (*back)[g].families.size(); ++family)
            CHECK(
                namesOf(split, (*back)[g].families[family]) == namesOf(*source, (*same)[g].families[family]));
    }
}

TEST_CASE("groups that were split by another limit are refused")
{
    const CheckpointPtr source = openForPlan(planSample("experts-w4"));
    const auto one
        = groupsForExpertDegree(withGroups(*source, *groupsForExpertDegree(*source, 2), 28'000'000), 1);
    REQUIRE(one);
    const Checkpoint small = withGroups(*source, *one, 28);
    const auto refused = groupsForExpertDegree(small, 2);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::Unsupported);
    CHECK(refused.error().message.find("split") != std::string::npos);
}
