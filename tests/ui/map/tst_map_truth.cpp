// SPDX-License-Identifier: Apache-2.0
#include "core/layout/rank_load.h"
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_names.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/geometry/map_values.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_layer_strip.h"
#include "ui/layoutmap/map_legend.h"
#include "ui/layoutmap/map_rank_totals.h"
#include "ui/layoutmap/rank_gutter.h"
#include "ui/models/map_palette.h"
#include "ui/style/theme.h"

#include <QLabel>
#include <QSignalSpy>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

double distance(QRgb a, QRgb b)
{
    return std::hypot(qRed(a) - qRed(b), qGreen(a) - qGreen(b), qBlue(a) - qBlue(b));
}

double luminance(QRgb colour)
{
    const auto linear = [](int value) {
        const double part = value / 255.0;
        return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(qRed(colour)) + 0.7152 * linear(qGreen(colour)) + 0.0722 * linear(qBlue(colour));
}

double contrast(QRgb a, QRgb b)
{
    const double one = luminance(a);
    const double other = luminance(b);
    return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

MapPalette paletteOf(ThemeMode mode)
{
    Theme theme;
    theme.setMode(mode);
    return mapPaletteFrom(theme);
}

constexpr std::array<ThemeMode, 3> kModes = {ThemeMode::Light, ThemeMode::Dark, ThemeMode::HighContrast};

/// The map page with a folder; null if it does not open.
LayoutMapView* openMap(WindowFixture& ui, const QString& path)
{
    const bool opened = ui.open(path) && ui.window().showPage(u"map"_s) && ui.settle();
    return opened ? ui.find<LayoutMapView>("layoutMap") : nullptr;
}

} // namespace

/// What the map says at a glance is true: one scale, names, totals, colours and labels.
class TestMapTruth : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void sectionsHaveOneScaleOrAFactor()
    {
        // 87.8 M weights, half as many, and 31.7 k norms.
        MapLayout layout({{87'800'000, 4}, {43'900'000, 4}, {31'700, 4}, {0, 1}});
        layout.setScale(MapScale::fitting(layout.columns(), 1000));
        const int64_t widest = layout.section(0).contentWidth();
        QVERIFY(std::abs(layout.section(1).contentWidth() * 2 - widest) <= 2);
        QVERIFY(!layout.isEnlarged(0) && !layout.isEnlarged(1) && !layout.isEnlarged(3));
        QVERIFY(layout.isEnlarged(2));
        QCOMPARE(layout.section(2).contentWidth(), widest);
        QCOMPARE(layout.widening(0), 1.0);
        QCOMPARE(MapText::factor(layout.widening(2)), u"×2,800"_s);
        QCOMPARE(MapText::factor(8.04), u"×8.0"_s);
        QCOMPARE(MapText::factor(14), u"×14"_s);
        // The factor is the same at every zoom: down to elements of the widest section.
        for (int step = layout.scale().step(); step >= MapScale::kFinest; step -= 7) {
            layout.setScale(MapScale(step));
            const double times
                = layout.section(0).scale().elementsPerPixel() / layout.section(2).scale().elementsPerPixel();
            QVERIFY(std::abs(times / layout.widening(2) - 1) < 1e-6);
            const int64_t short_ = layout.section(0).contentWidth() - layout.section(2).contentWidth();
            QVERIFY(short_ >= 0 && short_ <= 1 + (layout.section(0).contentWidth() >> 31));
        }
    }

    void anEnlargedSectionIsNeverBlank()
    {
        MapViewport viewport;
        viewport.setSize({1000, 600}, 1.0);
        viewport.setWhole({{87'800'000, 4}, {31'700, 4}});
        viewport.zoomTo({{0, 1}, {87'700'000, 87'700'010}, 0}); // elements near the end of the widest section
        QVERIFY(viewport.geometry(0).scale().pixelsPerElement() > 24);
        for (const int64_t x : {int64_t{0}, viewport.maximumX() / 3, viewport.maximumX()}) {
            viewport.scrollTo(x, 0);
            QVERIFY(!viewport.visible(0).elements.isEmpty());
            QVERIFY(!viewport.visible(1).elements.isEmpty());
        }
        // What is under the pointer stays there, and elements of an enlarged section are not zoomed beyond
        // use.
        viewport.fit();
        const uint64_t before = viewport.elementUnder(400, 1);
        for (int i = 0; i < 200; ++i)
            viewport.zoomColumns(16, 400, 1);
        QVERIFY(
            std::max(viewport.elementUnder(400, 1), before) - std::min(viewport.elementUnder(400, 1), before)
            < 200);
        QVERIFY(viewport.geometry(1).scale().pixelsPerElement() >= 100);
        QVERIFY(viewport.geometry(1).scale().pixelsPerElement() <= 132);
        viewport.zoomTo({{1, 2}, {500, 600}, 1});
        QCOMPARE(viewport.visible(1).contains(1, 500) && viewport.visible(1).contains(1, 599), true);
        QVERIFY(viewport.visible(1).elements.size() < 200);
    }

    void stretchedScalesAreExact()
    {
        for (const uint64_t whole : {uint64_t{1000}, uint64_t{87'800'000}, uint64_t{1} << 40}) {
            for (const uint64_t part : {uint64_t{1}, uint64_t{9}, uint64_t{31}, whole / 9, whole - 1}) {
                for (int step = MapScale::kFinest; step < 900; step += 37) {
                    const MapScale base(step);
                    const MapScale scale = base.stretched(part, whole);
                    QVERIFY(scale.leftEdge(part) <= base.leftEdge(whole));
                    QVERIFY(scale.leftEdge(part) >= base.leftEdge(whole) - 1 - (base.leftEdge(whole) >> 31));
                    const uint64_t element = part / 2;
                    QVERIFY(scale.elementAt(scale.leftEdge(element)) >= element);
                    if (scale.leftEdge(element) > 0)
                        QVERIFY(
                            scale.elementAt(scale.leftEdge(element) - 1) < std::max<uint64_t>(element, 1));
                }
            }
        }
        QCOMPARE(MapScale(5).stretched(7, 7), MapScale(5));
        QCOMPARE(MapScale(MapScale::kCoarsest).elementAt(INT64_MAX), UINT64_MAX);
        QCOMPARE(MapScale(MapScale::kFinest).stretched(1, 1u << 30).leftEdge(UINT64_MAX), INT64_MAX);
    }

    void theFactorIsSeenInTheHeader()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("pipeline-w4"));
        QVERIFY(map != nullptr);
        const MapLayout& layout = map->viewport()->layout();
        QVERIFY(layout.isEnlarged(1) && !layout.isEnlarged(2));
        const QImage image = map->canvas()->grab().toImage();
        const MapPalette palette = paletteOf(ThemeMode::Light);
        // A plate, and a broken line below the strip.
        const auto plates = [&](uint32_t section) {
            int count = 0;
            const auto y = static_cast<int>(layout.headerTop(section) + layout.headerHeight() / 2);
            for (int x = 0; x < image.width(); ++x)
                count += image.pixel(x, y) == palette.mutedText ? 1 : 0;
            return count;
        };
        QVERIFY2(
            plates(1) > 10 && plates(2) < plates(1), qPrintable(u"%1 %2"_s.arg(plates(1)).arg(plates(2))));
    }

    void whereASectionEndsBeforeTheViewTheMapSaysSo()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("pipeline-w4"));
        QVERIFY(map != nullptr);
        MapViewport* viewport = map->viewport();
        const uint64_t columns = viewport->geometry(0).columns();
        viewport->zoomTo({{1, 2}, {columns - 20, columns}, 0});
        viewport->scrollTo(viewport->x(), 0);
        QVERIFY(ui.settle());
        QVERIFY(viewport->visible(2).elements.isEmpty() && !viewport->visible(2).rows.isEmpty());
        const QImage image = map->canvas()->grab().toImage();
        const MapLayout& layout = viewport->layout();
        const QRect body(0, static_cast<int>(layout.bodyTop(2) - viewport->y()), image.width(),
            static_cast<int>(layout.bodyHeight(2)));
        int ink = 0;
        for (int y = body.top(); y <= body.bottom() && y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                ink += image.pixel(x, y) != paletteOf(ThemeMode::Light).background ? 1 : 0;
        QVERIFY(ink > 100);
    }

    void groupsAreNamedForWhatTheyAre()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("pipeline-w4"));
        QVERIFY(map != nullptr);
        const MapStack& stack = *map->canvas()->stack();
        QCOMPARE(MapText::sectionName(stack.source(0)), u"Group 0, weights with decay · pp 0"_s);
        QCOMPARE(MapText::sectionName(stack.source(1)), u"Group 1, norms and biases without decay · pp 0"_s);
        QCOMPARE(MapText::sectionName(stack.checkpoint(), stack.content(1)),
            MapText::sectionName(stack.source(1)));
        WindowFixture other;
        map = openMap(other, samplePath("ds0144-zero3-w3"));
        QVERIFY(map != nullptr);
        QCOMPARE(MapText::sectionName(map->canvas()->stack()->source(1)),
            u"Group 0, weights with decay · sub-group 1"_s);
    }

    void totalsAreOfAllStates()
    {
        const auto checkpoint
            = test::makeSyntheticCheckpoint({.stage = 2, .ranks = 3, .params = 20, .groups = 2});
        uint64_t all = 0;
        uint64_t sections = 0;
        for (uint32_t rank = 0; rank < 3; ++rank) {
            all += bytesOnRank(*checkpoint, 0, rank);
            const MapStack stack(checkpoint, {}, {});
            for (uint32_t section = 0; section < stack.count(); ++section)
                sections += stack.source(section).bytesOfStates(rank);
        }
        QCOMPARE(all, sections);
        const RankLoad load = rankLoad(*checkpoint);
        QVERIFY(load.mostBytes > 0 && all <= 3 * load.mostBytes && all >= 3 * load.leastBytes);
        // More than the state shown.
        const MapStack stack(checkpoint, {}, {});
        QVERIFY(stack.source(0).bytesOfStates(0)
            > stack.source(0).amounts(0, 0, stack.source(0).columns()).bytes);
        const MapStack line(checkpoint, {.projection = MapQuery::Projection::Unrolled}, {});
        uint64_t rows = 0;
        for (uint32_t row = 0; row < 3; ++row)
            rows += stack.source(0).bytesOfStates(row);
        QCOMPARE(line.source(0).bytesOfStates(0), rows);
    }

    void layersShareABoxWhereNumbersDoNotFit()
    {
        const auto widthOf = [](const QString& text) { return 7.0 * static_cast<double>(text.size()); };
        std::vector<LayerBox> layers;
        for (uint32_t i = 0; i < 40; ++i)
            layers.push_back({i, i, i * 10.0, i * 10.0 + 10});
        const auto boxes = labelledLayers(layers, 4, widthOf);
        QVERIFY(boxes.size() > 3 && boxes.size() < 40);
        uint32_t next = 0;
        for (const LayerBox& box : boxes) { // every layer is in a box that names it
            QCOMPARE(box.first, next);
            QVERIFY(!box.text.isEmpty());
            QVERIFY(widthOf(box.text) + 4 <= box.right - box.left);
            next = box.last + 1;
        }
        QCOMPARE(next, 40U);
        // Wide ones have the word; layers of another run are not joined.
        const auto wide = labelledLayers({{7, 7, 0, 100}, {8, 8, 100, 200}}, 4, widthOf);
        QCOMPARE(wide.size(), size_t{2});
        QCOMPARE(wide[1].text, u"layer 8"_s);
        const auto apart = labelledLayers({{9, 9, 0, 5}, {0, 0, 5, 10}, {1, 1, 10, 60}}, 4, widthOf);
        QCOMPARE(apart.front().last, 9U);
    }

    void theLayerStripNamesItsRow()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero2-w2"));
        QVERIFY(map != nullptr);
        auto* of = map->findChild<QLabel*>(u"mapLayersOf"_s);
        auto* strip = map->findChild<MapLayerStrip*>();
        QVERIFY(strip->isVisible() && of->isVisible());
        QCOMPARE(of->text(), u"dp 0"_s);
        const MapLayout& layout = map->viewport()->layout();
        const QPoint second(40, static_cast<int>(layout.bodyTop(0) + layout.bodyHeight(0) * 3 / 4));
        QTest::mouseMove(map->canvas(), second);
        QTRY_COMPARE(of->text(), u"dp 1"_s);
    }

    void statesShareNoColour()
    {
        for (const ThemeMode mode : kModes) {
            const MapPalette palette = paletteOf(mode);
            std::vector<QRgb> all(palette.hues.begin(), palette.hues.end());
            all.insert(all.end(), palette.classes.begin(), palette.classes.end());
            for (const QRgb hue : all) {
                for (const QRgb state : {palette.missing, palette.padding, palette.paddingHatch})
                    QVERIFY2(distance(hue, state) > 25,
                        qPrintable(QColor(hue).name() + u' ' + QColor(state).name()));
            }
            for (size_t i = 0; i < palette.classes.size(); ++i)
                for (size_t j = 0; j < i; ++j)
                    QVERIFY2(distance(palette.classes[i], palette.classes[j]) > 25,
                        qPrintable(u"classes %1 and %2"_s.arg(i).arg(j)));
        }
    }

    void statesInFilesHavePatterns()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero2-w2"));
        QVERIFY(map != nullptr);
        map->setFilesShown(true);
        QVERIFY(ui.settle());
        QTRY_VERIFY(!map->isBusy());
        const MapSource& source = map->canvas()->stack()->source(0);
        const FileRows& files = *source.files();
        QVERIFY(files.states().size() >= 3);
        MapGeometry geometry = map->viewport()->geometry(0);
        geometry.setScale(MapScale::fitting(geometry.columns(), 4000));
        const MapPalette palette = paletteOf(ThemeMode::Light);
        MapRowSampler sampler(source, geometry, palette, {}, {0, 4000});
        std::map<uint32_t, DifferenceMark> marks; // by state
        for (uint32_t row = 0; row < files.rows(); ++row) {
            const auto pixels = sampler.sample({row, row + uint64_t{1}});
            for (size_t x = 0; x < pixels.size(); ++x) {
                const uint64_t byte = geometry.elementAt(static_cast<int64_t>(x));
                const MapCell cell = files.cellAt(row, byte);
                if (cell.kind != CellKind::Param) {
                    QVERIFY(pixels[x].mark == DifferenceMark::Equal);
                    continue;
                }
                const auto [known, isNew]
                    = marks.try_emplace(files.extentAt(row, byte).state, pixels[x].mark);
                QVERIFY(known->second == pixels[x].mark);
            }
        }
        QVERIFY(marks.size() >= 3);
        for (const auto& [state, mark] : marks) {
            for (const auto& [other, otherMark] : marks)
                QVERIFY(state == other || state % 4 == other % 4 || mark != otherMark);
        }
    }

    void labelsHaveContrast()
    {
        for (const ThemeMode mode : kModes) {
            const MapPalette palette = paletteOf(mode);
            std::vector<QRgb> fills(palette.hues.begin(), palette.hues.end());
            fills.insert(fills.end(), palette.classes.begin(), palette.classes.end());
            fills.insert(fills.end(), palette.sequence.begin(), palette.sequence.end());
            const size_t plain = fills.size();
            for (size_t i = 0; i < plain; ++i) {
                fills.push_back(desaturated(fills[i]));
                fills.push_back(blended(fills[i], palette.background, 200));
            }
            for (const QRgb fill : fills)
                QVERIFY2(contrast(fill, readableOn(fill)) >= 4.5, qPrintable(QColor(fill).name()));
            // Words on plates, in strips and beside the map.
            const QRgb strip = blended(palette.background, palette.text, 18);
            QVERIFY(contrast(palette.mutedText, readableOn(palette.mutedText)) >= 4.5);
            for (const QRgb under : {palette.background, strip}) {
                QVERIFY(contrast(palette.text, under) >= 4.5);
                QVERIFY2(contrast(palette.mutedText, under) >= 4.5,
                    qPrintable(QString::number(contrast(palette.mutedText, under))));
            }
            for (const int shade : {40, 64})
                QVERIFY(contrast(palette.text, blended(palette.background, palette.text, shade)) >= 4.5);
            QVERIFY2(contrast(missingText(palette), palette.background) >= 4.5,
                qPrintable(QString::number(contrast(missingText(palette), palette.background))));
        }
    }

    void notableRowsHaveLabels()
    {
        WindowFixture ui;
        LayoutMapView view(&ui.theme());
        Selection selection;
        view.setSelection(&selection);
        view.resize(1000, 600);
        view.setCheckpoint(test::makeSyntheticCheckpoint({.stage = 2, .ranks = 512, .params = 40}));
        view.show();
        QTRY_VERIFY(!view.isBusy());
        auto* gutter = view.findChild<RankGutter*>();
        const auto inkAt = [&](uint32_t row) {
            const MapLayout& layout = view.viewport()->layout();
            const QImage image = gutter->grab().toImage();
            const auto top
                = static_cast<int>(layout.bodyTop(0) + layout.rowScale().topEdge(row) - view.viewport()->y());
            int ink = 0;
            for (int y = top + 2; y < std::min(top + 12, image.height()); ++y)
                for (int x = 8; x < 50; ++x)
                    ink += image.pixel(x, y) != paletteOf(ThemeMode::Light).background ? 1 : 0;
            return ink;
        };
        QVERIFY(rankLabelStep(1.0, 16) > 1);
        const uint32_t between = 128 + 21; // no power of two, so that it has no label of its own
        const QImage before = gutter->grab().toImage();
        selection.selectRank(between);
        QVERIFY(gutter->grab().toImage() != before);
        QVERIFY(inkAt(between) > 20);
        // The last rank, which has padding.
        QVERIFY(view.canvas()->stack()->source(0).hasPadding(511));
        QVERIFY(inkAt(511 - 18) + inkAt(511 - 8) > 20);
    }

    void survivingValuesOfALostRankAreRead()
    {
        WindowFixture ui;
        const QString folder = copiedSample("zero2-w2", ui.folder(u"lost"_s));
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.toStdString())) {
            if (entry.path().filename().string().find("rank_1_mp_rank_00_optim_states") != std::string::npos)
                std::filesystem::remove(entry.path());
        }
        QVERIFY(ui.open(folder));
        const auto stack
            = std::make_shared<const MapStack>(ui.checkpoint(), MapSubject{}, MapSource::Shared{});
        const MapSource& source = stack->source(0);
        // The parameter that is on both ranks.
        const MapCell last = source.cellAt(0, source.columns() - 1);
        QCOMPARE(last.kind, CellKind::Param);
        QVERIFY(last.end - last.begin < ui.checkpoint()->params[index(last.param)].elements);
        MapValues values;
        values.setStack(stack);
        bool known = false;
        QSignalSpy arrived(&values, &MapValues::arrived);
        static_cast<void>(values.valueOf(last.param, last.paramOffset, &known));
        QVERIFY(arrived.wait(5000));
        const double found = values.valueOf(last.param, last.paramOffset, &known);
        QVERIFY(known);
        // The sound checkpoint has the same value.
        WindowFixture sound;
        QVERIFY(sound.open(samplePath("zero2-w2")));
        const auto whole
            = std::make_shared<const MapStack>(sound.checkpoint(), MapSubject{}, MapSource::Shared{});
        MapValues wanted;
        wanted.setStack(whole);
        QSignalSpy there(&wanted, &MapValues::arrived);
        static_cast<void>(wanted.valueOf(last.param, last.paramOffset, &known));
        QVERIFY(there.wait(5000));
        QCOMPARE(found, wanted.valueOf(last.param, last.paramOffset, &known));
    }

    void aUnitWithoutElementsMakesNoSection()
    {
        auto made = std::make_shared<Checkpoint>(*test::makeSyntheticCheckpoint({.stage = 2, .ranks = 2}));
        const size_t sections = mapLooks(*made)->sections.size();
        FlatUnit empty = made->units.front();
        empty.kind = UnitKind::Whole;
        empty.params.clear();
        empty.partition = FlatPartition{};
        made->units.push_back(empty);
        QCOMPARE(mapLooks(*made)->sections.size(), sections);
    }

    void theLegendIsNotCut()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero3-w4"));
        QVERIFY(map != nullptr);
        auto* legend = map->findChild<MapLegend*>();
        for (const int width : {1440, 1000, 760, 640}) {
            ui.window().resize(width, 640);
            QVERIFY(ui.settle());
            QVERIFY2(legend->height() >= legend->heightForWidth(legend->width()),
                qPrintable(u"%1: %2 of %3"_s.arg(width)
                               .arg(legend->height())
                               .arg(legend->heightForWidth(legend->width()))));
        }
    }
};

SHARDSCOPE_UI_TEST(TestMapTruth, WithDisplay)
#include "tst_map_truth.moc"
