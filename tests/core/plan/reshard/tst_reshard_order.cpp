// SPDX-License-Identifier: Apache-2.0
// round_robin_gradients and parameter_alignment: the order and padding that a plan records are those of the
// elements on disk.
#include "core/partition/round_robin.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// A sample, rewritten for `ranks`.
CheckpointPtr resharded(const CheckpointPtr& source, uint32_t ranks, const TemporaryFolder& folder)
{
    plainWrite(*planFor(source, {.worldSize = ranks}), folder.path());
    return openForPlan(folder.path());
}

CheckpointPtr sample(const char* name)
{
    return openForPlan(planSample(name));
}

std::vector<std::string> names(const Checkpoint& checkpoint, const std::vector<ParamId>& params)
{
    std::vector<std::string> out;
    for (const ParamId param : params)
        out.push_back(checkpoint.params[index(param)].name);
    return out;
}

/// The names of a group in the order that the optimizer was given them.
std::vector<std::string> undealt(const Checkpoint& checkpoint, const FlatUnit& unit)
{
    const auto listed = names(checkpoint, unit.params);
    const auto order = roundRobinOrder(static_cast<uint32_t>(listed.size()), checkpoint.parallel.dp);
    std::vector<std::string> out(listed.size());
    for (size_t i = 0; i < order.size(); ++i)
        out[order[i]] = listed[i];
    return out;
}

NodeId wrapperOf(const PickleGraph& graph)
{
    return lookup(graph, graph.root(), "optimizer_state_dict");
}

} // namespace

TEST_CASE("round robin: every number of ranks has its own order of one optimizer order")
{
    for (const char* name : {"roundrobin-w3", "aligned-w2"}) {
        CAPTURE(name);
        const CheckpointPtr source = sample(name);
        REQUIRE(source->roundRobin);
        bool moved = false;
        for (const uint32_t ranks : {1u, 2u, 4u, 5u, 100u}) {
            CAPTURE(ranks);
            const TemporaryFolder folder;
            const CheckpointPtr target = resharded(source, ranks, folder);
            REQUIRE(target->roundRobin);
            for (size_t u = 0; u < source->units.size(); ++u) {
                CHECK(undealt(*target, target->units[u]) == undealt(*source, source->units[u]));
                moved = moved
                    || names(*target, target->units[u].params) != names(*source, source->units[u].params);
            }
        }
        CHECK(moved);
    }
}

TEST_CASE("round robin: slice mappings are written in flat order, unlike stock DeepSpeed's")
{
    for (const char* name : {"roundrobin-w3", "aligned-w2"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr target = resharded(sample(name), 4, folder);
        for (uint32_t rank = 0; rank < 4; ++rank) {
            const PickleGraph& graph = target->file(target->optimFiles[rank]).content->pickle();
            const auto groups = sequenceItems(graph, lookup(graph, wrapperOf(graph), "param_slice_mappings"));
            REQUIRE(groups.size() == target->units.size());
            for (size_t g = 0; g < groups.size(); ++g) {
                const FlatUnit& unit = target->units[g];
                const auto items = mappingItems(graph, groups[g]);
                size_t at = 0;
                unit.partition.forEachPiece(
                    rank, 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
                        if (piece.isPadding())
                            return true;
                        REQUIRE(at + 1 < items.size());
                        CHECK(asString(graph, items[at])
                            == target->params[index(unit.params[piece.param])].name);
                        const auto address = asObject(graph, items[at + 1]);
                        REQUIRE(address);
                        CHECK(asInteger(graph, lookup(graph, address->attributes, "start"))
                            == static_cast<int64_t>(piece.flatOffset));
                        CHECK(asInteger(graph, lookup(graph, address->attributes, "numel"))
                            == static_cast<int64_t>(piece.elements));
                        at += 2;
                        return true;
                    });
                CHECK(at == items.size());
            }
        }
    }
}

TEST_CASE("parameter alignment: the paddings of the target's own order, and group paddings at the tail only")
{
    const CheckpointPtr source = sample("aligned-w2");
    for (const uint32_t ranks : {1u, 3u, 4u, 64u}) {
        CAPTURE(ranks);
        const TemporaryFolder folder;
        const CheckpointPtr target = resharded(source, ranks, folder);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            const PickleGraph& graph = target->file(target->optimFiles[rank]).content->pickle();
            const auto paddings
                = sequenceItems(graph, lookup(graph, wrapperOf(graph), "param_alignment_paddings"));
            const auto tails = sequenceItems(graph, lookup(graph, wrapperOf(graph), "group_paddings"));
            REQUIRE(paddings.size() == target->units.size());
            REQUIRE(tails.size() == target->units.size());
            for (size_t g = 0; g < paddings.size(); ++g) {
                const FlatUnit& unit = target->units[g];
                CHECK(unit.partition.parameterAlignment() == 8); // 16 bytes of bf16
                const auto items = sequenceItems(graph, paddings[g]);
                REQUIRE(items.size() == unit.params.size());
                uint64_t offset = 0;
                for (size_t i = 0; i < items.size(); ++i) {
                    CHECK(unit.partition.paramStart(static_cast<uint32_t>(i)) == offset);
                    offset += target->params[index(unit.params[i])].elements;
                    offset += static_cast<uint64_t>(*asInteger(graph, items[i]));
                    CHECK((offset % 8 == 0 || i + 1 == items.size()));
                }
                const UnitState& masters = unit.states.front();
                CHECK(masters.perRank[rank].elements + static_cast<uint64_t>(*asInteger(graph, tails[g]))
                    == unit.partition.partitionElements());
            }
        }
    }
}

TEST_CASE(
    "parameter alignment: padding between parameters is stored in lean masters, that at the tail is not")
{
    const CheckpointPtr checkpoint = sample("aligned-w2");
    bool between = false;
    for (const FlatUnit& unit : checkpoint->units) {
        const UnitState& masters = unit.states.front();
        uint64_t stored = 0;
        for (const StoredRun& run : masters.perRank)
            stored += run.elements;
        between = between || stored > unit.partition.payloadElements();
        CHECK(stored == unit.partition.paramStart(unit.partition.paramCount()));
    }
    CHECK(between);
}
