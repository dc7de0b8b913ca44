// SPDX-License-Identifier: Apache-2.0
// Muon's momentum: ZeRO-1/2 keep it for whole parameters, also for those that other ranks have shares of.
#include "core/partition/held_whole.h"
#include "core/plan/emit/reshard_context.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace shardscope;
using namespace shardscope::test;

namespace {

const UnitState& momentumOf(const Checkpoint& checkpoint)
{
    const auto& states = checkpoint.units.front().states;
    const auto found = std::find_if(
        states.begin(), states.end(), [](const UnitState& state) { return state.name == "momentum_buffer"; });
    REQUIRE(found != states.end());
    return *found;
}

/// The bytes of a rank's momentum of group 0, with everything outside its share.
std::string bytesOn(const Checkpoint& checkpoint, uint32_t rank)
{
    const TorchFile& file = *checkpoint.file(checkpoint.optimFiles[rank]).content;
    const PickleGraph& graph = file.pickle();
    const NodeId base
        = lookup(graph, lookup(graph, graph.root(), "optimizer_state_dict"), "base_optimizer_state");
    const NodeId entry = lookup(graph, lookup(graph, base, "state"), int64_t{0});
    const auto tensor = asTensor(graph, lookup(graph, entry, "momentum_buffer"));
    REQUIRE(tensor.has_value());
    const auto extent = file.extentOf(*tensor);
    REQUIRE(extent.has_value());
    std::ifstream in(file.path(), std::ios::binary);
    in.seekg(static_cast<std::streamoff>(extent->byteOffset));
    std::string out(extent->bytes, '\0');
    in.read(out.data(), static_cast<std::streamsize>(out.size()));
    return out;
}

} // namespace

TEST_CASE("every rank's share of Muon's momentum is found in what it keeps of whole parameters")
{
    const CheckpointPtr source = openForPlan(planSample("muon-w3"));
    REQUIRE(!source->modelError);
    CHECK(source->complete);
    const FlatUnit& unit = source->units.front();
    const UnitState& momentum = momentumOf(*source);
    CHECK(momentum.lean);
    CHECK(momentum.heldWhole);
    CHECK(momentum.dtype == DType::BFloat16);
    bool crosses = false;
    for (uint32_t rank = 0; rank < 3; ++rank) {
        const HeldWhole held = heldWholeOn(unit.partition, rank);
        CHECK(momentum.perRank[rank].elements == held.own);
        CHECK(bytesOn(*source, rank).size() == held.elements() * itemSize(momentum.dtype));
        crosses = crosses || held.before > 0;
    }
    CHECK(crosses); // otherwise the sample would test nothing
    CHECK(source->units.back().states.size() == 3); // the others have the moments of Adam
}

TEST_CASE("Muon's momentum is written for every number of ranks, stage and form")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("muon-w3"));
    for (const uint32_t ranks : {1u, 2u, 4u, 5u, 64u}) {
        CAPTURE(ranks);
        const auto made
            = rewrite(source, {.worldSize = ranks}, folder.path() / ("w" + std::to_string(ranks)));
        checkSameState(made, source);
        const auto planned = targetStates(*source, source->units.front(), made->kind);
        CHECK(planned.at(1).heldWhole == momentumOf(*made).heldWhole);
        CHECK(planned.at(1).lean == momentumOf(*made).lean);
        for (uint32_t rank = 0; rank < ranks; ++rank)
            CHECK(bytesOn(*made, rank).size()
                == heldWholeOn(made->units.front().partition, rank).elements() * 2);
        // After converting back, the values at the borders equal the source's, too.
        const auto back = rewrite(made, {.worldSize = 3}, folder.path() / ("back" + std::to_string(ranks)));
        for (uint32_t rank = 0; rank < 3; ++rank)
            CHECK(bytesOn(*back, rank) == bytesOn(*source, rank));
    }
    const auto three = rewrite(source, {.worldSize = 2, .stage = 3}, folder.path() / "three");
    checkSameState(three, source);
    CHECK(!momentumOf(*three).lean); // ZeRO-3 keeps it as any other state
    CHECK(!momentumOf(*three).heldWhole);
    const auto two = rewrite(three, {.worldSize = 3, .stage = 2}, folder.path() / "two");
    checkSameState(two, source);
    for (uint32_t rank = 0; rank < 3; ++rank)
        CHECK(bytesOn(*two, rank) == bytesOn(*source, rank));
    const auto universal = rewrite(source, {.form = TargetForm::Universal}, folder.path() / "u");
    const auto native = rewrite(universal, {.worldSize = 3, .stage = 2}, folder.path() / "native");
    checkSameState(native, source);
    for (uint32_t rank = 0; rank < 3; ++rank)
        CHECK(bytesOn(*native, rank) == bytesOn(*source, rank));
}

namespace {

/// Parameters [begin, end) of a unit of the source become a unit of the target, for two ranks.
void addPart(ReshardTarget& target, const Checkpoint& source, size_t from, size_t begin, size_t end)
{
    const FlatUnit& like = source.units[from];
    FlatUnit unit;
    unit.kind = like.kind;
    unit.group = static_cast<int32_t>(target.units.size());
    unit.params.assign(like.params.begin() + static_cast<std::ptrdiff_t>(begin),
        like.params.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<uint64_t> elements;
    for (const ParamId param : unit.params)
        elements.push_back(source.params[index(param)].elements);
    unit.partition = *FlatPartition::contiguous(elements, 2, 2);
    unit.states = targetStates(source, like, target.kind);
    target.units.push_back(std::make_shared<const FlatUnit>(std::move(unit)));
}

} // namespace

TEST_CASE("a group of Muon's that becomes two at another expert degree keeps the form of its momentum")
{
    const CheckpointPtr source = openForPlan(planSample("muon-w3"));
    REQUIRE(source->groups.size() == 3); // of Muon, and two of Adam
    ReshardTarget target;
    target.kind = source->kind;
    target.ranks = 2;
    target.expertRanks = 1;
    target.sourceGroups = {0, 0, 1, 2};
    const size_t matrices = source->units[0].params.size();
    REQUIRE(matrices > 1);
    addPart(target, *source, 0, 0, 1);
    addPart(target, *source, 0, 1, matrices);
    addPart(target, *source, 1, 0, source->units[1].params.size());
    addPart(target, *source, 2, 0, source->units[2].params.size());
    JobContext job;
    const auto context
        = makeReshardContext(io::realFileSystem(), source, std::move(target), false, nullptr, job);
    REQUIRE(context);
    for (uint32_t unit = 0; unit < 4; ++unit) {
        const FlatUnit& of = *(*context)->target.units[unit];
        CHECK((*context)->target.sourceGroup(of.group) == (unit < 2 ? 0 : unit - 1));
        for (uint32_t state = 0; state < of.states.size(); ++state) {
            for (uint32_t rank = 0; rank < 2; ++rank) {
                CAPTURE(unit);
                CAPTURE(of.states[state].name);
                CAPTURE(rank);
                ArchiveComposer composer((*context)->optimTemplate(), 0, ArchiveComposer::Take::FormOnly);
                const NodeId tensor = flatTensor(composer, *context, unit, state, rank, false);
                const auto file = composer.finish(tensor, "x.pt", recordsOfToday());
                REQUIRE(file);
                const auto storage = std::find_if(file->records.begin(), file->records.end(),
                    [](const OutputRecord& record) { return record.name.ends_with("data/0"); });
                REQUIRE(storage != file->records.end());
                const std::string& name = of.states[state].name;
                const uint64_t expected = name == "momentum_buffer"
                    ? heldWholeOn(of.partition, rank).elements()
                    : name == "fp32" ? of.partition.leanElementsOn(rank)
                                     : of.partition.partitionElements();
                CHECK(storage->bytes == expected * itemSize(of.states[state].dtype));
            }
        }
    }
}
