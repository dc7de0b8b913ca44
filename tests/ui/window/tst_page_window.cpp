// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/shell/page_window.h"
#include "ui/widgets/filter_field.h"

#include <QAction>
#include <QLabel>
#include <QPointer>
#include <QTableView>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Opens the page in front in a window of its own, by key.
QPointer<PageWindow> openOwn(WindowFixture& ui, const QString& page)
{
    ui.window().showPage(page);
    QApplication::setActiveWindow(&ui.window());
    const auto before = ui.window().findChildren<PageWindow*>();
    QTest::keyClick(&ui.window(), Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
    for (PageWindow* window : ui.window().findChildren<PageWindow*>())
        if (!before.contains(window))
            return window;
    return nullptr;
}

} // namespace

class TestPageWindow : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyPageHasItsOwnWindow()
    {
        WindowFixture ui;
        QVERIFY(openOwn(ui, u"map"_s) == nullptr); // nothing is open
        QVERIFY(ui.open(samplePath("zero3-w4")));
        for (const QString& page : {u"overview"_s, u"map"_s, u"parameters"_s, u"files"_s}) {
            const auto window = openOwn(ui, page);
            QVERIFY2(window != nullptr, qPrintable(page));
            QVERIFY(window->isVisible() && window->isWindow());
            QCOMPARE(window->page()->objectName(), QString(page + u"Page"_s));
            QVERIFY(window->windowTitle().contains(u"global_step5"_s));
        }
        QCOMPARE(ui.window().findChildren<PageWindow*>().size(), 4);
        for (PageWindow* window : ui.window().findChildren<PageWindow*>()) {
            QApplication::setActiveWindow(window);
            QTest::keyClick(window, Qt::Key_W, Qt::ControlModifier);
        }
        QTRY_VERIFY(ui.window().findChildren<PageWindow*>().isEmpty());
        QVERIFY(ui.checkpoint() != nullptr);
    }

    void showsWhatIsSelectedAnywhere()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{2});
        const auto window = openOwn(ui, u"parameters"_s);
        QVERIFY(window->selection().current().param == ParamId{2});
        auto* table = window->page()->findChild<QTableView*>(u"parameterTable"_s);
        QTRY_VERIFY(table->model()->rowCount() > 0);
        ui.window().selection().selectParam(ParamId{5});
        QVERIFY(window->selection().current().param == ParamId{5});
        table->setCurrentIndex(table->model()->index(0, 0));
        QCOMPARE(ui.window().selection().current(), window->selection().current());
        // The filter is the window's too.
        ui.find<FilterField>("filterField")->setText(u"bias"_s);
        QVERIFY(ui.settle());
        const int rows = ui.find<ParametersPage>("parametersPage")->model()->rowCount();
        QTRY_COMPARE(table->model()->rowCount(), rows);
    }

    void keepsItsPlaceWhenPinned()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{2});
        const auto window = openOwn(ui, u"map"_s);
        auto* map = static_cast<MapPage*>(window->page())->mapView();
        QApplication::setActiveWindow(window);
        QTest::keyClick(window, Qt::Key_K, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(window->isPinned());
        ui.window().selection().selectParam(ParamId{5});
        QVERIFY(window->selection().current().param == ParamId{2});
        QVERIFY(map->canvas()->marks().param == ParamId{2});
        // Clicks in it do not change other windows.
        window->selection().selectParam(ParamId{7});
        QVERIFY(ui.window().selection().current().param == ParamId{5});
        // The same checkpoint, read again, keeps the pin.
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QVERIFY(window->isPinned());
        QVERIFY(window->selection().current().param == ParamId{7});
        window->setPinned(false);
        QVERIFY(window->selection().current().param == ParamId{5});
        // Another one does not.
        window->setPinned(true);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(!window->isPinned());
        QCOMPARE(window->selection().current(), ui.window().selection().current());
        QVERIFY(map->canvas()->source() != nullptr);
        ui.window().session().close();
        QVERIFY(map->canvas()->source() == nullptr);
    }

    void staysPinnedAfterARestart()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{2});
        const auto pinned = openOwn(ui, u"map"_s);
        pinned->setPinned(true);
        QVERIFY(openOwn(ui, u"parameters"_s) != nullptr);
        ui.window().selection().selectParam(ParamId{5});
        ui.window().close();

        Settings stored(ui.settings().folder());
        MainWindow next(realFilesAndSkeletons(), ui.theme(), stored);
        next.show();
        next.openAgain(stored.opened());
        QTRY_COMPARE_WITH_TIMEOUT(next.findChildren<PageWindow*>().size(), 2, 30'000);
        QTRY_VERIFY(next.isSettled());
        QTRY_VERIFY(next.selection().current().param == ParamId{5});
        for (PageWindow* window : next.findChildren<PageWindow*>()) {
            const bool isMap = window->pageName() == "map"_L1;
            QCOMPARE(window->isPinned(), isMap);
            QVERIFY(window->selection().current().param == (isMap ? ParamId{2} : ParamId{5}));
        }
    }

    void closesWithTheWindow()
    {
        QPointer<PageWindow> window;
        {
            WindowFixture ui;
            QVERIFY(ui.open(samplePath("zero3-w4")));
            ui.window().selection().selectParam(ParamId{2});
            window = openOwn(ui, u"map"_s);
            QVERIFY(window != nullptr);
            QVERIFY(openOwn(ui, u"files"_s) != nullptr);
        }
        QVERIFY(window == nullptr);
    }
};

SHARDSCOPE_UI_TEST(TestPageWindow, WithDisplay)
#include "tst_page_window.moc"
