// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <QSet>
#include <QTest>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace shardscope;
using namespace shardscope::ui;

namespace {

MapPalette testPalette()
{
    MapPalette palette;
    for (size_t i = 0; i < palette.classes.size(); ++i) {
        palette.classes[i] = qRgb(10, 20, static_cast<int>(100 + i));
    }
    for (size_t i = 0; i < palette.hues.size(); ++i) {
        palette.hues[i] = qRgb(30, 40, static_cast<int>(100 + i));
    }
    for (size_t i = 0; i < palette.sequence.size(); ++i) {
        palette.sequence[i] = qRgb(50, static_cast<int>(40 * i), 60);
    }
    palette.background = qRgb(255, 255, 255);
    palette.text = qRgb(0, 0, 0);
    palette.padding = qRgb(200, 201, 202);
    palette.paddingHatch = qRgb(150, 151, 152);
    palette.paddingOutline = qRgb(120, 121, 122);
    palette.missing = qRgb(213, 94, 0);
    palette.error = qRgb(200, 0, 0);
    palette.warning = qRgb(190, 120, 0);
    return palette;
}

struct Named {
    const char* name;
    CheckpointPtr checkpoint;
    uint32_t unit;
};

std::vector<Named> smallCheckpoints()
{
    using test::makeSyntheticCheckpoint;
    std::vector<Named> all;
    const std::vector<std::pair<std::string, Shape>> shapes = {{"embed.weight", {50, 7}},
        {"layers.0.self_attn.q_proj.weight", {7, 7}}, {"layers.0.norm.weight", {7}}, {"layers.0.bias", {1}},
        {"layers.1.mlp.up_proj.weight", {28, 7}}, {"layers.1.gate", {3}}, {"lm_head.weight", {50, 7}}};
    all.push_back({"zero1", makeSyntheticCheckpoint({.stage = 1, .ranks = 3, .shapes = shapes}), 0});
    all.push_back({"zero2 aliases",
        makeSyntheticCheckpoint({.stage = 2, .ranks = 5, .shapes = shapes, .aliases = 2}), 0});
    all.push_back(
        {"zero3", makeSyntheticCheckpoint({.stage = 3, .ranks = 4, .shapes = shapes, .aliases = 1}), 0});
    all.push_back({"zero3 missing",
        makeSyntheticCheckpoint({.stage = 3, .ranks = 9, .shapes = shapes, .missingRanks = {4}}), 0});
    all.push_back({"zero2 missing",
        makeSyntheticCheckpoint({.stage = 2, .ranks = 6, .shapes = shapes, .missingRanks = {1, 5}}), 0});
    all.push_back({"zero3 unread",
        makeSyntheticCheckpoint({.stage = 3, .ranks = 4, .shapes = shapes, .notYetReadRanks = {2, 3}}), 0});
    all.push_back({"zero3 wide", makeSyntheticCheckpoint({.stage = 3, .ranks = 64, .shapes = shapes}), 0});
    auto frozen = makeSyntheticCheckpoint({.stage = 3, .ranks = 3, .shapes = shapes, .frozen = 1});
    const auto frozenUnit = static_cast<uint32_t>(frozen->units.size() - 1);
    all.push_back({"zero3 frozen", frozen, frozenUnit});
    // A shard that ends inside a parameter.
    auto broken = test::buildSyntheticCheckpoint({.stage = 3, .ranks = 4, .shapes = shapes});
    broken.units[0].states[0].perRank[1].elements /= 2;
    all.push_back({"zero3 truncated", std::make_shared<const Checkpoint>(std::move(broken)), 0});
    // Findings: a whole file, and one parameter.
    auto damaged = test::buildSyntheticCheckpoint({.stage = 2, .ranks = 4, .shapes = shapes});
    damaged.findings.push_back(
        {"test-finding", Severity::Error, "one parameter is bad", "layers.0.norm.weight", {}});
    damaged.findings.push_back(
        {"test-finding", Severity::Warning, "a file is odd", damaged.file(damaged.optimFiles[2]).name, {}});
    all.push_back({"zero2 findings", std::make_shared<const Checkpoint>(std::move(damaged)), 0});
    return all;
}

int8_t worstBySight(const MapQuery& query, const MapRange& rows, const MapRange& elements)
{
    int8_t worst = -1;
    for (uint64_t row = rows.begin; row < rows.end; ++row) {
        query.forEachCell(static_cast<uint32_t>(row), elements.begin, elements.end, [&](const MapCell& cell) {
            // A cell is flagged as a whole; the requested part may be smaller.
            for (uint64_t x = std::max(cell.begin, elements.begin); x < std::min(cell.end, elements.end);
                 ++x) {
                worst = std::max(worst,
                    query.worstSeverity(
                        static_cast<uint32_t>(row), static_cast<uint32_t>(row) + 1, x, x + 1));
            }
            return true;
        });
    }
    return worst;
}

} // namespace

class TestMapRenderer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void pixelsAgreeWithTheLayout_data();
    void pixelsAgreeWithTheLayout();
    void tilesAgreeWithOnePicture_data();
    void tilesAgreeWithOnePicture();
    void patternsAreVisible();
    void findingsSurviveMerging();
    void missingRanksSurviveMerging();
    void dimmedClassesFade();
    void colourModesDiffer();
};

void TestMapRenderer::pixelsAgreeWithTheLayout_data()
{
    QTest::addColumn<int>("which");
    const auto all = smallCheckpoints();
    for (size_t i = 0; i < all.size(); ++i) {
        QTest::newRow(all[i].name) << static_cast<int>(i);
    }
}

void TestMapRenderer::pixelsAgreeWithTheLayout()
{
    QFETCH(int, which);
    const auto named = smallCheckpoints()[static_cast<size_t>(which)];
    const auto palette = testPalette();
    for (const auto projection : {MapQuery::Projection::Partitions, MapQuery::Projection::Unrolled}) {
        for (const uint32_t state : {0u, 1u}) {
            if (state >= named.checkpoint->units[named.unit].states.size()) {
                continue;
            }
            const MapSource source(named.checkpoint, {UnitId{named.unit}, projection, state});
            const auto& query = source.query();
            for (const int step : {-96, -35, 0, 11, 52, 120}) {
                for (const int level : {-12, -5, 0, 9}) {
                    const MapGeometry geometry(
                        query.columns(), query.rows(), MapScale(step), MapRowScale(level));
                    const int64_t x = geometry.contentWidth() > 90 ? 17 : 0;
                    MapRowSampler sampler(source, geometry, palette, {}, {x, 300});
                    MapRange last{1, 0};
                    for (int64_t y = 0; y < geometry.contentHeight(); ++y) {
                        const auto rows = geometry.rowsAt(y);
                        if (rows == last) {
                            continue;
                        }
                        last = rows;
                        const auto pixels = sampler.sample(rows);
                        QCOMPARE(static_cast<int64_t>(pixels.size()),
                            std::min<int64_t>(300, geometry.contentWidth() - x));
                        for (size_t i = 0; i < pixels.size(); ++i) {
                            const int64_t pixel = x + static_cast<int64_t>(i);
                            const auto elements = geometry.elementsAt(pixel);
                            const bool missing = rows.size() > 1
                                && query.anyMissing(
                                    static_cast<uint32_t>(rows.begin), static_cast<uint32_t>(rows.end));
                            if (!missing) {
                                const auto row = static_cast<uint32_t>(rows.begin + rows.size() / 2);
                                const auto cell = query.cellAt(row, elements.begin);
                                QCOMPARE(pixels[i].kind, cell.kind);
                                if (cell.kind == CellKind::Param) {
                                    QCOMPARE(pixels[i].fill,
                                        sampler.fillOf(cell, query.rankOfRow(row, elements.begin)));
                                }
                            } else {
                                QVERIFY(pixels[i].kind == CellKind::Missing
                                    || pixels[i].kind == CellKind::NotYetRead);
                            }
                            QCOMPARE(int{pixels[i].severity}, int{worstBySight(query, rows, elements)});
                        }
                    }
                }
            }
        }
    }
}

void TestMapRenderer::tilesAgreeWithOnePicture_data()
{
    pixelsAgreeWithTheLayout_data();
}

void TestMapRenderer::tilesAgreeWithOnePicture()
{
    QFETCH(int, which);
    const auto named = smallCheckpoints()[static_cast<size_t>(which)];
    MapRenderRequest request;
    request.source = std::make_shared<const MapSource>(
        named.checkpoint, MapQuery::Subject{UnitId{named.unit}, MapQuery::Projection::Partitions, 0});
    request.palette = std::make_shared<const MapPalette>(testPalette());
    const auto& query = request.source->query();
    for (const int level : {0, 6, 13}) {
        request.geometry = MapGeometry(query.columns(), query.rows(), MapScale(-40), MapRowScale(level));
        request.x = 0;
        request.y = 0;
        request.width = static_cast<int>(std::min<int64_t>(request.geometry.contentWidth(), 700));
        request.height = static_cast<int>(request.geometry.contentHeight());
        const QImage whole = renderMap(request);
        const int tile = 64;
        for (int y = 0; y < whole.height(); y += tile) {
            for (int x = 0; x < whole.width(); x += tile) {
                request.x = x;
                request.y = y;
                request.width = std::min(tile, whole.width() - x);
                request.height = std::min(tile, whole.height() - y);
                QImage part = renderMap(request);
                QImage expected = whole.copy(x, y, request.width, request.height);
                // The corner triangle of a finding is anchored at its run's beginning and may be clipped by a
                // tile.
                if (query.worstSeverity(0, query.rows(), 0, query.columns()) < 0) {
                    QCOMPARE(part, expected);
                }
            }
        }
    }
}

void TestMapRenderer::patternsAreVisible()
{
    const auto palette = testPalette();
    const auto count = [](const QImage& image, QRgb colour) {
        int found = 0;
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                found += image.pixel(x, y) == colour ? 1 : 0;
            }
        }
        return found;
    };
    const auto render = [&](const CheckpointPtr& checkpoint, uint32_t state, int level) {
        MapRenderRequest request;
        request.source = std::make_shared<const MapSource>(
            checkpoint, MapQuery::Subject{UnitId{0}, MapQuery::Projection::Partitions, state});
        request.palette = std::make_shared<const MapPalette>(palette);
        const auto& query = request.source->query();
        request.geometry = MapGeometry(
            query.columns(), query.rows(), MapScale::fitting(query.columns(), 800), MapRowScale(level));
        request.width = 800;
        request.height = static_cast<int>(request.geometry.contentHeight());
        return renderMap(request);
    };
    const std::vector<std::pair<std::string, Shape>> shapes = {{"a.weight", {9}}};
    for (const int level : {1, 13}) {
        // ZeRO-3 over 8 ranks: slices of 2; ranks 4 to 7 hold padding, stored in their files.
        const auto stored
            = render(test::makeSyntheticCheckpoint({.stage = 3, .ranks = 8, .shapes = shapes}), 0, level);
        QVERIFY(count(stored, palette.padding) > 100);
        QVERIFY(count(stored, palette.paddingHatch) > 50);
        // ZeRO-2 masters are stored without padding: implied.
        const auto implied
            = render(test::makeSyntheticCheckpoint({.stage = 2, .ranks = 8, .shapes = shapes}), 0, level);
        QCOMPARE(count(implied, palette.paddingHatch), 0);
        if (level > 1) {
            QVERIFY(count(implied, palette.paddingOutline) > 50);
        }
        const auto missing = render(
            test::makeSyntheticCheckpoint({.stage = 3, .ranks = 8, .shapes = shapes, .missingRanks = {2}}), 0,
            level);
        QVERIFY(count(missing, palette.missing) > 60);
        QCOMPARE(count(stored, palette.missing), 0);
    }
}

void TestMapRenderer::findingsSurviveMerging()
{
    // One element with an error among 300 million, seen as a whole: the pixel over it is flagged.
    auto checkpoint
        = test::buildSyntheticCheckpoint({.stage = 3, .ranks = 256, .params = 3000, .hidden = 512});
    const auto& unit = checkpoint.units[0];
    const uint32_t position = 1234;
    const auto param = unit.params[position];
    checkpoint.findings.push_back(
        {"test-finding", Severity::Error, "bad", ParamAddress{checkpoint.params[index(param)].name}, {}});
    const auto place = unit.partition.positionOf(position, 0);
    const MapSource source(std::make_shared<const Checkpoint>(std::move(checkpoint)),
        {UnitId{0}, MapQuery::Projection::Partitions, 0});
    const MapGeometry geometry(source.query().columns(), source.query().rows(),
        MapScale::fitting(source.query().columns(), 200), MapRowScale(-20));
    const auto palette = testPalette();
    MapRowSampler sampler(source, geometry, palette, {}, {0, 200});
    const auto pixels = sampler.sample(geometry.rowsAt(geometry.rowScale().pixelOf(place.rank)));
    const auto x = static_cast<size_t>(geometry.scale().pixelOf(place.flatOffset));
    QCOMPARE(int{pixels[x].severity}, 2);
    int flagged = 0;
    for (const auto& pixel : pixels) {
        flagged += pixel.severity >= 0 ? 1 : 0;
    }
    QVERIFY(flagged >= 1 && flagged <= 3);
}

void TestMapRenderer::missingRanksSurviveMerging()
{
    const auto checkpoint
        = test::makeSyntheticCheckpoint({.stage = 3, .ranks = 1024, .params = 50, .missingRanks = {777}});
    const MapSource source(checkpoint, {UnitId{0}, MapQuery::Projection::Partitions, 0});
    const auto palette = testPalette();
    for (const int level : {-16, -24, -32, -64}) {
        const MapGeometry geometry(source.query().columns(), 1024,
            MapScale::fitting(source.query().columns(), 300), MapRowScale(level));
        MapRowSampler sampler(source, geometry, palette, {}, {0, 300});
        int rowsMissing = 0;
        for (int64_t y = 0; y < geometry.contentHeight(); ++y) {
            const auto pixels = sampler.sample(geometry.rowsAt(y));
            rowsMissing += pixels[0].kind == CellKind::Missing ? 1 : 0;
        }
        QCOMPARE(rowsMissing, 1);
    }
}

void TestMapRenderer::dimmedClassesFade()
{
    const auto checkpoint
        = test::makeSyntheticCheckpoint({.stage = 3, .ranks = 2, .shapes = {{"embed.weight", {10, 10}}}});
    const MapSource source(checkpoint, {UnitId{0}, MapQuery::Projection::Partitions, 0});
    const MapGeometry geometry(source.query().columns(), 2, MapScale(0), MapRowScale(0));
    const auto palette = testPalette();
    const auto cell = source.query().cellAt(0, 0);
    MapStyle dimmed;
    dimmed.dimmedClasses = static_cast<uint8_t>(1u << static_cast<unsigned>(cell.paramClass));
    MapRowSampler plain(source, geometry, palette, {}, {0, 50});
    MapRowSampler faded(source, geometry, palette, dimmed, {0, 50});
    const QRgb before = plain.sample({0, 1})[0].fill;
    const QRgb after = faded.sample({0, 1})[0].fill;
    QVERIFY(qGray(after) > qGray(before));
}

void TestMapRenderer::colourModesDiffer()
{
    const auto checkpoint = test::makeSyntheticCheckpoint({.stage = 3, .ranks = 4, .params = 60});
    const MapSource source(checkpoint, {UnitId{0}, MapQuery::Projection::Partitions, 0});
    const MapGeometry geometry(
        source.query().columns(), 4, MapScale::fitting(source.query().columns(), 500), MapRowScale(0));
    const auto palette = testPalette();
    QSet<QRgb> byRank;
    for (uint64_t rank = 0; rank < 4; ++rank) {
        MapRowSampler sampler(source, geometry, palette, {.mode = MapColourMode::Rank}, {0, 500});
        byRank.insert(sampler.sample({rank, rank + 1})[0].fill);
    }
    QCOMPARE(byRank.size(), 4);
    // Neighbouring parameters never share a hue.
    const auto& params = source.unit().params;
    for (size_t i = 1; i < params.size(); ++i) {
        QVERIFY(source.hueOf(params[i]) != source.hueOf(params[i - 1]));
    }
    QSet<QRgb> byLayer;
    MapRowSampler sampler(source, geometry, palette, {.mode = MapColourMode::Layer}, {0, 500});
    for (const auto& pixel : sampler.sample({0, 1})) {
        byLayer.insert(pixel.fill);
    }
    QVERIFY(byLayer.size() > 2);
}

SHARDSCOPE_UI_TEST(TestMapRenderer, CoreOnly)
#include "tst_map_renderer.moc"
