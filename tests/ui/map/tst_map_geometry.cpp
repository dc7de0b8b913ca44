// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/geometry/map_viewport.h"
#include "ui/layoutmap/map_ruler.h"

#include <QTest>

#include <random>

using namespace shardscope::ui;

/// Elements and rows to pixels and back, at every rung of the zoom ladder.
class TestMapGeometry : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void ladderRises();
    void zoomedInRoundTrip();
    void zoomedOutRoundTrip();
    void bandsCoverEverythingOnce();
    void hugePositionsAreExact();
    void rowsCoverEverythingOnce();
    void blocksCoverTheirElements();
    void fittingFits();
    void zoomKeepsThePlaceUnderThePointer();
    void revealShowsABlock();
    void rulerMarksAreRound();
    void rulerBytesOfNeighboursDiffer();
};

void TestMapGeometry::ladderRises()
{
    for (int step = MapScale::kFinest; step < MapScale::kCoarsest; ++step) {
        const double ratio = MapScale(step + 1).elementsPerPixel() / MapScale(step).elementsPerPixel();
        QVERIFY2(ratio > 1.019 && ratio < 1.025, qPrintable(QString::number(ratio)));
    }
    QCOMPARE(MapScale(0).elementsPerPixel(), 1.0);
    QCOMPARE(MapScale(3 * MapScale::kStepsPerOctave).elementsPerPixel(), 8.0);
    QCOMPARE(MapScale(-3 * MapScale::kStepsPerOctave).pixelsPerElement(), 8.0);
    QCOMPARE(MapScale(-100000).step(), MapScale::kFinest);
    QCOMPARE(MapScale(100000).step(), MapScale::kCoarsest);
}

void TestMapGeometry::zoomedInRoundTrip()
{
    for (int step = MapScale::kFinest; step <= 0; ++step) {
        const MapScale scale(step);
        for (const uint64_t base : {uint64_t{0}, uint64_t{1} << 40, (uint64_t{1} << 53) + 1}) {
            for (uint64_t element = base; element < base + 300; ++element) {
                const int64_t pixel = scale.leftEdge(element);
                QCOMPARE(scale.elementAt(pixel), element);
                QCOMPARE(scale.pixelOf(element), pixel);
                if (pixel > 0) {
                    QVERIFY(scale.elementAt(pixel - 1) < element);
                }
            }
        }
    }
}

void TestMapGeometry::zoomedOutRoundTrip()
{
    for (int step = 0; step <= 1500; step += 3) {
        const MapScale scale(step);
        for (int64_t pixel = 0; pixel < 300; ++pixel) {
            const uint64_t element = scale.elementAt(pixel);
            QCOMPARE(scale.leftEdge(element), pixel);
            const uint64_t last = scale.elementAt(pixel + 1) - 1;
            QCOMPARE(scale.pixelOf(last), pixel);
        }
    }
}

void TestMapGeometry::bandsCoverEverythingOnce()
{
    for (const uint64_t columns : {uint64_t{1}, uint64_t{7}, uint64_t{1000}, uint64_t{4099}}) {
        for (int step = -80; step <= 240; ++step) {
            const MapGeometry geometry(columns, 1, MapScale(step), MapRowScale(0));
            uint64_t next = 0;
            for (int64_t x = 0; x < geometry.contentWidth(); ++x) {
                const auto band = geometry.elementsAt(x);
                QVERIFY(!band.isEmpty());
                QVERIFY(band.begin <= next); // zoomed in, several pixels show one element
                QVERIFY(band.end >= next);
                next = band.end;
            }
            QCOMPARE(next, columns);
            QCOMPARE(geometry.elementsIn(0, geometry.contentWidth()), (MapRange{0, columns}));
        }
    }
}

void TestMapGeometry::hugePositionsAreExact()
{
    // Neighbouring elements near 2^53 and beyond, which floating point cannot distinguish.
    const MapScale scale(-6 * MapScale::kStepsPerOctave);
    const uint64_t element = (uint64_t{1} << 55) + 12345;
    QCOMPARE(scale.leftEdge(element), static_cast<int64_t>(element) * 64);
    QCOMPARE(scale.elementAt(static_cast<int64_t>(element) * 64 + 63), element);
    QCOMPARE(scale.elementAt(static_cast<int64_t>(element) * 64 + 64), element + 1);
    const MapScale odd(5); // 1141/1024 elements per pixel
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) {
        const auto pixel = static_cast<int64_t>(random() >> 12);
        const auto whole
            = static_cast<uint64_t>(pixel) / 1024 * 1141 + static_cast<uint64_t>(pixel) % 1024 * 1141 / 1024;
        QCOMPARE(odd.elementAt(pixel), whole);
    }
}

void TestMapGeometry::rowsCoverEverythingOnce()
{
    for (const uint32_t rows : {1u, 3u, 64u, 4096u}) {
        for (int level = -90; level <= MapRowScale::tallestLevel(); ++level) {
            const MapGeometry geometry(100, rows, MapScale(0), MapRowScale(level));
            uint64_t next = 0;
            for (int64_t y = 0; y < geometry.contentHeight(); ++y) {
                const auto band = geometry.rowsAt(y);
                QVERIFY(!band.isEmpty());
                QVERIFY(band.begin == next || (level > 0 && band.begin + 1 == next));
                next = band.end;
            }
            QCOMPARE(next, uint64_t{rows});
        }
    }
}

void TestMapGeometry::blocksCoverTheirElements()
{
    std::mt19937_64 random(11);
    for (int i = 0; i < 5000; ++i) {
        const MapGeometry geometry(100'000, 64, MapScale(static_cast<int>(random() % 520) - 200),
            MapRowScale(static_cast<int>(random() % 40) - 20));
        MapBlock block;
        block.rows.begin = random() % 64;
        block.rows.end = block.rows.begin + 1 + random() % (64 - block.rows.begin);
        block.elements.begin = random() % 100'000;
        block.elements.end = block.elements.begin + 1 + random() % (100'000 - block.elements.begin);
        const auto rect = geometry.rectOf(block);
        QVERIFY(rect.width >= 1 && rect.height >= 1);
        const auto elements = geometry.elementsIn(rect.x, rect.x + rect.width);
        const auto rows = geometry.rowsIn(rect.y, rect.y + rect.height);
        QVERIFY(elements.begin <= block.elements.begin && elements.end >= block.elements.end);
        QVERIFY(rows.begin <= block.rows.begin && rows.end >= block.rows.end);
        // And not a pixel more than needed.
        if (rect.width > 1) {
            QVERIFY(geometry.elementsIn(rect.x + 1, rect.x + rect.width).begin > block.elements.begin
                || geometry.scale().step() <= 0);
            QVERIFY(geometry.elementsIn(rect.x, rect.x + rect.width - 1).end < block.elements.end
                || geometry.scale().step() <= 0);
        }
    }
}

void TestMapGeometry::fittingFits()
{
    for (const uint64_t elements : {uint64_t{1}, uint64_t{1000}, uint64_t{123'456'789}, uint64_t{1} << 50}) {
        for (const int pixels : {1, 100, 1920}) {
            const auto scale = MapScale::fitting(elements, pixels);
            QVERIFY(scale.leftEdge(elements) <= pixels || scale.step() == MapScale::kCoarsest);
            if (scale.step() > MapScale::kFinest) {
                QVERIFY(MapScale(scale.step() - 1).leftEdge(elements) > pixels);
            }
        }
    }
    QCOMPARE(MapRowScale::fitting(4, 1000, 40).rowHeight(), 40);
    QCOMPARE(MapRowScale::fitting(100, 1000, 40).rowHeight(), 10);
    const auto shared = MapRowScale::fitting(4096, 1000, 40);
    QVERIFY(shared.level() < 0);
    QVERIFY(shared.topEdge(4096) <= 1000 && shared.topEdge(4096) > 900);
}

void TestMapGeometry::zoomKeepsThePlaceUnderThePointer()
{
    MapViewport viewport;
    viewport.setSize({1600, 900}, 1.0);
    viewport.setWhole(1'000'000'000'000, 4096);
    for (const int anchor : {0, 3, 800, 1400}) {
        viewport.fit();
        for (int i = 0; i < 80; ++i) {
            const double apart = std::max(viewport.geometry().scale().elementsPerPixel(), 1.0);
            const uint64_t before = viewport.elementUnder(anchor);
            viewport.zoomColumns(16, anchor);
            const uint64_t after = viewport.elementUnder(anchor);
            QVERIFY(std::abs(static_cast<double>(after) - static_cast<double>(before)) <= 2 * apart);
        }
        QVERIFY(viewport.geometry().scale().pixelsPerElement() >= 24);
    }
    viewport.fit();
    const uint64_t row = viewport.rowUnder(450);
    for (int i = 0; i < 20; ++i) {
        viewport.zoomRows(4, 450);
    }
    QVERIFY(viewport.rowUnder(450) + 40 > row && viewport.rowUnder(450) < row + 40);
    // Never smaller than the whole picture.
    for (int i = 0; i < 400; ++i) {
        viewport.zoomColumns(-16, 100);
    }
    QVERIFY(viewport.geometry().contentWidth() <= 1600);
    QVERIFY(viewport.geometry().contentWidth() > 1550);
}

void TestMapGeometry::revealShowsABlock()
{
    MapViewport viewport;
    viewport.setSize({800, 400}, 1.0);
    viewport.setWhole(100'000'000, 256);
    for (int i = 0; i < 30; ++i) {
        viewport.zoomColumns(16, 0);
    }
    std::mt19937_64 random(3);
    for (int i = 0; i < 200; ++i) {
        const MapBlock block{{random() % 256, 0}, {random() % 99'000'000, 0}};
        const MapBlock cell{
            {block.rows.begin, block.rows.begin + 1}, {block.elements.begin, block.elements.begin + 5}};
        viewport.reveal(cell);
        const auto visible = viewport.visible();
        QVERIFY(visible.contains(cell.rows.begin, cell.elements.begin));
        viewport.zoomTo(cell);
        QVERIFY(viewport.visible().contains(cell.rows.begin, cell.elements.begin));
        QVERIFY(viewport.visible().contains(cell.rows.begin, cell.elements.end - 1));
        viewport.zoomColumns(-240, 400);
    }
}

void TestMapGeometry::rulerBytesOfNeighboursDiffer()
{
    QCOMPARE(rulerBytes(0, 4096), QStringLiteral("0 B"));
    QCOMPARE(rulerBytes(8192, 4096), QStringLiteral("8.0 KiB"));
    QCOMPARE(rulerBytes(8960, 16), QStringLiteral("8,960 B"));
    for (uint64_t step = 1; step < uint64_t{1} << 40; step *= 2) {
        for (uint64_t mark = 0; mark < 3000; ++mark) {
            QVERIFY2(rulerBytes(mark * step, step) != rulerBytes((mark + 1) * step, step),
                qPrintable(rulerBytes(mark * step, step)));
        }
    }
}

void TestMapGeometry::rulerMarksAreRound()
{
    const auto marks = rulerMarks({1'234'567, 1'300'000}, MapScale(160), 100, RulerUnit::Elements, 4);
    QCOMPARE(marks.step, uint64_t{5000});
    QCOMPARE(marks.positions.front(), uint64_t{1'230'000});
    for (const uint64_t position : marks.positions) {
        QCOMPARE(position % marks.step, uint64_t{0});
    }
    const auto bytes = rulerMarks({0, 100'000}, MapScale(160), 100, RulerUnit::Bytes, 4);
    QCOMPARE(bytes.step * 4, uint64_t{16384});
    for (int step = MapScale::kFinest; step < 1200; step += 3) {
        for (const auto unit : {RulerUnit::Elements, RulerUnit::Bytes}) {
            const MapScale scale(step);
            const auto few = rulerMarks({0, scale.elementAt(2000) + 1}, scale, 100, unit, 2);
            QVERIFY(few.positions.size() <= 22);
            QVERIFY(few.step % few.parts == 0);
        }
    }
}

SHARDSCOPE_UI_TEST(TestMapGeometry, None)
#include "tst_map_geometry.moc"
