// SPDX-License-Identifier: Apache-2.0
// Every answer of MapQuery is compared with a grid that lists each slot of each rank.
#include "core/layout/map_query.h"
#include "tests/core/layout/map_grid.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace shardscope;
using namespace shardscope::oracle;

namespace {

/// The slot at a point of a projection.
const Slot& slotAt(const MapQuery& query, const Grid& grid, uint32_t row, uint64_t x)
{
    const uint64_t length = grid.rows[0].size();
    return query.projection() == MapQuery::Projection::Partitions ? grid.rows[row][x]
                                                                  : grid.rows[x / length][x % length];
}

void checkCell(const MapQuery& query, const Grid& grid, uint32_t row, const MapCell& cell)
{
    REQUIRE(cell.begin < cell.end);
    int8_t worst = -1;
    for (uint64_t x = cell.begin; x < cell.end; ++x) {
        const Slot& slot = slotAt(query, grid, row, x);
        REQUIRE(query.rankOfRow(row, x) == query.rankOfRow(row, cell.begin));
        REQUIRE(slot.kind == cell.kind);
        REQUIRE(slot.param == cell.param);
        REQUIRE(slot.shared == cell.shared);
        if (slot.param != kNoParam)
            REQUIRE(slot.element == cell.paramOffset + (x - cell.begin));
        worst = std::max(worst, slot.severity);
    }
    REQUIRE(cell.severity == worst);
}

template <class Body>
void forTrials(uint64_t firstSeed, int count, Body body)
{
    for (int i = 0; i < count; ++i) {
        const uint64_t seed = firstSeed + static_cast<uint64_t>(i);
        CAPTURE(seed);
        Random random(seed);
        Trial trial = randomTrial(random);
        const auto checkpoint = std::make_shared<const Checkpoint>(std::move(trial.checkpoint));
        for (const auto projection : {MapQuery::Projection::Partitions, MapQuery::Projection::Unrolled}) {
            const MapQuery query(checkpoint, {trial.unit, projection, trial.state});
            body(random, query, trial.grid);
        }
    }
}

/// A random window [low, high) of [0, length), often all of it.
std::pair<uint64_t, uint64_t> window(Random& random, uint64_t length)
{
    if (pick(random, 0, 2) == 0)
        return {0, length};
    const uint64_t a = pick(random, 0, length);
    const uint64_t b = pick(random, 0, length);
    return {std::min(a, b), std::max(a, b)};
}

} // namespace

TEST_CASE("map: the cell at every point")
{
    forTrials(0, 600, [](Random&, const MapQuery& query, const Grid& grid) {
        const bool partitions = query.projection() == MapQuery::Projection::Partitions;
        REQUIRE(query.rows() == (partitions ? grid.rows.size() : 1));
        REQUIRE(query.columns() == grid.rows[0].size() * (partitions ? 1 : grid.rows.size()));
        for (uint32_t row = 0; row < query.rows(); ++row) {
            for (uint64_t x = 0; x < query.columns(); ++x) {
                const MapCell cell = query.cellAt(row, x);
                REQUIRE(cell.begin <= x);
                REQUIRE(x < cell.end);
                checkCell(query, grid, row, cell);
            }
            const MapCell beyond = query.cellAt(row, query.columns());
            REQUIRE(beyond.begin == beyond.end);
        }
        const MapCell below = query.cellAt(query.rows(), 0);
        REQUIRE(below.begin == below.end);
    });
}

TEST_CASE("map: the cells of a window of a row")
{
    forTrials(10'000, 1'500, [](Random& random, const MapQuery& query, const Grid& grid) {
        const auto row = static_cast<uint32_t>(pick(random, 0, query.rows() - 1));
        const auto [begin, end] = window(random, query.columns());
        uint64_t at = begin;
        query.forEachCell(row, begin, end, [&](const MapCell& cell) {
            REQUIRE(cell.begin == at);
            checkCell(query, grid, row, cell);
            at = cell.end;
            return true;
        });
        REQUIRE(at == end);
        int visits = 0;
        query.forEachCell(row, begin, end, [&](const MapCell&) { return ++visits < 2; });
        REQUIRE(visits <= 2);
    });
}

TEST_CASE("map: severity and sums of blocks")
{
    forTrials(20'000, 4'000, [](Random& random, const MapQuery& query, const Grid& grid) {
        for (int repeat = 0; repeat < 4; ++repeat) {
            const auto [rowBegin, rowEnd] = window(random, query.rows());
            const auto [begin, end] = window(random, query.columns());
            int8_t worst = -1;
            MapQuery::Sum sum;
            std::set<ParamId> params;
            std::set<uint32_t> ranks;
            std::set<uint32_t> files;
            for (auto row = static_cast<uint32_t>(rowBegin); row < rowEnd; ++row) {
                for (uint64_t x = begin; x < end; ++x) {
                    const Slot& slot = slotAt(query, grid, row, x);
                    worst = std::max(worst, slot.severity);
                    ++(slot.param == kNoParam ? sum.padding : sum.elements);
                    sum.stored += slot.stored ? 1 : 0;
                    sum.bytes += slot.stored ? grid.itemBytes : 0;
                    if (slot.param != kNoParam)
                        params.insert(slot.param);
                    const uint32_t rank = query.rankOfRow(row, x);
                    ranks.insert(rank);
                    const FlatUnit& unit = query.checkpoint()->units[index(query.unit())];
                    const auto& holders = unit.kind == UnitKind::Frozen ? query.checkpoint()->modelFiles
                                                                        : query.checkpoint()->optimFiles;
                    if (query.checkpoint()->isReadable(holders[rank]))
                        files.insert(rank);
                }
            }
            sum.params = params.size();
            sum.ranks = static_cast<uint32_t>(ranks.size());
            sum.files = static_cast<uint32_t>(files.size());
            const auto first = static_cast<uint32_t>(rowBegin);
            const auto last = static_cast<uint32_t>(rowEnd);
            REQUIRE(query.worstSeverity(first, last, begin, end) == worst);
            const MapQuery::Sum got = query.sum(first, last, begin, end);
            REQUIRE(got.elements == sum.elements);
            REQUIRE(got.padding == sum.padding);
            REQUIRE(got.stored == sum.stored);
            REQUIRE(got.bytes == sum.bytes);
            REQUIRE(got.params == sum.params);
            REQUIRE(got.ranks == sum.ranks);
            REQUIRE(got.files == sum.files);
        }
    });
}

TEST_CASE("map: missing ranks in a band")
{
    test::SyntheticOptions options;
    options.ranks = 8;
    options.missingRanks = {2};
    options.notYetReadRanks = {5};
    const auto checkpoint = test::makeSyntheticCheckpoint(options);
    const MapQuery query(checkpoint, {UnitId{0}, MapQuery::Projection::Partitions});
    CHECK_FALSE(query.anyMissing(0, 2));
    CHECK(query.anyMissing(0, 3));
    CHECK_FALSE(query.anyMissing(3, 5));
    CHECK(query.anyMissing(5, 6));
    CHECK_FALSE(query.anyMissing(6, 100));
    CHECK_FALSE(query.anyMissing(5, 5));
    CHECK(MapQuery(checkpoint, {UnitId{0}, MapQuery::Projection::Unrolled}).anyMissing(0, 1));
    CHECK(query.cellAt(2, 0).kind == CellKind::Missing);
    CHECK(query.cellAt(2, 0).severity == 2); // the finding names the missing file
    CHECK(query.cellAt(2, 0).param != kNoParam);
    CHECK(query.cellAt(5, 0).kind == CellKind::NotYetRead);
}

TEST_CASE("map: 4,096 ranks × 300,000 parameters")
{
    for (const int stage : {2, 3}) {
        CAPTURE(stage);
        test::SyntheticOptions options;
        options.stage = stage;
        options.ranks = 4'096;
        options.params = 300'000;
        options.hidden = 96; // biases of 24 elements leave most ranks empty
        Checkpoint built = test::buildSyntheticCheckpoint(options);
        built.findings.push_back({"state-length", Severity::Warning, "",
            ParamAddress{"model.layers.7.mlp.up_proj.weight", "fp32", std::pair{100, 101}}, {}});
        const auto checkpoint = std::make_shared<const Checkpoint>(std::move(built));
        const MapQuery query(checkpoint, {UnitId{0}, MapQuery::Projection::Partitions});
        const FlatPartition& partition = checkpoint->units[0].partition;
        const auto all = query.sum(0, query.rows(), 0, query.columns());
        CHECK(all.params == 300'000);
        CHECK(all.elements == partition.payloadElements());
        CHECK(all.elements + all.padding == query.columns() * 4'096);
        CHECK(query.worstSeverity(0, query.rows(), 0, query.columns()) == 1);

        // The finding is on one rank, at one offset, and nowhere else.
        const Parameter& named
            = checkpoint->params[index(*checkpoint->findParam("model.layers.7.mlp.up_proj.weight"))];
        const auto at = partition.positionOf(named.indexInUnit, 100);
        CHECK(query.worstSeverity(at.rank, at.rank + 1, at.flatOffset, at.flatOffset + 1) == 1);
        CHECK(query.worstSeverity(0, query.rows(), 0, at.flatOffset) == -1);
        CHECK(query.worstSeverity(0, query.rows(), at.flatOffset + 1, query.columns()) == -1);
        CHECK(query.worstSeverity(0, at.rank, 0, query.columns()) == -1);
        CHECK(query.worstSeverity(at.rank + 1, query.rows(), 0, query.columns()) == -1);

        // Left and right parts add up, for any cut.
        for (uint64_t cut = 1; cut < query.columns(); cut += query.columns() / 7) {
            const auto left = query.sum(3, 4'001, 0, cut);
            const auto right = query.sum(3, 4'001, cut, query.columns());
            const auto both = query.sum(3, 4'001, 0, query.columns());
            CHECK(left.elements + right.elements == both.elements);
            CHECK(left.padding + right.padding == both.padding);
            CHECK(left.bytes + right.bytes == both.bytes);
        }
    }
}
