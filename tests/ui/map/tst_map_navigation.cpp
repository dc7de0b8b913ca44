// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/map/map_shapes.h"
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/geometry/map_navigation.h"

#include <QTest>

#include <algorithm>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace shardscope;
using namespace shardscope::ui;
using test::kShapes;

/// Steps by meaning, checked against a walk over all cells.
class TestMapNavigation : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void neighboursVisitEveryCell_data();
    void neighboursVisitEveryCell();
    void siblingsVisitEveryFragment();
    void findingsAreVisitedInOrder();
    void fragmentBlocksAgreeWithTheCells();
};

void TestMapNavigation::neighboursVisitEveryCell_data()
{
    QTest::addColumn<int>("stage");
    QTest::addColumn<bool>("unrolled");
    for (const int stage : {1, 3}) {
        for (const bool unrolled : {false, true}) {
            QTest::addRow("zero%d %s", stage, unrolled ? "unrolled" : "partitions") << stage << unrolled;
        }
    }
}

void TestMapNavigation::neighboursVisitEveryCell()
{
    QFETCH(int, stage);
    QFETCH(bool, unrolled);
    const MapSource source(
        test::makeSyntheticCheckpoint({.stage = stage, .ranks = 3, .shapes = kShapes, .missingRanks = {1}}),
        {UnitId{0}, unrolled ? MapQuery::Projection::Unrolled : MapQuery::Projection::Partitions, 0});
    std::vector<std::pair<uint64_t, uint64_t>> cells;
    for (uint32_t row = 0; row < source.query().rows(); ++row) {
        source.query().forEachCell(row, 0, source.query().columns(), [&](const MapCell& cell) {
            cells.emplace_back(row, cell.begin);
            return true;
        });
    }
    std::vector<std::pair<uint64_t, uint64_t>> forward;
    std::optional<MapSource::Point> point = MapSource::Point{0, 0};
    while (point) {
        forward.emplace_back(point->row, point->element);
        point = neighbour(source, *point, MapStep::Forward);
    }
    QCOMPARE(forward, cells);
    point = MapSource::Point{source.query().rows() - 1, source.query().columns() - 1};
    std::vector<std::pair<uint64_t, uint64_t>> backward{{cells.back()}};
    while ((point = neighbour(source, *point, MapStep::Backward))) {
        backward.emplace_back(point->row, point->element);
    }
    std::reverse(backward.begin(), backward.end());
    QCOMPARE(backward, cells);
}

void TestMapNavigation::siblingsVisitEveryFragment()
{
    for (const int stage : {1, 3}) {
        const MapSource source(test::makeSyntheticCheckpoint({.stage = stage, .ranks = 5, .shapes = kShapes}),
            {UnitId{0}, MapQuery::Projection::Partitions, 0});
        for (const ParamId param : source.unit().params) {
            uint64_t elements = 0;
            auto point = firstFragment(source, param);
            std::optional<MapSource::Point> last;
            while (point) {
                const auto cell = source.query().cellAt(point->row, point->element);
                QCOMPARE(cell.param, param);
                QCOMPARE(cell.paramOffset, elements);
                elements += cell.end - cell.begin;
                last = point;
                point = siblingFragment(source, *point, MapStep::Forward);
            }
            QCOMPARE(elements, source.checkpoint().params[index(param)].elements);
            while (last) {
                elements -= cellBlock(source, *last).elements.size();
                last = siblingFragment(source, *last, MapStep::Backward);
            }
            QCOMPARE(elements, uint64_t{0});
        }
    }
}

void TestMapNavigation::findingsAreVisitedInOrder()
{
    for (const bool unrolled : {false, true}) {
        auto checkpoint = test::buildSyntheticCheckpoint({.stage = 3, .ranks = 6, .shapes = kShapes});
        for (const uint32_t rank : {1u, 2u, 5u}) {
            checkpoint.findings.push_back({"test-finding", Severity::Error, "bad file",
                checkpoint.file(checkpoint.optimFiles[rank]).name, {}});
        }
        checkpoint.findings.push_back(
            {"test-finding", Severity::Warning, "odd", ParamAddress{"layers.1.mlp.up_proj.weight"}, {}});
        const MapSource source(std::make_shared<const Checkpoint>(std::move(checkpoint)),
            {UnitId{0}, unrolled ? MapQuery::Projection::Unrolled : MapQuery::Projection::Partitions, 0});
        std::vector<uint32_t> ranks;
        std::optional<MapSource::Point> point = MapSource::Point{0, 0};
        std::optional<MapSource::Point> last;
        while ((point = nextFinding(source, *point, MapStep::Forward))) {
            QVERIFY(source.query().cellAt(point->row, point->element).severity >= 1);
            ranks.push_back(source.placeOf(point->row, point->element).rank);
            last = point;
            QVERIFY(ranks.size() < 100);
        }
        QCOMPARE(ranks, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
        std::vector<uint32_t> back{ranks.back()};
        while ((last = nextFinding(source, *last, MapStep::Backward))) {
            back.push_back(source.placeOf(last->row, last->element).rank);
            QVERIFY(back.size() < 100);
        }
        std::reverse(back.begin(), back.end());
        QCOMPARE(back, ranks);
    }
}

void TestMapNavigation::fragmentBlocksAgreeWithTheCells()
{
    for (const int stage : {2, 3}) {
        const MapSource source(test::makeSyntheticCheckpoint({.stage = stage, .ranks = 7, .shapes = kShapes}),
            {UnitId{0}, MapQuery::Projection::Partitions, 0});
        for (const ParamId param : source.unit().params) {
            for (const MapRange rows : {MapRange{0, 7}, MapRange{2, 3}, MapRange{5, 7}}) {
                std::vector<std::pair<uint64_t, uint64_t>> expected;
                for (uint64_t row = rows.begin; row < rows.end; ++row) {
                    source.query().forEachCell(
                        static_cast<uint32_t>(row), 0, source.query().columns(), [&](const MapCell& cell) {
                            if (cell.param == param) {
                                expected.emplace_back(row, cell.begin);
                            }
                            return true;
                        });
                }
                std::vector<std::pair<uint64_t, uint64_t>> found;
                for (const auto& block : fragmentBlocks(source, param, rows)) {
                    found.emplace_back(block.rows.begin, block.elements.begin);
                }
                std::sort(found.begin(), found.end());
                QCOMPARE(found, expected);
            }
        }
    }
}

SHARDSCOPE_UI_TEST(TestMapNavigation, CoreOnly)
#include "tst_map_navigation.moc"
