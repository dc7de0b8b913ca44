// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"

#include <QAccessible>
#include <QAccessibleInterface>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

/// The map's accessible interface.
class TestMapAccessible : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void screenReadersAreToldWhatIsShown()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("pipeline-w4")) && ui.window().showPage(u"map"_s) && ui.settle());
        auto* map = ui.find<LayoutMapView>("layoutMap");
        QVERIFY(map != nullptr);
        MapCanvas* canvas = map->canvas();
        QAccessibleInterface* whole = QAccessible::queryAccessibleInterface(canvas);
        QVERIFY(whole != nullptr && whole->isValid());
        QCOMPARE(whole->role(), QAccessible::Chart);
        QCOMPARE(whole->text(QAccessible::Name), u"Partition map"_s);
        QVERIFY2(whole->text(QAccessible::Description).contains(u"state fp32 · 5 sections"_s),
            qPrintable(whole->text(QAccessible::Description)));
        QCOMPARE(whole->childCount(), 5);
        QAccessibleInterface* section = whole->child(1);
        QVERIFY2(section->text(QAccessible::Name)
                     .startsWith(u"Group 1, norms and biases without decay · pp 0 ×14"_s),
            qPrintable(section->text(QAccessible::Name)));
        QVERIFY(section->text(QAccessible::Description).contains(u"8 parameters"_s));
        QVERIFY2(section->text(QAccessible::Value).startsWith(u"dp 0 to dp 1, elements 0 to "_s),
            qPrintable(section->text(QAccessible::Value)));
        QCOMPARE(whole->indexOfChild(section), 1);
        QVERIFY(section->parent() == whole);
        QVERIFY(section->state().expanded);
        QVERIFY(!section->rect().isEmpty());
        QVERIFY(whole->childAt(section->rect().center().x(), section->rect().center().y()) == section);
        // The focused cell, by a key.
        canvas->setFocus();
        QTest::keyClick(canvas, Qt::Key_Period);
        QVERIFY(canvas->marks().pinned.has_value());
        QCOMPARE(whole->childCount(), 6);
        QAccessibleInterface* cell = whole->child(5);
        QVERIFY(cell->state().focused);
        QVERIFY(whole->focusChild() == cell);
        const QString words = cell->text(QAccessible::Name);
        QCOMPARE(words,
            MapText::sentence(canvas->stack()->sourceAt(*canvas->marks().pinned), *canvas->marks().pinned));
        QCOMPARE(whole->text(QAccessible::Value), words);
        // A selected range, by the mouse.
        const MapLayout& layout = map->viewport()->layout();
        const auto y = static_cast<int>(layout.bodyTop(0) + 10);
        QTest::mousePress(canvas, Qt::LeftButton, {}, {20, y});
        QTest::mouseMove(canvas, {200, y});
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, {200, y});
        QVERIFY(!map->viewport()->selected().isEmpty());
        QAccessibleInterface* selected = whole->child(whole->childCount() - 1);
        QVERIFY(selected->state().selected);
        QVERIFY2(selected->text(QAccessible::Name).startsWith(u"dp 0, elements "_s),
            qPrintable(selected->text(QAccessible::Name)));
        QVERIFY(selected->text(QAccessible::Value).contains(u"elements"_s));
        // Folded sections say so.
        map->viewport()->setFolded(1, true);
        QVERIFY(whole->child(1)->state().collapsed);
        QCOMPARE(whole->child(1)->text(QAccessible::Value), u"not on screen"_s);
    }

    void buffersAreCalledSo()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")) && ui.window().showPage(u"map"_s));
        ui.window().selection().selectParam(*ui.checkpoint()->findParam("batches_seen"));
        QVERIFY(ui.settle());
        const auto* map = ui.find<LayoutMapView>("layoutMap");
        const MapStackPtr stack = map->canvas()->stack();
        int found = 0;
        for (uint32_t section = 0; section < stack->count(); ++section) {
            if (!MapText::sectionName(stack->source(section)).startsWith(u"Buffers"_s))
                continue;
            ++found;
            const QString facts = MapText::sectionFacts(stack->source(section));
            QVERIFY2(facts.contains(u"buffer"_s) && !facts.contains(u"parameter"_s), qPrintable(facts));
        }
        QCOMPARE(found, 1);
    }
};

SHARDSCOPE_UI_TEST(TestMapAccessible, WithDisplay)
#include "tst_map_accessible.moc"
