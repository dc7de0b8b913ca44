// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/map/map_shapes.h"
#include "tests/ui/ui_tests.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/selection.h"
#include "ui/style/theme.h"

#include <QComboBox>
#include <QSet>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <set>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace shardscope;
using namespace shardscope::ui;
using test::kShapes;

/// The map with user input: keys, mouse, selection.
class TestMapView : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();
    void keysStepAndPin();
    void keysZoomAndFit();
    void draggedRangeAddsUp();
    void selectionElsewhereLightsTheParameter();
    void aliasLightsItsOwner();
    void clickSetsTheSelection();
    void ctrlWheelZoomsAtThePointer();
    void unitsAndProjectionsCanBeChosen();
    void newSnapshotKeepsTheZoom();
    void emptyCheckpointIsHarmless();
    void textsNameEverything();

private:
    [[nodiscard]] MapCanvas* canvas() const { return m_view->canvas(); }
    void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier)
    {
        QTest::keyClick(canvas(), static_cast<Qt::Key>(key), modifiers);
    }
    void show(const test::SyntheticOptions& options);

    std::unique_ptr<Theme> m_theme;
    std::unique_ptr<Selection> m_selection;
    std::unique_ptr<LayoutMapView> m_view;
};

void TestMapView::initTestCase()
{
    m_theme = std::make_unique<Theme>();
}

void TestMapView::init()
{
    m_selection = std::make_unique<Selection>();
    m_view = std::make_unique<LayoutMapView>(m_theme.get());
    m_view->setSelection(m_selection.get());
    m_view->resize(1000, 600);
    m_view->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_view.get()));
}

void TestMapView::cleanup()
{
    m_view.reset();
    m_selection.reset();
}

void TestMapView::show(const test::SyntheticOptions& options)
{
    m_view->setCheckpoint(test::makeSyntheticCheckpoint(options));
    m_view->setFocus();
    QCoreApplication::processEvents();
}

void TestMapView::keysStepAndPin()
{
    show({.stage = 3, .ranks = 4, .shapes = kShapes});
    const auto& params = canvas()->source()->unit().params;
    press(Qt::Key_Right);
    QCOMPARE(m_selection->current().param, params[0]);
    press(Qt::Key_Right);
    QCOMPARE(m_selection->current().param, params[1]);
    press(Qt::Key_Comma);
    press(Qt::Key_Period);
    QCOMPARE(m_selection->current().param, params[1]);
    QCOMPARE(*m_selection->current().rank, 0u);
    press(Qt::Key_Down);
    QCOMPARE(*m_selection->current().rank, 1u);
    QCOMPARE(m_selection->current().param, params[1]);
    press(Qt::Key_BracketRight);
    QCOMPARE(*m_selection->current().rank, 2u);
    press(Qt::Key_BracketLeft);
    press(Qt::Key_BracketLeft);
    QCOMPARE(*m_selection->current().rank, 0u);
    QVERIFY(canvas()->accessibleDescription().contains(QStringLiteral("q_proj")));
    QSignalSpy opened(m_view.get(), &LayoutMapView::parameterActivated);
    press(Qt::Key_Return);
    QCOMPARE(opened.count(), 1);
    QCOMPARE(opened[0][0].value<ParamId>(), params[1]);
    // A range grows cell by cell, and Esc goes back one step at a time.
    press(Qt::Key_Right, Qt::ShiftModifier);
    press(Qt::Key_Right, Qt::ShiftModifier);
    const auto grown = m_view->viewport()->selected();
    const auto& partition = canvas()->source()->partition();
    QCOMPARE(grown.elements, (MapRange{partition.paramStart(1), partition.paramStart(3)}));
    press(Qt::Key_Escape);
    QVERIFY(m_view->viewport()->selected().isEmpty());
    QVERIFY(canvas()->marks().pinned.has_value());
    press(Qt::Key_Escape);
    QVERIFY(!canvas()->marks().pinned.has_value());
    QVERIFY(m_selection->current().isEmpty());
}

void TestMapView::keysZoomAndFit()
{
    show({.stage = 3, .ranks = 4, .params = 100});
    auto* viewport = m_view->viewport();
    const auto whole = viewport->visible();
    QCOMPARE(whole, viewport->whole());
    press(Qt::Key_W);
    press(Qt::Key_W);
    QVERIFY(viewport->visible().elements.size() < whole.elements.size() * 5 / 9);
    press(Qt::Key_D);
    press(Qt::Key_D);
    const auto moved = viewport->visible().elements.begin;
    press(Qt::Key_A);
    QVERIFY(viewport->visible().elements.begin < moved);
    press(Qt::Key_End);
    QCOMPARE(viewport->visible().elements.end, whole.elements.end);
    press(Qt::Key_0);
    QCOMPARE(viewport->visible(), whole);
    press(Qt::Key_Right);
    press(Qt::Key_Right);
    press(Qt::Key_F);
    press(Qt::Key_F);
    const auto cell = cellBlock(*canvas()->source(), *canvas()->marks().pinned);
    QVERIFY(viewport->visible().elements.size() <= cell.elements.size() * 2);
    QVERIFY(viewport->visible().contains(cell.rows.begin, cell.elements.begin));
    for (int i = 0; i < 60; ++i) {
        press(Qt::Key_W);
    }
    QVERIFY(viewport->geometry().scale().pixelsPerElement() > 24);
    for (int i = 0; i < 200; ++i) {
        press(Qt::Key_S);
    }
    QCOMPARE(viewport->visible().elements, whole.elements);
}

void TestMapView::draggedRangeAddsUp()
{
    show({.stage = 2, .ranks = 5, .shapes = kShapes});
    const auto at = [&](int x, int y) { return QPoint(x, y); };
    QTest::mousePress(canvas(), Qt::LeftButton, {}, at(120, 50));
    QTest::mouseMove(canvas(), at(200, 90));
    QTest::mouseMove(canvas(), at(431, 130));
    QTest::mouseRelease(canvas(), Qt::LeftButton, {}, at(431, 130));
    const auto block = m_view->viewport()->selected();
    QVERIFY(!block.isEmpty());
    QVERIFY(block.rows.size() > 1);
    const auto& source = *canvas()->source();
    MapQuery::Sum sum;
    std::set<uint32_t> params;
    for (uint64_t row = block.rows.begin; row < block.rows.end; ++row) {
        source.query().forEachCell(
            static_cast<uint32_t>(row), block.elements.begin, block.elements.end, [&](const MapCell& cell) {
                if (cell.kind == CellKind::Param) {
                    sum.elements += cell.end - cell.begin;
                    params.insert(index(cell.param));
                } else {
                    sum.padding += cell.end - cell.begin;
                }
                return true;
            });
    }
    sum.bytes = sum.elements * 4; // masters are stored without their padding
    sum.params = params.size();
    sum.ranks = static_cast<uint32_t>(block.rows.size());
    sum.files = sum.ranks;
    QCOMPARE(canvas()->marks().sumText, MapText::sum(sum));
}

void TestMapView::selectionElsewhereLightsTheParameter()
{
    show({.stage = 3, .ranks = 4, .shapes = kShapes});
    const auto& params = canvas()->source()->unit().params;
    for (int i = 0; i < 12; ++i) {
        press(Qt::Key_W);
    }
    m_selection->selectParam(params.back());
    QCOMPARE(canvas()->marks().param, params.back());
    const auto first = firstFragment(*canvas()->source(), params.back());
    QVERIFY(m_view->viewport()->visible().contains(first->row, first->element));
    m_selection->clear();
    QCOMPARE(canvas()->marks().param, kNoParam);
}

void TestMapView::aliasLightsItsOwner()
{
    show({.stage = 3, .ranks = 2, .shapes = kShapes, .aliases = 1});
    const auto& checkpoint = canvas()->source()->checkpoint();
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        if (checkpoint.params[i].sharedWith != kNoParam) {
            m_selection->selectParam(ParamId{i});
            QCOMPARE(canvas()->marks().param, checkpoint.params[i].sharedWith);
            return;
        }
    }
    QFAIL("the checkpoint has no alias");
}

void TestMapView::clickSetsTheSelection()
{
    show({.stage = 3, .ranks = 4, .shapes = kShapes});
    const QPoint place(300, 60);
    const auto point = canvas()->pointAt(place);
    QVERIFY(point.has_value());
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, place);
    const auto& source = *canvas()->source();
    const auto cell = source.query().cellAt(point->row, point->element);
    const auto& now = m_selection->current();
    QCOMPARE(now.param, cell.param);
    QCOMPARE(*now.rank, point->row);
    QCOMPARE(now.unit, UnitId{0});
    QVERIFY((*now.block == FlatBlock{point->row, point->row + 1, cell.begin, cell.end}));
    const auto& run = source.state().perRank[point->row];
    QCOMPARE(now.file, run.file);
    QCOMPARE(*now.byte, run.byteOffset + cell.begin * 4);
}

void TestMapView::ctrlWheelZoomsAtThePointer()
{
    show({.stage = 3, .ranks = 4, .params = 200});
    const QPointF at(640, 80);
    const auto before = canvas()->pointAt(at)->element;
    for (int i = 0; i < 8; ++i) {
        QWheelEvent wheel(at, canvas()->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier,
            Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(canvas(), &wheel);
    }
    const auto after = canvas()->pointAt(at)->element;
    const auto apart
        = static_cast<uint64_t>(20 * m_view->viewport()->geometry().scale().elementsPerPixel()) + 20;
    QVERIFY(std::max(before, after) - std::min(before, after) < apart);
    QVERIFY(m_view->viewport()->visible().elements.size() < m_view->viewport()->whole().elements.size() / 12);
}

void TestMapView::unitsAndProjectionsCanBeChosen()
{
    show({.stage = 3, .ranks = 3, .params = 30, .groups = 2, .frozen = 1});
    auto* units = m_view->findChild<QComboBox*>(QStringLiteral("mapUnit"));
    QVERIFY(units != nullptr);
    const auto sections = mapLooks(canvas()->source()->checkpoint())->sections;
    QCOMPARE(units->count(), static_cast<int>(sections.size()) + 1);
    QCOMPARE(canvas()->stack()->count(), static_cast<uint32_t>(sections.size()));
    QCOMPARE(units->currentIndex(), 0);
    for (int i = 0; i < static_cast<int>(sections.size()); ++i) {
        m_view->setUnit(sections[static_cast<size_t>(i)].units.back());
        QCOMPARE(units->currentIndex(), i + 1);
        QCOMPARE(canvas()->stack()->count(), 1U);
        for (const auto projection : {MapQuery::Projection::Unrolled, MapQuery::Projection::Partitions}) {
            m_view->setProjection(projection);
            QCOMPARE(canvas()->source()->projection(), projection);
            QCOMPARE(m_view->viewport()->whole().rows.size(),
                uint64_t{projection == MapQuery::Projection::Unrolled ? 1u : 3u});
        }
    }
    m_view->setUnit(UnitId{0});
    m_view->setState(1);
    QCOMPARE(canvas()->source()->query().stateIndex(), 1u);
    m_view->setState(99);
    QCOMPARE(canvas()->source()->query().stateIndex(), 0u);
}

void TestMapView::newSnapshotKeepsTheZoom()
{
    show({.stage = 3, .ranks = 4, .params = 60, .notYetReadRanks = {2, 3}});
    for (int i = 0; i < 6; ++i) {
        press(Qt::Key_W);
    }
    const auto visible = m_view->viewport()->visible();
    show({.stage = 3, .ranks = 4, .params = 60});
    QCOMPARE(m_view->viewport()->visible(), visible);
}

void TestMapView::emptyCheckpointIsHarmless()
{
    show({.stage = 3, .ranks = 2, .shapes = kShapes});
    press(Qt::Key_Right);
    m_view->setCheckpoint(nullptr);
    for (const int key : {Qt::Key_Right, Qt::Key_N, Qt::Key_F, Qt::Key_W, Qt::Key_0, Qt::Key_Down}) {
        press(key);
    }
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, {50, 50});
    m_view->setCheckpoint(std::make_shared<const Checkpoint>());
    QCoreApplication::processEvents();
    m_selection->clear();
    show({.stage = 1, .ranks = 1, .shapes = {{"one", {1}}}});
    press(Qt::Key_Right);
    QCOMPARE(m_selection->current().param, canvas()->source()->unit().params[0]);
}

void TestMapView::textsNameEverything()
{
    const MapSource source(test::makeSyntheticCheckpoint({.stage = 3, .ranks = 4, .shapes = kShapes}),
        {UnitId{0}, MapQuery::Projection::Partitions, 0});
    const auto tip = MapText::tooltip(source, {2, 3});
    const auto& run = source.state().perRank[2];
    const auto fileName = QString::fromStdString(source.checkpoint().file(run.file).name);
    for (const QString& part : {QStringLiteral("embed.weight"), QStringLiteral("dp 2"), fileName,
             QStringLiteral("float32"), MapText::count(run.byteOffset)}) {
        QVERIFY2(tip.contains(part), qPrintable(tip));
    }
    QCOMPARE(MapText::shortCount(1'500'000), QStringLiteral("1.5 M"));
    QCOMPARE(MapText::shortCount(2'000'000'000), QStringLiteral("2 B"));
    QCOMPARE(MapText::shortCount(1234), QStringLiteral("1.234 K"));
    QCOMPARE(MapText::shortCount(999), QStringLiteral("999"));
}

SHARDSCOPE_UI_TEST(TestMapView, WithDisplay)
#include "tst_map_view.moc"
