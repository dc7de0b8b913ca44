// SPDX-License-Identifier: Apache-2.0
// The window without a mouse: panes, pages, filter chips, places on the map.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_pinned_rows.h"
#include "ui/models/parameters/fuzzy.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/start_page.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_chips.h"
#include "ui/widgets/filter_field.h"

#include <QAction>
#include <QListWidget>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QTreeView>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QWidget* framed(WindowFixture& ui)
{
    auto* frame = ui.find<QWidget>("focusFrame");
    return frame != nullptr ? frame->parentWidget() : nullptr;
}

} // namespace

class TestKeyboard : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyPageTakesTheFocus()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        for (int page = 0; page < 6; ++page) {
            QTest::keyClick(&ui.window(), static_cast<Qt::Key>(Qt::Key_1 + page), Qt::ControlModifier);
            QVERIFY(ui.settle());
            QWidget* shown = ui.find<QTabWidget>("pageTabs")->currentWidget();
            QVERIFY2(
                QApplication::focusWidget() != nullptr && shown->isAncestorOf(QApplication::focusWidget()),
                qPrintable(shown->objectName()));
            // A field shows its focus by itself.
            if (qobject_cast<QLineEdit*>(QApplication::focusWidget()) == nullptr)
                QCOMPARE(framed(ui), QApplication::focusWidget());
        }
    }

    void panesInTurn()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"parameters"_s);
        QVERIFY(ui.settle());
        ui.find<QTableView>("parameterTable")->setFocus(Qt::MouseFocusReason);
        QVERIFY(framed(ui) == nullptr);
        QTest::keyClick(&ui.window(), Qt::Key_F6);
        QVERIFY(ui.find<QWidget>("detailsPanel")->isAncestorOf(QApplication::focusWidget()));
        QTest::keyClick(&ui.window(), Qt::Key_F6);
        QCOMPARE(QApplication::focusWidget(), ui.find<QTreeView>("explorerTree"));
        QTest::keyClick(&ui.window(), Qt::Key_F6);
        QCOMPARE(QApplication::focusWidget(), ui.find<QTableView>("parameterTable"));
        QCOMPARE(framed(ui), ui.find<QTableView>("parameterTable"));
        QTest::keyClick(&ui.window(), Qt::Key_F6, Qt::ShiftModifier);
        QCOMPARE(QApplication::focusWidget(), ui.find<QTreeView>("explorerTree"));
    }

    void tabReachesEveryControl()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{1});
        for (const QString& page : {u"overview"_s, u"map"_s, u"parameters"_s, u"files"_s}) {
            QVERIFY(ui.window().showPage(page));
            QVERIFY(ui.settle());
            ui.find<QTreeView>("explorerTree")->setFocus(Qt::TabFocusReason);
            QSet<const QWidget*> reached;
            for (int i = 0; i < 200; ++i) {
                reached.insert(QApplication::focusWidget());
                QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
            }
            const QWidget* shown = ui.find<QTabWidget>("pageTabs")->currentWidget();
            // From the tabs into the page, not past it.
            ui.find<QTabWidget>("pageTabs")->tabBar()->setFocus(Qt::TabFocusReason);
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
            QVERIFY2(shown->isAncestorOf(QApplication::focusWidget()),
                qPrintable(page + u": "_s + QApplication::focusWidget()->objectName()));
            for (const QWidget* widget : shown->findChildren<QWidget*>())
                if (widget->isVisible() && widget->isEnabled() && (widget->focusPolicy() & Qt::TabFocus) != 0
                    && widget->focusProxy() == nullptr)
                    QVERIFY2(reached.contains(widget), qPrintable(page + u": "_s + widget->objectName()));
        }
    }

    void fuzzyPrefersWhatPeopleMean()
    {
        const auto score = [](const char* typed, const char* text) { return fuzzyScore(typed, text); };
        QVERIFY(score("xyz", "layers.0.wq") < 0);
        QVERIFY(score("wq", "layers.0.wq") > score("wq", "layers.0.wkaq"));
        QVERIFY(score("norm", "norm.weight") > score("norm", "abnormal"));
        QVERIFY(score("l0wq", "layers.0.wq") > score("l0wq", "layers.10.attention.wkqweightq"));
        QVERIFY(score("bias mlp", "layers.0.mlp.bias") >= 0);
        QVERIFY(score("bias mlp", "layers.0.mlp.weight") < 0);
        QVERIFY(score("wq", "wq") > score("wq", "a.very.long.name.that.ends.in.wq"));
        QVERIFY(score("", "anything") >= 0);
        QVERIFY(score("a", "") < 0);
        QCOMPARE(fuzzyLetters("wq", "layers.0.wq"), (std::vector<size_t>{9, 10}));
        QCOMPARE(fuzzyLetters("l0 wq", "layers.0.wq"), (std::vector<size_t>{0, 7, 9, 10}));
    }

    void chipsAreTheFilter()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"parameters"_s);
        auto* field = ui.find<FilterField>("filterField");
        auto* page = ui.find<ParametersPage>("parametersPage");
        auto* chips = page->findChild<FilterChips*>();
        const auto visibleChips = [&] {
            QList<QPushButton*> list;
            for (auto* chip : chips->findChildren<QPushButton*>(u"filterChip"_s))
                if (chip->isVisible())
                    list.append(chip);
            return list;
        };
        QVERIFY(!chips->isVisible());
        field->setText(u"layer:0 bias size>1"_s);
        QVERIFY(ui.settle());
        QCOMPARE(chips->words(), (QStringList{u"layer:0"_s, u"bias"_s, u"size>1"_s}));
        QCOMPARE(visibleChips().size(), 4); // three and "Clear all"
        const int narrow = page->model()->rowCount();
        visibleChips()[1]->click();
        QVERIFY(ui.settle());
        QCOMPARE(field->text(), u"layer:0 size>1"_s);
        QVERIFY(page->model()->rowCount() > narrow);
        QTest::keyClick(field, Qt::Key_Escape);
        QCOMPARE(field->text(), u"layer:0"_s);
        QVERIFY(ui.settle());
        QCOMPARE(visibleChips().size(), 1);
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(ui.settle());
        QVERIFY(field->text().isEmpty() && !chips->isVisible());
        field->setText(u"/a b|c/"_s);
        QCOMPARE(chips->words(), QStringList{u"/a b|c/"_s});
    }

    void whatTheFilterFoundIsLitOnTheMap()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* map = ui.find<LayoutMapView>("layoutMap");
        QVERIFY(map->canvas()->mapStyle().lit == nullptr);
        auto* field = ui.find<FilterField>("filterField");
        field->setText(u"lm_head"_s);
        QVERIFY(ui.settle());
        const ParamMarks lit = map->canvas()->mapStyle().lit;
        QVERIFY(lit != nullptr);
        for (uint32_t i = 0; i < ui.checkpoint()->params.size(); ++i) {
            // lm_head.weight is stored as its tied parameter, which is highlighted instead.
            const std::string& name = ui.checkpoint()->params[i].name;
            const bool wanted = name.find("lm_head") != std::string::npos || name == "tok_embeddings.weight";
            QVERIFY2(isMarked(lit, ParamId{i}) == wanted, name.c_str());
        }
        field->setText(u"/(/"_s); // a filter that is not understood dims nothing
        QVERIFY(ui.settle());
        QVERIFY(map->canvas()->mapStyle().lit == nullptr);
        field->setText(u"bias"_s);
        QVERIFY(ui.settle());
        QVERIFY(map->canvas()->mapStyle().lit != nullptr);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(map->canvas()->mapStyle().lit == nullptr);
    }

    void placesOnTheMap()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        auto* map = ui.find<LayoutMapView>("layoutMap");
        const auto press = [&](Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
            QTest::keyClick(map->canvas(), key, modifiers);
        };
        press(Qt::Key_Down);
        press(Qt::Key_Down);
        const auto first = *map->canvas()->marks().pinned;
        QCOMPARE(first.row, 1U);
        press(Qt::Key_P);
        QCOMPARE(map->pinnedRows().rows(), (std::vector<MapSource::Point>{{1, 0, 0}}));
        QVERIFY(map->pinnedRows().isVisible());
        press(Qt::Key_M);
        QCOMPARE(map->canvas()->marks().dropped.size(), 1U);
        press(Qt::Key_Right);
        press(Qt::Key_Right);
        press(Qt::Key_Down);
        press(Qt::Key_M);
        const auto second = *map->canvas()->marks().pinned;
        QCOMPARE(map->canvas()->marks().dropped.size(), 2U);
        press(Qt::Key_M, Qt::ShiftModifier); // past the last one: the first again
        QCOMPARE(map->canvas()->marks().pinned->row, first.row);
        QCOMPARE(map->canvas()->marks().pinned->element, first.element);
        press(Qt::Key_M, Qt::ShiftModifier);
        QCOMPARE(map->canvas()->marks().pinned->element, second.element);
        // Marks stay where they are when all ranks become one line.
        press(Qt::Key_U);
        QCOMPARE(map->projection(), MapQuery::Projection::Unrolled);
        const uint64_t length = map->canvas()->source()->partition().partitionElements();
        QCOMPARE(map->canvas()->marks().dropped[0].element, length + first.element);
        QVERIFY(!map->pinnedRows().isVisible());
        press(Qt::Key_P);
        QVERIFY(map->pinnedRows().rows().empty());
        press(Qt::Key_U);
        QVERIFY(map->showsFiles());
        press(Qt::Key_U);
        QVERIFY(!map->showsFiles());
        QCOMPARE(map->projection(), MapQuery::Projection::Partitions);
        press(Qt::Key_M, Qt::ShiftModifier);
        press(Qt::Key_M); // takes it up again
        QCOMPARE(map->canvas()->marks().dropped.size(), 1U);
        for (int i = 0; i < 4; ++i) {
            press(Qt::Key_P);
            press(Qt::Key_Up);
        }
        QVERIFY(!map->pinnedRows().rows().empty());
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(map->canvas()->marks().dropped.empty());
        QVERIFY(!map->pinnedRows().isVisible());
    }

    void recentListByKey()
    {
        WindowFixture ui;
        ui.settings().remember({{u"/a"_s}, u"one"_s, 1, 1, QDateTime::currentDateTime(), false});
        ui.settings().remember({{u"/b"_s}, u"two"_s, 1, 1, QDateTime::currentDateTime().addDays(-1), false});
        auto* list = ui.find<StartPage>("startPage")->recentList();
        QTRY_COMPARE(list->count(), 2);
        list->setFocus();
        list->setCurrentRow(1);
        QTest::keyClick(list, Qt::Key_P);
        QVERIFY(ui.settings().recent().first().pinned);
        QCOMPARE(ui.settings().recent().first().path, u"/b"_s);
        QCOMPARE(list->currentRow(), 0); // pinned ones are first, and it is still the current one
        QTest::keyClick(list, Qt::Key_Delete);
        QCOMPARE(ui.settings().recent().size(), 1);
        QCOMPARE(ui.settings().recent().first().path, u"/a"_s);
    }
};

SHARDSCOPE_UI_TEST(TestKeyboard, WithDisplay)
#include "tst_keyboard.moc"
