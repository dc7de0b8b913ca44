// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/map/map_shapes.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_layer_strip.h"
#include "ui/layoutmap/map_menu.h"
#include "ui/models/address_selection.h"
#include "ui/pages/details_panel.h"
#include "ui/text/padding_text.h"

#include <QComboBox>
#include <QMenu>
#include <QTest>

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

/// The whole checkpoint on one map: sections, headers, folding, padding, totals.
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

    void tensorsOutsideUnitsHaveSections_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<int>("tensors");
        // Counted by `shardscope params`: parameters that no unit has, without aliases and empty ones.
        QTest::newRow("ZeRO-2") << u"zero2-w2"_s << 4;
        QTest::newRow("ZeRO-3") << u"zero3-w4"_s << 4;
    }
    void tensorsOutsideUnitsHaveSections()
    {
        QFETCH(QString, sample);
        QFETCH(int, tensors);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        const MapStack stack(ui.checkpoint(), {}, {});
        int seen = 0;
        for (uint32_t section = 0; section < stack.count(); ++section) {
            const MapSource& source = stack.source(section);
            if (!source.isOutsideUnits())
                continue;
            QCOMPARE(source.rows(), 1U);
            source.forEachCell(0, 0, source.columns(), [&](const MapCell& cell) {
                ++seen;
                const auto [run, offset] = source.storedAt(cell, source.placeOf(0, cell.begin));
                return run.isPresent() && cell.kind == CellKind::Param
                    && stack.sectionOf(cell.param) == std::optional(section)
                    && firstFragment(source, cell.param)->element == cell.begin;
            });
        }
        QCOMPARE(seen, tensors);
        // Selecting one in another view shows it.
        ui.window().showPage(u"map"_s);
        auto* map = ui.find<LayoutMapView>("layoutMap");
        const ParamId param = stack.source(stack.count() - 1).unit().params.front();
        ui.window().selection().selectParam(param);
        QCOMPARE(map->canvas()->marks().param, param);
        QCOMPARE(map->canvas()->marks().pinned->section, stack.count() - 1);
    }

    void layoutPlacesSections()
    {
        const MapStack stack(severalSections(), {}, {});
        MapLayout layout = layoutOf(stack, 20, 6);
        int64_t y = 0;
        for (uint32_t section = 0; section < layout.count(); ++section) {
            const MapGeometry& geometry = layout.section(section);
            // Every section fills the width but for one step of the ladder.
            QVERIFY(geometry.contentWidth() <= layout.contentWidth());
            QVERIFY(geometry.contentWidth() >= layout.contentWidth() * 96 / 100
                || geometry.scale().step() == MapScale::kFinest);
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
        QCOMPARE(paddingShare(*checkpoint, *run), u"38 % of dp 1"_s);
        QVERIFY(!paddingAt(unit, unit.states.front(), 0, 0).has_value());
    }

    void clickOnPaddingShowsItInDetails()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        auto* map = ui.find<LayoutMapView>("layoutMap");
        QTest::keyClick(map->canvas(), Qt::Key_Z);
        const auto pinned = map->canvas()->marks().pinned;
        QVERIFY(pinned.has_value());
        QVERIFY(map->canvas()->stack()->cellAt(*pinned).param == kNoParam);
        QVERIFY(ui.window().selection().current().isPadding);
        auto* details = ui.find<DetailsPanel>("detailsPanel");
        QTRY_VERIFY2(details->title().startsWith(u"Padding of dp "_s), qPrintable(details->title()));
        QTest::keyClick(map->canvas(), Qt::Key_Z, Qt::ShiftModifier);
        QCOMPARE(map->canvas()->marks().pinned, pinned); // it was the first one
    }

    void anAddressOfPaddingMarksIt()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        const MapCanvas& canvas = *ui.find<LayoutMapView>("layoutMap")->canvas();
        const auto wanted = nextPadding(*canvas.stack(), {}, MapStep::Forward, isShown);
        QVERIFY(wanted.has_value());
        const MapSource& source = canvas.stack()->sourceAt(*wanted);
        const auto place = source.placeOf(wanted->row, wanted->element);
        const std::string address = formatAddress(flatAddressOf(
            *ui.checkpoint(), source.unitAt(wanted->element), place.rank, place.offset, "fp32"));
        const auto thing = selectionOf(*ui.checkpoint(), QString::fromStdString(address));
        QVERIFY(thing.has_value() && thing->isPadding);
        ui.window().selection().select(*thing);
        QVERIFY(canvas.marks().pinned == wanted);
        auto* details = ui.find<DetailsPanel>("detailsPanel");
        QTRY_VERIFY2(details->title().startsWith(u"Padding of dp "_s), qPrintable(details->title()));
    }

    void manyPartsAreMadeOnAWorker()
    {
        WindowFixture ui;
        LayoutMapView view(&ui.theme());
        view.resize(1000, 600);
        view.show();
        const auto checkpoint
            = test::makeSyntheticCheckpoint({.stage = 3, .ranks = 2, .params = 12, .frozen = 3000});
        view.setCheckpoint(checkpoint);
        QVERIFY(view.isBusy());
        QVERIFY(view.canvas()->stack() == nullptr);
        QTRY_VERIFY(view.canvas()->stack() != nullptr);
        const MapStack& stack = *view.canvas()->stack();
        const MapSource& frozen = stack.source(stack.count() - 1);
        QCOMPARE(frozen.parts().size(), size_t{3000});
        // What is known in advance is what queries of every part add up to.
        MapQuery::Sum all;
        for (const MapQuery& part : frozen.parts()) {
            const auto one = part.sum(0, part.rows(), 0, part.columns());
            all.elements += one.elements;
            all.padding += one.padding;
            all.bytes += one.bytes;
            all.params += one.params;
        }
        QCOMPARE(frozen.total().elements, all.elements);
        QCOMPARE(frozen.total().padding, all.padding);
        QCOMPARE(frozen.total().bytes, all.bytes);
        QCOMPARE(frozen.total().params, all.params);
        QCOMPARE(frozen.total().ranks, 2U);
        // Another checkpoint before it is done: only that one is shown.
        view.setCheckpoint(checkpoint);
        view.setCheckpoint(test::makeSyntheticCheckpoint({.stage = 2, .ranks = 2, .params = 5}));
        QTest::qWait(50);
        QCOMPARE(view.canvas()->stack()->count(), 1U);
    }

    void headersFold()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        auto* map = ui.find<LayoutMapView>("layoutMap");
        MapViewport& viewport = *map->viewport();
        QVERIFY(viewport.layout().count() >= 4);
        QCOMPARE(viewport.maximumY(), int64_t{0});
        // Rows fill the page.
        QVERIFY(viewport.layout().contentHeight() > viewport.size().height() * 8 / 10);
        QTest::mouseClick(map->canvas(), Qt::LeftButton, {},
            QPoint(200, static_cast<int>(viewport.layout().headerTop(1)) + 6));
        QVERIFY(viewport.layout().isFolded(1));
        QVERIFY(!viewport.layout().isFolded(0));
        // What is selected elsewhere unfolds its section.
        const ParamId param = map->canvas()->stack()->source(1).unit().params.front();
        ui.window().selection().selectParam(param);
        QVERIFY(!viewport.layout().isFolded(1));
        QCOMPARE(map->canvas()->marks().pinned->section, 1U);
        QTest::keyClick(map->canvas(), Qt::Key_H);
        QVERIFY(viewport.layout().isFolded(1));
        QTest::keyClick(map->canvas(), Qt::Key_H, Qt::ShiftModifier);
        QVERIFY(!viewport.layout().isFolded(1)); // some were folded: all unfold
        QTest::keyClick(map->canvas(), Qt::Key_H, Qt::ShiftModifier);
        for (uint32_t section = 0; section < viewport.layout().count(); ++section)
            QVERIFY(viewport.layout().isFolded(section));
    }

    void aSelectionBeforeTheFirstLookKeepsTheFit()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* map = ui.find<LayoutMapView>("layoutMap"); // its page was never shown
        ui.window().selection().selectParam(*ui.checkpoint()->findParam("norm.weight"));
        ui.window().showPage(u"map"_s);
        QVERIFY(map->viewport()->isFitted());
        QVERIFY(map->viewport()->layout().contentHeight() > map->viewport()->size().height() * 8 / 10);
        QVERIFY(map->canvas()->marks().pinned.has_value());
    }

    void selectedRankIsHighlighted()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        auto* map = ui.find<LayoutMapView>("layoutMap");
        ui.window().selection().selectRank(2);
        QCOMPARE(map->canvas()->marks().rank, std::optional(2U));
        ui.window().selection().clear();
        QCOMPARE(map->canvas()->marks().rank, std::optional<uint32_t>());
    }

    void menuCopiesTheCell()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        auto* map = ui.find<LayoutMapView>("layoutMap");
        QTest::keyClick(map->canvas(), Qt::Key_Right);
        const MapSource& source = *map->canvas()->source();
        const auto copies = mapCopies(source, *map->canvas()->marks().pinned);
        QCOMPARE(copies.size(), 5);
        QCOMPARE(copies[0].text, source.nameOf(source.unit().params.front()));
        for (const MapCopy& copy : copies)
            QVERIFY(!copy.text.isEmpty());
        QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, map->canvas()->mapToGlobal(QPoint()));
        QCoreApplication::sendEvent(map->canvas(), &event);
        auto* menu = map->findChild<QMenu*>(u"mapMenu"_s);
        QVERIFY(menu != nullptr && menu->isVisible());
        QAction* only = nullptr;
        for (QAction* action : menu->actions())
            only = action->text().contains(u"Only"_s) ? action : only;
        QVERIFY(only != nullptr);
        only->trigger();
        menu->close();
        QCOMPARE(map->canvas()->stack()->count(), 1U);
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

    void anotherRunHasTheDefaults()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* map = ui.find<LayoutMapView>("layoutMap");
        map->setUnit(UnitId{1});
        map->setColourMode(MapColourMode::Rank);
        map->setState(std::string_view("exp_avg"));
        map->setProjection(MapQuery::Projection::Unrolled);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(!map->section().has_value());
        QCOMPARE(map->colourMode(), MapColourMode::Kind);
        QCOMPARE(map->projection(), MapQuery::Projection::Partitions);
        QCOMPARE(map->canvas()->source()->state().name, std::string("fp32"));
        // Names without a class get a colour each.
        map->setCheckpoint(test::makeSyntheticCheckpoint(
            {.stage = 2, .ranks = 2, .shapes = {{"a", {70}}, {"b", {60}}, {"c", {50}}}}));
        QCOMPARE(map->colourMode(), MapColourMode::Parameter);
    }
};

SHARDSCOPE_UI_TEST(TestMapStack, WithDisplay)
#include "tst_map_stack.moc"
