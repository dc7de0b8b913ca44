// SPDX-License-Identifier: Apache-2.0
// The sheet of keys is complete: it has every key of an action, and every key that a view takes by itself.
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/shortcut_sheet.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/shell/page_window.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/histogram_view.h"
#include "ui/tensorview/line_chart.h"
#include "ui/tensorview/tensor_grid.h"

#include <QAction>
#include <QKeyEvent>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QShortcut>
#include <QTabWidget>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// The keys of a list of the sheet; of all of them if it is not named.
QSet<QString> keysOn(const ShortcutSheet& sheet, const QString& list = {})
{
    QSet<QString> keys;
    for (const QLabel* label : sheet.findChildren<QLabel*>(u"shortcutKeys"_s)) {
        if (!list.isEmpty() && label->property("list").toString() != list)
            continue;
        // "Ctrl+Wheel,  W   S": a comma and two spaces, or two spaces, are between keys.
        static const QRegularExpression between(u",?\\s{2,}"_s);
        for (const QString& key : label->text().split(between, Qt::SkipEmptyParts)) {
            keys.insert(key);
            for (const QString& arrows : {u"Arrows"_s, u"Shift+Arrows"_s})
                if (key == arrows)
                    for (const QString& arrow : {u"Left"_s, u"Right"_s, u"Up"_s, u"Down"_s})
                        keys.insert(arrows.chopped(6) + arrow);
        }
        if (label->text().contains(u",  ,  "_s))
            keys.insert(u","_s);
    }
    return keys;
}

/// Sees the keys that a view does not take: they go to its parent.
class LeftOver : public QObject
{
public:
    explicit LeftOver(QWidget* parent) { parent->installEventFilter(this); }
    bool any = false;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        any = any || event->type() == QEvent::KeyPress;
        return QObject::eventFilter(watched, event);
    }
};

/// Keys that the view takes for itself.
QStringList keysOf(QWidget* view, Qt::KeyboardModifiers modifiers)
{
    QList<Qt::Key> keys{Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down, Qt::Key_Home, Qt::Key_End,
        Qt::Key_PageUp, Qt::Key_PageDown, Qt::Key_Enter, Qt::Key_Delete, Qt::Key_Insert, Qt::Key_Backspace,
        Qt::Key_BracketLeft, Qt::Key_BracketRight, Qt::Key_Comma, Qt::Key_Period, Qt::Key_Plus, Qt::Key_Minus,
        Qt::Key_Slash, Qt::Key_Equal};
    for (int key = Qt::Key_0; key <= Qt::Key_9; ++key)
        keys.append(static_cast<Qt::Key>(key));
    for (int key = Qt::Key_A; key <= Qt::Key_Z; ++key)
        keys.append(static_cast<Qt::Key>(key));
    QStringList taken;
    LeftOver leftOver(view->parentWidget());
    for (const Qt::Key key : keys) {
        view->setFocus();
        leftOver.any = false;
        QKeyEvent event(QEvent::KeyPress, key, modifiers);
        QCoreApplication::sendEvent(view, &event);
        if (event.isAccepted() && !leftOver.any)
            taken.append(QKeySequence(QKeyCombination(modifiers, key)).toString(QKeySequence::NativeText));
    }
    return taken;
}

} // namespace

class TestShortcutSheet : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void hasEveryAction()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().openPageWindow() != nullptr);
        const ShortcutSheet sheet(ui.window().actionSet().all());
        const QSet<QString> keys = keysOn(sheet);
        int seen = 0;
        for (const QAction* action : ui.window().findChildren<QAction*>()) {
            for (const QKeySequence& sequence : action->shortcuts()) {
                const QString name = sequence.toString(QKeySequence::NativeText);
                QVERIFY2(keys.contains(name), qPrintable(name % u" of "_s % action->text()));
                ++seen;
            }
        }
        QVERIFY(seen > 30);
        for (const QShortcut* shortcut : ui.window().findChildren<QShortcut*>()) {
            const QString name = shortcut->key().toString(QKeySequence::NativeText);
            QVERIFY2(keys.contains(name), qPrintable(name));
        }
    }

    /// What does not fit is in a second line.
    void hasNoSidewaysBar()
    {
        WindowFixture ui;
        ShortcutSheet sheet(ui.window().findChildren<QAction*>());
        sheet.resize(800, 600);
        sheet.show();
        QVERIFY(QTest::qWaitForWindowExposed(&sheet));
        const auto* area = sheet.findChild<QScrollArea*>();
        QCOMPARE(area->horizontalScrollBar()->maximum(), 0);
        for (const QLabel* text : sheet.findChildren<QLabel*>(u"shortcutText"_s))
            QVERIFY2(text->height() >= text->heightForWidth(text->width()), qPrintable(text->text()));
    }

    void hasEveryKeyOfTheMap()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"map"_s));
        QVERIFY(ui.settle());
        auto* map = ui.find<LayoutMapView>("layoutMap");
        QTest::keyClick(map->canvas(), Qt::Key_Down); // a place for keys that need one
        check(ui, map->canvas(), {}, u"Partition map"_s, 20);
        check(ui, map->canvas(), Qt::ShiftModifier, u"Partition map"_s, 8);
    }

    void hasEveryKeyOfATensor()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* grid = ui.find<TensorGrid>("tensorGrid");
        check(ui, grid, {}, u"Values and bytes"_s, 8);
        check(ui, grid, Qt::ShiftModifier, u"Values and bytes"_s, 4);
        check(ui, ui.find<HeatMap>("heatMap"), {}, u"Heat map"_s, 9);
        check(ui, ui.find<HistogramView>("histogram"), {}, u"Histogram"_s, 2);
        check(ui, ui.find<HistogramView>("histogram"), Qt::ShiftModifier, u"Histogram"_s, 2);
        auto* hex = ui.find<HexView>("tensorHex");
        ui.find<QTabWidget>("tensorViews")->setCurrentWidget(hex);
        check(ui, hex, {}, u"Values and bytes"_s, 8);
        QVERIFY(showTensor(ui, "norm.weight", "fp32"));
        check(ui, ui.find<LineChart>("lineChart"), {}, u"Line of a vector"_s, 14);
    }

private:
    /// `least`: so many keys are known to be taken, so that the test is one.
    static void check(
        WindowFixture& ui, QWidget* view, Qt::KeyboardModifiers modifiers, const QString& list, int least)
    {
        const ShortcutSheet sheet(ui.window().actionSet().all());
        QSet<QString> keys = keysOn(sheet, list);
        // With Shift, what goes to the ends or by a page extends the selection, as arrows do.
        for (const QString& far : {u"Home"_s, u"End"_s, u"PgUp"_s, u"PgDown"_s})
            if (keys.contains(far))
                keys.insert(u"Shift+"_s + far);
        const QStringList taken = keysOf(view, modifiers);
        for (const QString& key : taken) {
            const bool sameWithShift
                = (modifiers & Qt::ShiftModifier) != 0 && keys.contains(QString(key).remove(u"Shift+"_s));
            QVERIFY2(keys.contains(key) || sameWithShift, qPrintable(list % u" has no "_s % key));
        }
        QVERIFY2(taken.size() >= least, qPrintable(list % u": "_s % taken.join(u' ')));
    }
};

SHARDSCOPE_UI_TEST(TestShortcutSheet, WithDisplay)
#include "tst_shortcut_sheet.moc"
