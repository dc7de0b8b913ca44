// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/open.h"
#include "core/layout/map_looks.h"
#include "core/layout/whole_units.h"
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/map_layer_strip.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"
#include "ui/text/padding_text.h"

#include <QTest>

#include <cstdlib>
#include <map>
#include <set>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Two groups of different sizes and frozen parameters, on 3 ranks.
CheckpointPtr severalSections()
{
    return test::makeSyntheticCheckpoint({.stage = 3, .ranks = 3, .params = 30, .groups = 2, .frozen = 4});
}

MapLayout layoutOf(const MapStack& stack, int header, int footer)
{
    MapLayout layout(stack.sizes());
    layout.setMargins(header, footer);
    layout.setScale(MapScale::fitting(layout.columns(), 1000));
    layout.setRowScale(MapRowScale(12));
    return layout;
}

bool isShown(uint32_t)
{
    return true;
}

} // namespace

/// The whole checkpoint on one map: sections, their layout and tiles, steps over them, padding.
class TestMapStack : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyUnitIsInOneSection()
    {
        const auto checkpoint = severalSections();
        const MapStack stack(checkpoint, {}, {});
        uint64_t elements = 0;
        for (const FlatUnit& unit : checkpoint->units)
            elements += unit.partition.payloadElements();
        uint64_t seen = 0;
        for (uint32_t section = 0; section < stack.count(); ++section) {
            const MapSource& source = stack.source(section);
            QCOMPARE(source.number(), section);
            for (uint32_t row = 0; row < source.rows(); ++row) {
                uint64_t next = 0; // cells follow each other without a gap
                source.forEachCell(row, 0, source.columns(), [&](const MapCell& cell) {
                    if (cell.begin != next)
                        return false;
                    next = cell.end;
                    seen += cell.param == kNoParam ? 0 : cell.end - cell.begin;
                    return true;
                });
                QCOMPARE(next, source.columns());
            }
        }
        QCOMPARE(seen, elements);
        // The frozen parameters are units of their own, and one section.
        QVERIFY(stack.count() < checkpoint->units.size());
        const MapSource& frozen = stack.source(stack.count() - 1);
        QVERIFY(frozen.parts().size() > 1);
        for (size_t part = 0; part < frozen.parts().size(); ++part) {
            const ParamId param = frozen.parts()[part].flat().params.front();
            const auto first = firstFragment(frozen, param);
            QVERIFY(first.has_value());
            QCOMPARE(first->element, frozen.beginOf(part));
            QCOMPARE(frozen.cellAt(first->row, first->element).param, param);
            QCOMPARE(stack.sectionOf(frozen.parts()[part].unit()), std::optional(frozen.number()));
        }
    }

    void layoutPlacesSections()
    {
        const MapStack stack(severalSections(), {}, {});
        MapLayout layout = layoutOf(stack, 20, 6);
        int64_t y = 0;
        for (uint32_t section = 0; section < layout.count(); ++section) {
            const MapGeometry& geometry = layout.section(section);
            // A section is as wide as its elements in the map's scale, or fills the width.
            const uint64_t wanted = layout.isEnlarged(section) ? layout.columns() : geometry.columns();
            QVERIFY(std::abs(geometry.contentWidth() - layout.scale().leftEdge(wanted)) <= 1);
            QCOMPARE(layout.headerTop(section), y);
            for (int pixel = 0; pixel < 20; ++pixel, ++y) {
                QCOMPARE(layout.sectionAt(y), std::optional(section));
                QVERIFY(!layout.bandAt(y).has_value());
            }
            for (int64_t pixel = 0; pixel < layout.bodyHeight(section); ++pixel, ++y) {
                const auto band = layout.bandAt(y);
                QVERIFY(band.has_value());
                QCOMPARE(band->section, section);
                const auto rect = layout.rectOf({band->rows, {0, 1}, section});
                QVERIFY(rect.y <= y && y < rect.y + rect.height);
            }
            for (int pixel = 0; pixel < 6; ++pixel, ++y)
                QVERIFY(!layout.bandAt(y).has_value());
        }
        QCOMPARE(layout.contentHeight(), y);
        // A folded section keeps its header.
        const int64_t body = layout.bodyHeight(1);
        layout.setFolded(1, true);
        QCOMPARE(layout.contentHeight(), y - body - 6);
        QCOMPARE(layout.sectionAt(layout.headerTop(1) + 19), std::optional(1U));
        QCOMPARE(layout.sectionAt(layout.headerTop(1) + 20), std::optional(2U));
        QCOMPARE(layout.rectOf({{0, 1}, {0, 1}, 1}), ContentRect{});
    }

    void picturesOfTilesAndOfTheWholeAgree()
    {
        MapStackRequest request;
        request.stack
            = std::make_shared<const MapStack>(severalSections(), MapSubject{}, MapSource::Shared{});
        auto palette = std::make_shared<MapPalette>();
        palette->background = 0xFFFFFFFFu;
        for (size_t i = 0; i < palette->classes.size(); ++i)
            palette->classes[i] = 0xFF102030u + static_cast<QRgb>(i) * 0x151515u;
        request.palette = palette;
        request.layout = std::make_shared<const MapLayout>(layoutOf(*request.stack, 17, 3));
        request.width = static_cast<int>(request.layout->contentWidth());
        request.height = static_cast<int>(request.layout->contentHeight());
        const QImage whole = renderMap(request);
        for (int y = 0; y < whole.height(); y += 41) {
            for (int x = 0; x < whole.width(); x += 97) {
                MapStackRequest part = request;
                part.x = x;
                part.y = y;
                part.width = std::min(97, whole.width() - x);
                part.height = std::min(41, whole.height() - y);
                QCOMPARE(renderMap(part), whole.copy(x, y, part.width, part.height));
            }
        }
        // Headers are left for what is painted over the tiles.
        for (uint32_t section = 0; section < request.layout->count(); ++section) {
            const int y = static_cast<int>(request.layout->headerTop(section)) + 5;
            QCOMPARE(whole.pixel(3, y), palette->background);
            QVERIFY(whole.pixel(3, y + 17) != palette->background);
        }
    }

    void findingsMarkTensorsOutsideUnits()
    {
        JobContext job;
        const auto opened
            = openCheckpoint(io::realFileSystem(), samplePath("zero2-w2").toStdString(), {}, job);
        QVERIFY(opened.has_value());
        const CheckpointPtr checkpoint = opened->checkpoint;
        auto buffers = tensorsOutsideUnits(*checkpoint);
        std::erase_if(buffers, [&](const WholeTensor* tensor) {
            return checkpoint->params[index(tensor->param)].role != ParamRole::Buffer;
        });
        QVERIFY(buffers.size() > 1);
        const ParamId odd = buffers[1]->param;
        const auto marked = [&](const Finding& finding) {
            const std::vector<Finding> more{finding};
            const MapStack stack(checkpoint, {}, {}, more);
            const MapSource& source = stack.source(stack.count() - 1);
            std::vector<ParamId> params;
            source.forEachCell(0, 0, source.columns(), [&](const MapCell& cell) {
                if (cell.severity >= 1)
                    params.push_back(cell.param);
                return true;
            });
            return params;
        };
        const ParamAddress name{checkpoint->params[index(odd)].name, {}, {}};
        QVERIFY(marked({"test-finding", Severity::Warning, "odd", name, {}}) == std::vector{odd});
        std::vector<ParamId> all;
        for (const WholeTensor* tensor : buffers)
            all.push_back(tensor->param);
        const std::string& file = checkpoint->file(buffers[1]->run.file).name;
        QVERIFY(marked({"test-finding", Severity::Error, "odd", file, {}}) == all);
        const std::string other = checkpoint->file(checkpoint->optimFiles[0]).name;
        QVERIFY(marked({"test-finding", Severity::Error, "odd", other, {}}).empty());
    }

    void stepsCrossSections()
    {
        const MapStack stack(severalSections(), {}, {});
        MapSource::Point place{};
        uint64_t steps = 0;
        for (auto next = std::optional(place); next; ++steps) {
            place = *next;
            next = neighbour(stack, place, MapStep::Forward, isShown);
        }
        QCOMPARE(place.section, stack.count() - 1);
        uint64_t back = 0;
        for (auto next = std::optional(place); next; ++back) {
            place = *next;
            next = neighbour(stack, place, MapStep::Backward, isShown);
        }
        QCOMPARE(place, MapSource::Point{});
        QCOMPARE(back, steps);
        // Folded sections are passed over.
        const auto second = neighbour(stack, {2, stack.source(0).columns() - 1, 0}, MapStep::Forward,
            [](uint32_t section) { return section != 1; });
        QCOMPARE(second->section, 2U);
        const auto below = nextRank(stack, {2, 0, 0}, MapStep::Forward, isShown);
        QCOMPARE(*below, (MapSource::Point{0, 0, 1}));
    }

    void paddingIsFoundAndExplained_data()
    {
        QTest::addColumn<int>("stage");
        QTest::newRow("ZeRO-3") << 3;
        QTest::newRow("ZeRO-2") << 2;
    }
    void paddingIsFoundAndExplained()
    {
        QFETCH(int, stage);
        const auto checkpoint = test::makeSyntheticCheckpoint({.stage = stage,
            .ranks = 4,
            .shapes = {{"odd.weight", {7}}, {"even.weight", {8}}, {"two", {2}}}});
        const MapStack stack(checkpoint, {}, {});
        const MapSource& source = stack.source(0);
        std::vector<MapSource::Point> runs;
        for (uint32_t row = 0; row < source.rows(); ++row) {
            source.forEachCell(row, 0, source.columns(), [&](const MapCell& cell) {
                if (cell.param == kNoParam)
                    runs.push_back({row, cell.begin, 0});
                return true;
            });
        }
        QVERIFY(!runs.empty());
        std::vector<MapSource::Point> found;
        MapSource::Point place{};
        while (const auto next = nextPadding(stack, place, MapStep::Forward, isShown)) {
            place = *next;
            found.push_back(place);
        }
        QVERIFY(found == runs);
        std::vector<MapSource::Point> back{place};
        while (const auto next = nextPadding(stack, place, MapStep::Backward, isShown)) {
            place = *next;
            back.push_back(place);
        }
        std::reverse(back.begin(), back.end());
        QVERIFY(back == runs);
        // The last rank's share of the first parameter, or of everything.
        const auto last = std::find_if(
            runs.begin(), runs.end(), [](const MapSource::Point& run) { return run.row == 3; });
        QVERIFY(last != runs.end());
        const QString words = MapText::sentence(source, *last);
        const QString reason = stage == 3
            ? u"padding: 1 element, so that odd.weight (7 elements) divides by 4 ranks; stored in the file; "_s
            : u"padding: 6 of 7 elements, so that 17 elements divide by 2 × 4 ranks; in no file; "_s;
        QVERIFY2(words.startsWith(reason) && words.contains(u"% of dp 3"_s), qPrintable(words));
    }

    void zero2PaddingNamesTheAlignment()
    {
        const auto checkpoint = test::makeSyntheticCheckpoint(
            {.stage = 2, .ranks = 2, .shapes = {{"odd.weight", {7}}, {"one", {6}}}});
        const FlatUnit& unit = checkpoint->units.front();
        const auto run = paddingAt(unit, unit.states.front(), 1, unit.partition.partitionElements() - 1);
        QVERIFY(run.has_value());
        QCOMPARE(
            paddingReason(*checkpoint, *run), u"3 elements, so that 13 elements divide by 2 × 2 ranks"_s);
        QCOMPARE(paddingShare(*checkpoint, *run), u"37.5 % of dp 1"_s);
        QVERIFY(!paddingAt(unit, unit.states.front(), 0, 0).has_value());
    }

    void oneNameHasOneHue()
    {
        // A tied module on two stages, and slices of one tensor.
        for (const char* sample : {"pipeline-w4", "slices-w4"}) {
            JobContext job;
            const auto opened
                = openCheckpoint(io::realFileSystem(), samplePath(sample).toStdString(), {}, job);
            QVERIFY(opened.has_value());
            const CheckpointPtr checkpoint = opened->checkpoint;
            const MapNames names(checkpoint);
            std::map<std::string_view, std::set<uint8_t>> hues;
            for (uint32_t i = 0; i < checkpoint->params.size(); ++i)
                hues[nameWithoutHolder(*checkpoint, ParamId{i})].insert(names.hueOf(ParamId{i}));
            QVERIFY(hues.size() < checkpoint->params.size());
            for (const auto& [name, of] : hues)
                QCOMPARE(of.size(), size_t{1});
        }
    }

    /// Other kinds of ZeRO order the same parameters differently.
    void aNameHasItsHueInEveryCheckpoint()
    {
        std::map<std::string_view, uint8_t> hues;
        std::vector<CheckpointPtr> kept;
        size_t again = 0;
        for (const char* sample : {"zero2-w2", "zero3-w4", "zero2-universal-w2", "stage0-bf16"}) {
            JobContext job;
            const auto opened
                = openCheckpoint(io::realFileSystem(), samplePath(sample).toStdString(), {}, job);
            QVERIFY(opened.has_value());
            kept.push_back(opened->checkpoint);
            const MapNames names(opened->checkpoint);
            for (uint32_t i = 0; i < opened->checkpoint->params.size(); ++i) {
                const std::string& name = opened->checkpoint->params[i].name;
                const auto [at, isNew] = hues.try_emplace(name, names.hueOf(ParamId{i}));
                QVERIFY2(at->second == names.hueOf(ParamId{i}), name.c_str());
                again += isNew ? 0 : 1;
            }
        }
        QVERIFY(again > 40);
    }

    void aParameterWithoutElementsMakesNoSection()
    {
        auto made = std::make_shared<Checkpoint>(*test::makeSyntheticCheckpoint({.stage = 2, .ranks = 2}));
        const size_t sections = mapLooks(*made)->sections.size();
        made->params.push_back({.name = "empty", .shape = {0}, .role = ParamRole::Frozen});
        made->whole.push_back(
            {.param = ParamId{static_cast<uint32_t>(made->params.size() - 1)}, .state = "weight"});
        QCOMPARE(mapLooks(*made)->sections.size(), sections);
    }

    void aSmallSectionSaysHowWideItIsDrawn()
    {
        const MapLayout layout({{.columns = 1000, .rows = 1}, {.columns = 100, .rows = 1}});
        QVERIFY(!layout.isEnlarged(0));
        QVERIFY(layout.isEnlarged(1));
        QCOMPARE(MapText::factor(layout.widening(1)), u"×10"_s);
    }

    void layersOfARow()
    {
        const MapStack stack(test::makeSyntheticCheckpoint({.stage = 3, .ranks = 2, .params = 60}), {}, {});
        const MapSource& source = stack.source(0);
        const MapLayout layout = layoutOf(stack, 0, 0);
        const auto runs = layerRuns(source, 0, layout.section(0), 0, layout.contentWidth());
        QVERIFY(runs.size() > 3);
        uint64_t next = 0;
        for (const LayerRun& run : runs) {
            QCOMPARE(run.begin, next);
            next = run.end;
        }
        QCOMPARE(next, source.columns());
        for (size_t i = 1; i < runs.size(); ++i)
            QVERIFY(runs[i].layer != runs[i - 1].layer);
    }
};

SHARDSCOPE_UI_TEST(TestMapStack, WithDisplay)
#include "tst_map_stack.moc"
