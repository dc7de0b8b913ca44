// SPDX-License-Identifier: Apache-2.0
// Tab goes through everything that is seen on a page or in a dialog, once, in the order in which it is read.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/pages/page.h"

#include <QAction>
#include <QApplication>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QTextBrowser>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QString nameOf(const QWidget* widget)
{
    const QString name = widget->objectName().isEmpty() ? widget->accessibleName() : widget->objectName();
    return QString::fromLatin1(widget->metaObject()->className()) % u' ' % name;
}

bool takesTab(const QWidget* widget)
{
    return widget->isVisible() && widget->isEnabled()
        && (widget->focusPolicy() & Qt::TabFocus) == Qt::TabFocus && widget->focusProxy() == nullptr;
}

/// What Tab reaches from a widget until it is there again.
QList<QWidget*> cycleFrom(QWidget* first)
{
    QList<QWidget*> order;
    first->setFocus(Qt::TabFocusReason);
    for (int i = 0; i < 400; ++i) {
        QWidget* now = QApplication::focusWidget();
        if (now == nullptr || (i > 0 && now == order.first()))
            break;
        // In a text, Tab goes from link to link first.
        if (order.isEmpty() || order.last() != now || qobject_cast<QTextBrowser*>(now) == nullptr)
            order.append(now);
        QTest::keyClick(now, Qt::Key_Tab);
    }
    return order;
}

/// Whether `b` is read before `a`: above it without being at its right, or at its left in the same line.
bool isBefore(const QWidget* b, const QWidget* a, const QWidget* within)
{
    if (a->isAncestorOf(b))
        return false; // a scroll area, whose content may be scrolled out above it
    const auto rect = [within](const QWidget* widget) {
        return QRect(widget->mapTo(within, QPoint(0, 0)), widget->size());
    };
    const QRect first = rect(a);
    const QRect second = rect(b);
    const bool isAbove = second.bottom() <= first.top() && second.left() < first.right();
    const int shared = std::min(first.bottom(), second.bottom()) - std::max(first.top(), second.top());
    const bool isLeft
        = second.right() <= first.left() && 2 * shared > std::min(first.height(), second.height());
    return isAbove || isLeft;
}

} // namespace

class TestFocusOrder : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void pages_data()
    {
        QTest::addColumn<QString>("page");
        for (const PageEntry& page : pageList())
            QTest::newRow(qPrintable(page.name)) << page.name;
    }

    void pages()
    {
        QFETCH(QString, page);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        if (page == "files"_L1) // its records are there from the start: Tab in other panels selects a file
            ui.window().selection().selectFile(FileId{0});
        else
            ui.window().selection().selectParam(ParamId{1});
        QVERIFY(ui.window().showPage(page));
        QVERIFY(ui.settle());
        auto* tabs = ui.find<QTabWidget>("pageTabs");
        QList<QWidget*> order = cycleFrom(tabs->tabBar());
        QWidget* shown = tabs->currentWidget();
        order.removeIf([shown](const QWidget* widget) { return !shown->isAncestorOf(widget); });
        check(shown, order);
    }

    void dialogs_data()
    {
        QTest::addColumn<QString>("action");
        for (const QString& name : {u"actionReshard"_s, u"actionExport"_s, u"actionSettings"_s,
                 u"actionShortcuts"_s, u"actionManual"_s, u"actionAbout"_s})
            QTest::newRow(qPrintable(name)) << name;
    }

    void dialogs()
    {
        QFETCH(QString, action);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QWidgetList before = QApplication::topLevelWidgets();
        auto* trigger = ui.window().findChild<QAction*>(action);
        QVERIFY2(trigger != nullptr, qPrintable(action));
        trigger->trigger();
        QWidget* dialog = nullptr;
        QTRY_VERIFY([&] {
            for (QWidget* each : QApplication::topLevelWidgets())
                if (each->isVisible() && !before.contains(each))
                    dialog = each;
            return dialog != nullptr;
        }());
        if (auto* reshard = qobject_cast<ReshardDialog*>(dialog))
            QTRY_VERIFY_WITH_TIMEOUT(reshard->preview().plan != nullptr, 30'000);
        if (auto* exporting = qobject_cast<ExportDialog*>(dialog))
            QTRY_VERIFY_WITH_TIMEOUT(exporting->preview().plan != nullptr, 30'000);
        dialog->activateWindow();
        QApplication::setActiveWindow(dialog);
        QCoreApplication::processEvents();
        QWidget* first = nullptr;
        for (QWidget* each : dialog->findChildren<QWidget*>())
            if (takesTab(each) && (first == nullptr || isBefore(each, first, dialog)))
                first = each;
        QVERIFY(first != nullptr);
        check(dialog, cycleFrom(first));
        dialog->close();
    }

private:
    static void check(const QWidget* within, const QList<QWidget*>& order)
    {
        QStringList names;
        for (const QWidget* widget : order)
            names.append(nameOf(widget));
        const QString all = names.join(u"\n  "_s);
        const QSet<QWidget*> reached(order.begin(), order.end());
        QVERIFY2(reached.size() == order.size(), qPrintable(u"twice:\n  "_s % all));
        for (QWidget* widget : within->findChildren<QWidget*>())
            if (takesTab(widget) && widget->window() == within->window())
                QVERIFY2(reached.contains(widget), qPrintable(nameOf(widget) % u" is not in\n  "_s % all));
        for (qsizetype i = 1; i < order.size(); ++i)
            QVERIFY2(!isBefore(order[i], order[i - 1], within),
                qPrintable(nameOf(order[i]) % u" after "_s % nameOf(order[i - 1]) % u" in\n  "_s % all));
    }
};

SHARDSCOPE_UI_TEST(TestFocusOrder, WithDisplay)
#include "tst_focus_order.moc"
