// SPDX-License-Identifier: Apache-2.0
// What the window keeps and what it drops: after failed opens, full screen, and clicks with other buttons.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/shortcut_sheet.h"
#include "ui/layoutmap/layout_map_view.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QMenuBar>
#include <QRegularExpression>
#include <QScreen>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QToolBar>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// A file with weights alone, without a checkpoint around it.
QString loneWeights(WindowFixture& ui)
{
    const QString folder = ui.folder(u"weights"_s);
    QDir().mkpath(folder);
    QByteArray header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    header.append(QByteArray((8 - header.size() % 8) % 8, ' '));
    QByteArray bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    bytes += header + QByteArray(8, '\0');
    QFile file(folder % u"/model.safetensors"_s);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() ? file.fileName() : QString();
}

/// The letters that open the entries of a menu, in lower case.
QString mnemonicsOf(const QList<QAction*>& actions)
{
    QString out;
    for (const QAction* action : actions) {
        QString text = action->text();
        text.remove(u"&&"_s);
        const qsizetype at = text.indexOf(u'&');
        if (!action->isSeparator() && action->isVisible() && at >= 0)
            out += text[at + 1].toLower();
    }
    return out;
}

} // namespace

class TestWindowState : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void failedOpensAreNotRecent()
    {
        WindowFixture ui;
        const QString weights = loneWeights(ui);
        QVERIFY(!weights.isEmpty());
        QVERIFY(ui.open(weights));
        QVERIFY(ui.checkpoint() != nullptr);
        const qsizetype before = ui.settings().recent().size();
        QVERIFY(ui.open(ui.folder(u"not there"_s)));
        QCOMPARE(ui.settings().recent().size(), before);
        for (const RecentEntry& entry : ui.settings().recent())
            QVERIFY2(!entry.path.contains(u"not there"_s), qUtf8Printable(entry.path));
    }

    void whatAFailedOpenWantedIsForgotten()
    {
        WindowFixture ui;
        ui.window().openPath(ui.folder(u"not there"_s));
        ui.window().showPageWhenOpen(u"files"_s);
        ui.window().selectWhenOpen(u"rank:0"_s);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint() == nullptr);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QCOMPARE(ui.find<QTabWidget>("pageTabs")->currentIndex(), 0);
        QVERIFY(ui.window().selection().current().isEmpty());
    }

    void whatIsComparedBelongsToARun()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* other = ui.find<QLineEdit>("compareOther");
        ui.window().compareWith(samplePath("zero2-w2"), false);
        QVERIFY(ui.open(samplePath("zero2-w2/global_step6")));
        QCOMPARE(other->text(), samplePath("zero2-w2")); // the same run
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QCOMPARE(other->text(), QString());
        ui.window().openPath(samplePath("zero1-w2"));
        ui.window().compareWith(samplePath("zero2-w2"), false); // meant for what is being opened
        QVERIFY(ui.settle());
        QCOMPARE(other->text(), samplePath("zero2-w2"));
    }

    void theLastTargetIsOfTheSameRun()
    {
        WindowFixture ui;
        ui.settings().setLastTarget(samplePath("zero2-w2").toStdString(), "/results");
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardTarget"_s)->text().startsWith(u"/results/"_s));
        dialog->reject();
        QVERIFY(ui.open(samplePath("zero3-w4")));
        dialog = ui.window().showReshardDialog();
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardTarget"_s)->text().startsWith(samplePath("")));
        dialog->reject();
    }

    void aLongNameLeavesRoomForTheToolBar()
    {
        WindowFixture ui;
        const QString copy = ui.folder(QString(120, u'r'));
        copiedSample("zero2-w2", copy);
        QVERIFY(ui.open(copy));
        auto* bar = ui.find<QToolBar>("mainToolBar");
        for (const int width : {1440, 900}) {
            ui.window().resize(width, 700);
            QVERIFY(ui.settle());
            for (const char* const name :
                {"actionCheckButton", "actionReshardButton", "actionExportButton"}) {
                auto* button = bar->findChild<QWidget*>(QString::fromLatin1(name));
                QVERIFY2(button != nullptr && button->isVisible(), name);
                QVERIFY(bar->rect().contains(button->geometry()));
            }
            QVERIFY(ui.find<QWidget>("breadcrumbFolder")->geometry().right() <= ui.window().width());
        }
    }

    void theWindowFitsASmallScreen()
    {
        WindowFixture ui;
        const QString copy = ui.folder(QString(120, u'r'));
        copiedSample("zero3-w4", copy);
        QVERIFY(ui.open(copy));
        QVERIFY2(ui.window().minimumSizeHint().width() <= 900,
            qUtf8Printable(QString::number(ui.window().minimumSizeHint().width())));
        QVERIFY(ui.window().minimumSizeHint().height() <= 600);
        ui.window().resize(900, 600);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QToolBar>("mainToolBar")->findChild<QWidget*>(u"actionExportButton"_s)->isVisible());
        for (const auto& [page, names] : std::initializer_list<std::pair<QString, QList<const char*>>>{
                 {u"map"_s, {"mapUnit", "mapState", "mapProjection", "mapColourMode", "mapFit"}},
                 {u"findings"_s, {"checkStart", "checkDepth", "checkErrors", "checkNotes", "checkSave"}},
                 {u"compare"_s, {"compareOther", "compareStart", "compareRtol", "comparePatternsBrowse"}}}) {
            QVERIFY(ui.window().showPage(page));
            QVERIFY(ui.settle());
            QCOMPARE(ui.window().size(), QSize(900, 600));
            for (const char* const name : names) {
                const auto* widget = ui.find<QTabWidget>("pageTabs")
                                         ->currentWidget()
                                         ->findChild<QWidget*>(QString::fromLatin1(name));
                QVERIFY2(widget != nullptr && widget->isVisible(), name);
                QVERIFY2(widget->visibleRegion().boundingRect() == widget->rect(), name);
            }
        }
    }

    void dialogsFitASmallScreen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* const sheet = new ShortcutSheet(ui.window().actionSet().all(), &ui.window());
        sheet->show();
        const QSize room = sheet->screen()->availableSize();
        QVERIFY(sheet->width() <= room.width() && sheet->height() <= room.height());
        for (QDialog* const dialog :
            QList<QDialog*>{ui.window().showReshardDialog(), ui.window().showExportDialog(), sheet}) {
            QVERIFY(dialog != nullptr);
            QVERIFY2(dialog->minimumSizeHint().width() <= 900, qUtf8Printable(dialog->objectName()));
            QVERIFY2(dialog->minimumSizeHint().height() <= 500, qUtf8Printable(dialog->objectName()));
            // As on a screen of 1366 x 768 at 150 %.
            dialog->resize(900, 480);
            QCoreApplication::processEvents();
            QCOMPARE(dialog->size(), QSize(900, 480));
            const auto* start = dialog->findChild<QDialogButtonBox*>();
            QVERIFY(start != nullptr
                && dialog->rect().contains(QRect(start->mapTo(dialog, QPoint()), start->size())));
            dialog->reject();
        }
    }

    void everyTitleNamesSomething()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QCOMPARE(ui.window().windowTitle(), u"global_step6 – zero2-w2 – Shardscope"_s);
        QVERIFY(ui.open(loneWeights(ui)));
        QVERIFY(ui.checkpoint() != nullptr);
        QCOMPARE(ui.window().windowTitle(), u"model.safetensors – Shardscope"_s);
    }

    void theApplicationIsNamedLikeItsDesktopFile()
    {
        // Wayland finds name and icon of a window by it.
        QFile source(QString::fromStdString(sourceFolder()) % u"/app/gui/main.cpp"_s);
        QVERIFY(source.open(QIODevice::ReadOnly));
        static const QRegularExpression call(u"setDesktopFileName\\(u\"([^\"]+)\""_s);
        const auto match = call.match(QString::fromUtf8(source.readAll()));
        QVERIFY(match.hasMatch());
        QVERIFY(QFile::exists(QString::fromStdString(sourceFolder()) % u"/packaging/linux/"_s
            % match.captured(1) % u".desktop"_s));
    }

    void fullScreenKeepsMaximised()
    {
        WindowFixture ui;
        auto* fullScreen = ui.find<QAction>("actionFullScreen");
        ui.window().showMaximized();
        QVERIFY(ui.window().isMaximized());
        fullScreen->trigger();
        QVERIFY(ui.window().isFullScreen());
        fullScreen->trigger();
        QVERIFY(!ui.window().isFullScreen());
        QVERIFY(ui.window().isMaximized());
        ui.window().showNormal();
        fullScreen->trigger();
        fullScreen->trigger();
        QVERIFY(!ui.window().isFullScreen());
        QVERIFY(!ui.window().isMaximized());
    }

    void otherButtonsDoNotSelect()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().showPage(u"parameters"_s);
        auto* table = ui.find<QTableView>("parameterTable");
        const auto place = [&](int row) { return table->visualRect(table->model()->index(row, 0)).center(); };
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, place(1));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, place(2));
        QVERIFY(ui.settle());
        QCOMPARE(table->currentIndex().row(), 2);
        QTest::mouseClick(table->viewport(), Qt::BackButton, {}, place(0));
        QVERIFY(ui.settle());
        QCOMPARE(table->currentIndex().row(), 1);
        QTest::mouseClick(table->viewport(), Qt::ForwardButton, {}, place(0));
        QVERIFY(ui.settle());
        QCOMPARE(table->currentIndex().row(), 2);
    }

    void textSizeFollowsTheKeys()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().showPage(u"map"_s);
        auto* gutter = ui.find<QWidget>("rankGutter");
        auto* title = ui.find<QWidget>("detailsTitle"); // bold, of the same size as all text
        const double before = gutter->fontInfo().pointSizeF();
        const int rowsBefore = ui.find<LayoutMapView>("layoutMap")->viewport()->layout().headerHeight();
        QTest::keyClick(&ui.window(), Qt::Key_Plus, Qt::ControlModifier);
        QTest::keyClick(&ui.window(), Qt::Key_Plus, Qt::ControlModifier);
        QCOMPARE(ui.settings().textSize(), 125);
        QVERIFY2(std::abs(gutter->fontInfo().pointSizeF() - 1.25 * before) < 0.3,
            qPrintable(u"%1 was %2"_s.arg(gutter->fontInfo().pointSizeF()).arg(before)));
        QVERIFY(std::abs(title->fontInfo().pointSizeF() - gutter->fontInfo().pointSizeF()) < 0.3);
        QVERIFY(ui.find<LayoutMapView>("layoutMap")->viewport()->layout().headerHeight() > rowsBefore);
        for (int i = 0; i < 12; ++i)
            QTest::keyClick(&ui.window(), Qt::Key_Minus, Qt::ControlModifier);
        QCOMPARE(ui.settings().textSize(), 70);
        QTest::keyClick(&ui.window(), Qt::Key_0, Qt::ControlModifier);
        QCOMPARE(ui.settings().textSize(), 100);
        QVERIFY(std::abs(gutter->fontInfo().pointSizeF() - before) < 0.1);
    }

    void textSizeIsStored()
    {
        WindowFixture ui;
        const double normal = ui.window().fontInfo().pointSizeF();
        ui.settings().setTextSize(150);
        {
            MainWindow again(realFilesAndSkeletons(), ui.theme(), ui.settings());
            QVERIFY(std::abs(again.fontInfo().pointSizeF() - 1.5 * normal) < 0.3);
        }
        ui.settings().setTextSize(100);
        const MainWindow last(realFilesAndSkeletons(), ui.theme(), ui.settings());
        QVERIFY(std::abs(last.fontInfo().pointSizeF() - normal) < 0.1);
    }

    void mnemonicsOfAMenuDiffer()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QList<QList<QAction*>> menus{ui.window().menuBar()->actions()};
        for (const QMenu* menu : ui.window().menuBar()->findChildren<QMenu*>())
            menus.append(menu->actions());
        QVERIFY(menus.size() > 5);
        for (const QList<QAction*>& menu : menus) {
            const QString letters = mnemonicsOf(menu);
            const QSet<QChar> different(letters.begin(), letters.end());
            QVERIFY2(different.size() == letters.size(),
                qUtf8Printable(letters % u": "_s % (menu.isEmpty() ? QString() : menu.first()->text())));
        }
    }

    void aRecentCheckpointOpensAsItWasLeft()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{3});
        QVERIFY(ui.window().showPage(u"parameters"_s));
        const std::string name = ui.checkpoint()->params[3].name;
        QVERIFY(ui.window().close());

        MainWindow next(io::realFileSystem(), ui.theme(), ui.settings());
        next.resize(1440, 900);
        next.show();
        Q_EMIT next.findChild<QMenu*>(u"recentMenu"_s)->aboutToShow();
        next.findChild<QMenu*>(u"recentMenu"_s)->actions().first()->trigger();
        QTRY_VERIFY(next.session().checkpoint() && next.isSettled());
        QCOMPARE(
            next.findChild<QTabWidget*>(u"pageTabs"_s)->currentWidget()->objectName(), u"parametersPage"_s);
        QTRY_COMPARE(next.selection().current().param, ParamId{3});
        QCOMPARE(next.session().checkpoint()->params[3].name, name);
        // What is opened by its path begins with the first page.
        next.openPath(samplePath("zero3-w4"));
        QTRY_VERIFY(next.isSettled());
    }
};

SHARDSCOPE_UI_TEST(TestWindowState, WithDisplay)
#include "tst_window_state.moc"
