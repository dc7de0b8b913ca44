// SPDX-License-Identifier: Apache-2.0
// The map of a distributed checkpoint shows as present what can be read, and as missing what cannot.
#include "tests/core/plan/dcp_folder.h"

#include "core/layout/fragments.h"
#include "core/layout/map_query.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// One letter per element of a unit's row: '#' present, '.' missing, '?' anything else.
std::string drawn(const CheckpointPtr& checkpoint, UnitId unit, uint32_t state)
{
    const MapQuery map(checkpoint, {unit, MapQuery::Projection::Partitions, state});
    std::string out;
    for (uint32_t row = 0; row < map.rows(); ++row) {
        map.forEachCell(row, 0, map.columns(), [&](const MapCell& cell) {
            CHECK(cell.begin == out.size() - row * map.columns());
            const char letter = cell.kind == CellKind::Param ? '#'
                : cell.kind == CellKind::Missing             ? '.'
                                                             : '?';
            out.append(cell.end - cell.begin, letter);
            return true;
        });
        for (uint64_t x = 0; x < map.columns(); ++x) {
            const MapCell at = map.cellAt(row, x);
            CHECK((at.begin <= x && x < at.end));
            CHECK((at.kind == CellKind::Param) == (out[row * map.columns() + x] == '#'));
        }
    }
    return out;
}

/// The same as the fragments say, which readers follow.
std::string readable(const Checkpoint& checkpoint, UnitId unit, uint32_t state)
{
    std::string out;
    for (uint32_t row = 0; row < checkpoint.units[index(unit)].partition.ranks(); ++row)
        forEachFragmentOnRank(checkpoint, unit, state, row, [&](const Fragment& fragment) {
            out.append(fragment.elements, fragment.file == kNoFile ? '.' : '#');
            return true;
        });
    return out;
}

void checkMaps(const CheckpointPtr& checkpoint)
{
    for (uint32_t u = 0; u < checkpoint->units.size(); ++u) {
        for (uint32_t s = 0; s < checkpoint->units[u].states.size(); ++s) {
            CAPTURE(u);
            CAPTURE(checkpoint->units[u].states[s].name);
            CHECK(drawn(checkpoint, UnitId{u}, s) == readable(*checkpoint, UnitId{u}, s));
        }
    }
}

/// What the map draws of a parameter's state.
std::string drawnOf(const CheckpointPtr& checkpoint, std::string_view param, uint32_t state)
{
    const auto id = checkpoint->findParam(param);
    REQUIRE(id.has_value());
    return drawn(checkpoint, checkpoint->params[index(*id)].unit, state);
}

} // namespace

TEST_CASE("the map of a distributed checkpoint shows that everything is there")
{
    for (const char* name : {"zero2-w2", "stage0-fp32"}) {
        CAPTURE(std::string(name));
        const TemporaryFolder folder;
        const CheckpointPtr found = converted(openForPlan(planSample(name)), folder.path());
        REQUIRE(found->complete);
        REQUIRE(!found->units.empty());
        for (uint32_t u = 0; u < found->units.size(); ++u) {
            for (uint32_t s = 0; s < found->units[u].states.size(); ++s) {
                const std::string map = drawn(found, UnitId{u}, s);
                CHECK(map == std::string(map.size(), '#'));
                const MapQuery query(found, {UnitId{u}, MapQuery::Projection::Partitions, s});
                CHECK_FALSE(query.anyMissing(0, 1));
                CHECK(query.sum(0, 1, 0, query.columns()).bytes
                    == query.columns() * itemSize(found->units[u].states[s].dtype));
            }
        }
    }
}

TEST_CASE("the map of a distributed checkpoint distinguishes missing and present boxes")
{
    const std::string weight = bytesFrom(1, 4 * 6 * 4);
    DcpFolder folder;
    folder.addBoxes("model.a", {4, 6}, weight, {{{0, 0}, {4, 2}}, {{0, 2}, {1, 4}}, {{1, 2}, {3, 4}}});
    folder.addBoxes("optim.state.a.exp_avg", {4, 6}, weight, {{{0, 0}, {2, 6}}, {{2, 0}, {2, 6}}});
    folder.addBoxes("optim.state.a.exp_avg_sq", {4, 6}, weight, {{{0, 0}, {4, 6}}});
    const io::Path path = folder.write();
    checkMaps(openForPlan(path));
    std::filesystem::remove(path / "__1_0.distcp");
    const CheckpointPtr found = openForPlan(path);
    CHECK(drawnOf(found, "a", 0) == "##....##################");
    CHECK(drawnOf(found, "a", 1) == "############............");
    CHECK(drawnOf(found, "a", 2) == "########################");
    checkMaps(found);
    const MapQuery map(found, {found->params[0].unit, MapQuery::Projection::Partitions, 1});
    CHECK(map.sum(0, 1, 0, 24).bytes == 12 * 4);
    CHECK(map.sum(0, 1, 6, 18).bytes == 6 * 4);
}

TEST_CASE("the map of a distributed checkpoint shows which ranks' rows are missing")
{
    const std::string weight = bytesFrom(1, 4 * 2 * 4);
    DcpFolder folder;
    folder.add("model.a", {4, 2}, weight, 2);
    folder.add("optim.state.a.exp_avg", {4, 2}, weight, 2);
    folder.add("model.b", {4, 2}, weight, 4);
    folder.add("optim.state.b.exp_avg", {4, 2}, weight, 4);
    const io::Path path = folder.write();
    std::filesystem::remove(path / "__1_0.distcp");
    const CheckpointPtr found = openForPlan(path);
    CHECK(drawnOf(found, "a", 0) == "####....");
    CHECK(drawnOf(found, "b", 0) == "########");
    CHECK(drawnOf(found, "b", 1) == "########");
    checkMaps(found);
}

TEST_CASE("a distributed checkpoint has no padding: its last rank has fewer rows")
{
    const std::string weight = bytesFrom(1, 5 * 2 * 4);
    DcpFolder folder;
    folder.add("model.a", {5, 2}, weight, 2);
    const CheckpointPtr found = openForPlan(folder.write());
    REQUIRE(found->units.size() == 1);
    const FlatUnit& unit = found->units.front();
    REQUIRE(unit.partition.ranks() == 3);
    const MapQuery map(found, {UnitId{0}, MapQuery::Projection::Partitions, 0});
    CHECK(map.sum(0, 3, 0, map.columns()).padding == 0);
    CHECK(map.sum(0, 3, 0, map.columns()).elements == 10);
    CHECK(map.cellAt(2, 1).kind == CellKind::Param);
    CHECK_FALSE(map.cellAt(2, 1).frozen);
    CHECK(map.cellAt(2, 2).kind == CellKind::Outside);
    CHECK(map.cellAt(2, 3).end == 4);
    for (uint32_t share = 0; share < 3; ++share)
        CHECK(paddingOf(unit, unit.states.front(), share).kind == PaddingKind::None);
    const ParameterCounts counts = countParameters(*found);
    CHECK(counts.count == 1);
    CHECK(counts.frozen == 0);
    CHECK(counts.unrecorded == 1);
}
