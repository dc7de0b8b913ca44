// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_menu.h"
#include "ui/models/address_selection.h"
#include "ui/pages/details_panel.h"

#include <QMenu>
#include <QTest>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

bool isShown(uint32_t)
{
    return true;
}

/// The map page with a sample of ZeRO-3; null if it does not open.
LayoutMapView* openMap(WindowFixture& ui)
{
    const bool opened = ui.open(samplePath("zero3-w4")) && ui.window().showPage(u"map"_s) && ui.settle();
    return opened ? ui.find<LayoutMapView>("layoutMap") : nullptr;
}

} // namespace

/// The sections of the map with user input: headers, padding, ranks, totals, menu.
class TestMapSections : public QObject
{
    Q_OBJECT
private Q_SLOTS:
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

    void clickOnPaddingShowsItInDetails()
    {
        WindowFixture ui;
        auto* map = openMap(ui);
        QVERIFY(map != nullptr);
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
        const auto* map = openMap(ui);
        QVERIFY(map != nullptr);
        const MapCanvas& canvas = *map->canvas();
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
        auto* map = openMap(ui);
        QVERIFY(map != nullptr);
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
        auto* map = openMap(ui);
        QVERIFY(map != nullptr);
        ui.window().selection().selectRank(2);
        QCOMPARE(map->canvas()->marks().rank, std::optional(2U));
        // Its rows stand out, in every section and beside it.
        auto* gutter = map->findChild<QWidget*>(u"rankGutter"_s);
        const QImage lit = gutter->grab().toImage();
        ui.window().selection().selectRank(1);
        const QImage other = gutter->grab().toImage();
        const MapViewport& viewport = *map->viewport();
        for (uint32_t section = 0; section < viewport.layout().count(); ++section) {
            const MapBlock row{{2, 3}, {0, 1}, section};
            if (map->canvas()->stack()->source(section).rows() < 3)
                continue;
            const auto y = static_cast<int>(viewport.layout().rectOf(row).y) + 2;
            QVERIFY2(lit.pixel(2, y) != other.pixel(2, y), qPrintable(QString::number(section)));
        }
        ui.window().selection().clear();
        QCOMPARE(map->canvas()->marks().rank, std::optional<uint32_t>());
    }

    void totalsGiveWayToTheCells()
    {
        WindowFixture ui;
        auto* map = openMap(ui);
        QVERIFY(map != nullptr);
        auto* totals = map->findChild<QWidget*>(u"mapRankTotals"_s);
        QVERIFY(totals->isVisible());
        // Text in the row of a rank: something else than its background.
        const QImage image = totals->grab().toImage();
        QSet<QRgb> colours;
        const auto rect = map->viewport()->layout().rectOf({{0, 1}, {0, 1}, 0});
        for (int x = 0; x < image.width(); ++x)
            colours.insert(image.pixel(x, static_cast<int>(rect.y + rect.height / 2 - 3)));
        QVERIFY(colours.size() > 3);
        LayoutMapView narrow(&ui.theme());
        narrow.resize(360, 400);
        narrow.setCheckpoint(ui.checkpoint());
        narrow.show();
        QTRY_VERIFY(!narrow.findChild<QWidget*>(u"mapRankTotals"_s)->isVisible());
        QTRY_VERIFY(narrow.canvas()->width() > 200);
    }

    void menuCopiesTheCell()
    {
        WindowFixture ui;
        auto* map = openMap(ui);
        QVERIFY(map != nullptr);
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

SHARDSCOPE_UI_TEST(TestMapSections, WithDisplay)
#include "tst_map_sections.moc"
