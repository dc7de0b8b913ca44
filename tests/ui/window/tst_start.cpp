// SPDX-License-Identifier: Apache-2.0
// The first start, and what comes back at the next one.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/settings_dialog.h"
#include "ui/pages/start_page.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/drop_overlay.h"
#include "ui/shell/missed_list.h"
#include "ui/shell/page_window.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTest>
#include <QTextBrowser>

#include <ctime>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;
namespace fs = std::filesystem;

namespace {

/// Drags these paths into the window; drops them if `isDropped`, else leaves it.
void drag(MainWindow& window, const QStringList& paths, bool isDropped)
{
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& path : paths)
        urls.append(QUrl::fromLocalFile(path));
    data.setUrls(urls);
    QDragEnterEvent enter({300, 300}, Qt::LinkAction | Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &enter);
    if (isDropped) {
        QDropEvent drop({300, 300}, Qt::LinkAction | Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &drop);
    } else {
        QDragLeaveEvent leave;
        QCoreApplication::sendEvent(&window, &leave);
    }
}

QDialog* dialogOf(MainWindow& window, const char* name)
{
    return window.findChild<QDialog*>(QString::fromLatin1(name));
}

} // namespace

class TestStart : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theSampleOpensReadOnly()
    {
        WindowFixture ui;
        QVERIFY(!ui.find<QLabel>("startSentence")->text().isEmpty());
        auto* button = ui.find<QPushButton>("sampleButton");
        QVERIFY(button->isVisible());
        for (int time = 0; time < 2; ++time) { // unpacked once
            button->click();
            QTRY_VERIFY_WITH_TIMEOUT(ui.checkpoint() != nullptr && ui.checkpoint()->fullyRead, 30'000);
            QVERIFY(ui.checkpoint()->kind == CheckpointKind::Zero3);
            QVERIFY(ui.checkpoint()->complete);
            for (const CheckpointFile& file : ui.checkpoint()->files)
                QVERIFY(
                    !(QFile::permissions(QString::fromStdString(file.path.native())) & QFile::WriteOwner));
            QVERIFY(ui.settle());
            ui.window().session().close();
        }
        const QStringList left = QDir(ui.folder(u"sample"_s)).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
        QCOMPARE(left, QStringList{u"zero3-w4"_s}); // nothing half unpacked
    }

    void aSampleThatCannotBeUnpackedSaysWhy()
    {
        WindowFixture ui;
        QFile inTheWay(ui.folder(u"sample"_s));
        QVERIFY(inTheWay.open(QIODevice::WriteOnly));
        ui.find<QPushButton>("sampleButton")->click();
        QTRY_VERIFY(!ui.find<StartPage>("startPage")->messageBar()->isHidden());
        QVERIFY(ui.find<StartPage>("startPage")->messageBar()->text().contains(u"cannot be unpacked"_s));
    }

    void whatWasOpenComesBack()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.find<FilterField>("filterField")->setText(u"mlp"_s);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().selection().selectParam(ParamId{2});
        const std::string selected = ui.checkpoint()->params[2].name;
        ui.window().showPage(PageId::Tensor);
        QVERIFY(ui.settle());
        ui.window().close();
        QCOMPARE(ui.settings().opened().size(), 2);

        Settings again(ui.settings().folder());
        MainWindow next(realFilesAndSkeletons(), ui.theme(), again);
        next.show();
        next.openAgain(again.opened());
        auto* tabs = next.findChild<CheckpointBar*>();
        QTRY_COMPARE_WITH_TIMEOUT(tabs->count(), 2, 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(next.isSettled() && next.session().checkpoint()->fullyRead, 30'000);
        QVERIFY(next.session().checkpoint()->kind == CheckpointKind::Zero2);
        QCOMPARE(
            next.findChild<QTabWidget*>(u"pageTabs"_s)->currentIndex(), static_cast<int>(PageId::Tensor));
        QTRY_VERIFY(next.selection().current().param != kNoParam);
        QCOMPARE(next.session().checkpoint()->params[index(next.selection().current().param)].name, selected);
        tabs->setCurrentIndex(0);
        QTRY_VERIFY(next.session().checkpoint()->kind == CheckpointKind::Zero3);
        QTRY_COMPARE(next.findChild<FilterField*>()->text(), u"mlp"_s);
    }

    void furtherFoldersComeBack()
    {
        WindowFixture ui;
        const fs::path first = copiedSample("zero3-w4", ui.folder(u"first"_s)).toStdString();
        const fs::path second = ui.folder(u"second"_s).toStdString();
        fs::create_directories(second / "global_step5");
        std::vector<fs::path> moved;
        for (const auto& entry : fs::directory_iterator(first / "global_step5")) {
            if (entry.path().filename().string().find("pp_rank_2") != std::string::npos)
                moved.push_back(entry.path());
        }
        for (const fs::path& file : moved)
            fs::rename(file, second / "global_step5" / file.filename());
        QVERIFY(ui.open(QString::fromStdString(first.string())));
        QVERIFY(!ui.checkpoint()->complete);
        ui.window().session().addFolder(second);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->complete);
        ui.window().close();

        Settings again(ui.settings().folder());
        MainWindow next(realFilesAndSkeletons(), ui.theme(), again);
        next.show();
        next.openAgain(again.opened());
        QTRY_VERIFY_WITH_TIMEOUT(next.isSettled() && next.session().checkpoint(), 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(next.session().checkpoint()->fullyRead, 30'000);
        QVERIFY(next.session().checkpoint()->complete);
        QCOMPARE(next.session().roots(), std::vector<io::Path>{second});
    }

    void windowsOfTheirOwnComeBack()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(PageId::Map);
        PageWindow* page = ui.window().openPageWindow();
        page->resize(700, 500);
        MainWindow* second = ui.window().openNewWindow();
        second->openPath(samplePath("zero2-w2"));
        QTRY_VERIFY_WITH_TIMEOUT(second->session().checkpoint() && second->isSettled(), 30'000);
        QVERIFY(ui.settle());
        ui.window().actionSet()[ActionId::Quit]->trigger();
        QVERIFY(!ui.window().isVisible());
        QCOMPARE(ui.settings().opened().size(), 2);

        Settings again(ui.settings().folder());
        MainWindow next(realFilesAndSkeletons(), ui.theme(), again);
        next.show();
        next.openAgain(again.opened());
        QTRY_VERIFY_WITH_TIMEOUT(next.session().checkpoint() && next.isSettled(), 30'000);
        QVERIFY(next.session().checkpoint()->kind == CheckpointKind::Zero3);
        QTRY_VERIFY(next.findChild<PageWindow*>() != nullptr);
        QCOMPARE(next.findChild<PageWindow*>()->pageName(), u"map"_s);
        QCOMPARE(next.findChild<PageWindow*>()->size(), QSize(700, 500));
        MainWindow* other = nullptr;
        for (QWidget* widget : QApplication::topLevelWidgets()) {
            auto* window = qobject_cast<MainWindow*>(widget);
            if (window != nullptr && window != &next && window->isVisible())
                other = window;
        }
        QVERIFY(other != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(other->session().checkpoint() && other->isSettled(), 30'000);
        QVERIFY(other->session().checkpoint()->kind == CheckpointKind::Zero2);
        const QPointer<MainWindow> closed = other;
        other->close();
        QTRY_VERIFY(closed.isNull());
    }

    /// It stays as an entry until it is removed, or is there again.
    void aPathThatIsGoneIsKept()
    {
        WindowFixture ui;
        const QString gone = ui.folder(u"gone"_s);
        const OpenedEntry missing{gone, {}, u"map"_s, {}, {}, {}};
        ui.window().openAgain(
            QList<OpenedEntry>{missing, {samplePath("zero2-w2"), {}, u"map"_s, {}, {}, {}}});
        QTRY_VERIFY_WITH_TIMEOUT(ui.checkpoint() && ui.checkpoint()->fullyRead, 30'000);
        QVERIFY(ui.settle());
        auto* list = ui.find<MissedList>("missedList");
        QTRY_VERIFY(list->isVisible());
        const auto pathOf = [&] { return ui.find<ElidedLabel>("missedPath")->text(); };
        QCOMPARE(pathOf(), gone);
        QVERIFY(ui.find<ElidedLabel>("missedReason")->text() == "not found"_L1);
        ui.window().close();
        QCOMPARE(ui.settings().opened(), (QList<OpenedEntry>{missing, ui.settings().opened().last()}));
        QCOMPARE(ui.settings().opened().last().path, samplePath("zero2-w2"));

        // Also where nothing else is open.
        ui.window().show();
        ui.window().session().close();
        ui.find<QPushButton>("missedTryAgain")->click(); // it is still not there
        QTest::qWait(50);
        QTRY_VERIFY_WITH_TIMEOUT(list->isVisible() && pathOf() == gone, 30'000);
        QVERIFY(!ui.checkpoint());
        copiedSample("zero1-w2", gone);
        ui.find<QPushButton>("missedTryAgain")->click();
        QTRY_VERIFY_WITH_TIMEOUT(ui.checkpoint() && ui.checkpoint()->fullyRead, 30'000);
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Zero1);
        QVERIFY(list->isHidden());
        ui.window().openAgain(QList<OpenedEntry>{{ui.folder(u"nowhere"_s), {}, {}, {}, {}, {}}});
        QTRY_VERIFY(list->isVisible());
        ui.find<QPushButton>("missedRemove")->click();
        QTRY_VERIFY(list->isHidden());
        ui.window().close();
        QCOMPARE(ui.settings().opened().size(), 1);
    }

    /// What fails then is not one of those that are opened again, and these are not lost.
    void anotherOneIsOpenedMeanwhile()
    {
        WindowFixture ui;
        ui.window().openAgain(QList<OpenedEntry>{{samplePath("zero2-w2")}, {samplePath("zero3-w4")}});
        QVERIFY(ui.window().session().isOpening());
        ui.window().openPath(ui.folder(u"nowhere"_s));
        auto* list = ui.find<MissedList>("missedList");
        QVERIFY(ui.settle());
        QTRY_COMPARE(list->entries().size(), 2);
        QCOMPARE(list->entries()[0].path, samplePath("zero2-w2"));
        for (const ElidedLabel* reason : list->findChildren<ElidedLabel*>(u"missedReason"_s))
            QCOMPARE(reason->text(), u"not opened yet"_s);
        QVERIFY(!ui.checkpoint());
        QVERIFY(ui.find<StartPage>("startPage")->messageBar()->text().contains(u"nowhere"_s));
        // What is tried again while another one is being opened comes back to the list.
        ui.window().openPath(samplePath("zero1-w2"));
        ui.find<QPushButton>("missedTryAgain")->click();
        QTRY_VERIFY(ui.checkpoint() && ui.window().isSettled());
        QCOMPARE(list->entries().size(), 2);
        ui.window().close();
        QCOMPARE(ui.settings().opened().size(), 3);
    }

    void layoutsHaveNames()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* explorer = ui.find<QDockWidget>("explorerDock");
        explorer->hide();
        auto* menu = ui.find<QMenu>("layoutMenu");
        Q_EMIT menu->aboutToShow();
        menu->findChild<QAction*>(u"actionSaveLayout"_s)->trigger();
        auto* ask = ui.window().findChild<QInputDialog*>(u"layoutNameDialog"_s);
        ask->setTextValue(u"wide / map"_s);
        ask->accept();
        QCOMPARE(ui.settings().layouts(), QStringList{u"wide / map"_s});
        ui.window().actionSet()[ActionId::ResetLayout]->trigger();
        QVERIFY(explorer->isVisible());
        Q_EMIT menu->aboutToShow();
        menu->actions().first()->trigger();
        QVERIFY(!explorer->isVisible());
        ui.window().actionSet()[ActionId::Settings]->trigger();
        QDialog* dialog = dialogOf(ui.window(), "settingsDialog");
        dialog->findChild<QPushButton*>(u"settingsRemoveLayout"_s)->click();
        QVERIFY(ui.settings().layouts().isEmpty());
    }

    void settingsAreAppliedAndStored()
    {
        WindowFixture ui;
        ui.window().actionSet()[ActionId::Settings]->trigger();
        QDialog* dialog = dialogOf(ui.window(), "settingsDialog");
        QVERIFY(dialog != nullptr && dialog->isVisible());
        auto* theme = dialog->findChild<QComboBox*>(u"settingsTheme"_s);
        theme->setFocus();
        theme->setCurrentIndex(static_cast<int>(ThemeMode::Dark));
        Q_EMIT theme->activated(theme->currentIndex());
        QVERIFY(ui.theme().mode() == ThemeMode::Dark && ui.settings().themeMode() == ThemeMode::Dark);
        QVERIFY(ui.window().actionSet().themes()[static_cast<int>(ThemeMode::Dark)]->isChecked());
        auto* size = dialog->findChild<QComboBox*>(u"settingsTextSize"_s);
        QCOMPARE(size->currentData().toInt(), 100);
        Q_EMIT size->activated(size->findData(125));
        QCOMPARE(ui.settings().textSize(), 125);
        Q_EMIT size->activated(size->findData(100));
        QVERIFY(ui.settings().restoresOpened());
        dialog->findChild<QCheckBox*>(u"settingsRestore"_s)->click();
        QVERIFY(!ui.settings().restoresOpened());
    }

    void columnsComeBack()
    {
        WindowFixture ui;
        ui.settings().setColumns(u"parameters"_s, {{1, 0}, {2, 77}});
        const QMap<int, int> stored = Settings(ui.settings().folder()).columns(u"parameters"_s);
        QCOMPARE(stored, (QMap<int, int>{{1, 0}, {2, 77}}));
        Settings again(ui.settings().folder());
        MainWindow next(realFilesAndSkeletons(), ui.theme(), again);
        next.show();
        next.openPath(samplePath("zero2-w2"));
        next.showPageWhenOpen(u"parameters"_s);
        QTRY_VERIFY_WITH_TIMEOUT(next.isSettled() && next.session().checkpoint(), 30'000);
        auto* table = next.findChild<QTableView*>(u"parameterTable"_s);
        QTRY_VERIFY(table->isColumnHidden(1));
        QCOMPARE(table->columnWidth(2), 77);
    }

    void dropsAreWelcomeEverywhere()
    {
        WindowFixture ui;
        drag(ui.window(), {samplePath("zero2-w2")}, true);
        QTRY_VERIFY_WITH_TIMEOUT(ui.checkpoint() && ui.checkpoint()->fullyRead, 30'000);
        QVERIFY(ui.settle());
        drag(ui.window(), {samplePath("zero3-w4"), samplePath("zero1-w2")}, false);
        auto* overlay = ui.find<DropOverlay>("dropOverlay");
        QVERIFY(overlay != nullptr && !overlay->isVisible()); // left again
        QMimeData data;
        data.setUrls(
            {QUrl::fromLocalFile(samplePath("zero3-w4")), QUrl::fromLocalFile(samplePath("zero1-w2"))});
        QDragEnterEvent enter({9, 9}, Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&ui.window(), &enter);
        QVERIFY(overlay->isVisible());
        QCOMPARE(overlay->text(), u"Drop to compare zero3-w4 with zero1-w2"_s);
        QCOMPARE(overlay->size(), ui.window().size());
        drag(ui.window(), {samplePath("zero3-w4"), samplePath("zero1-w2"), samplePath("muon-w3")}, true);
        QTRY_COMPARE_WITH_TIMEOUT(ui.find<CheckpointBar>("checkpointTabs")->count(), 4, 60'000);
        QVERIFY(!overlay->isVisible());
    }

    void theManualIsSearched()
    {
        WindowFixture ui;
        ManualWindow::open(&ui.window(), u"concepts"_s);
        auto* manual = ui.window().findChild<ManualWindow*>();
        auto* list = manual->findChild<QListWidget*>(u"manualTopics"_s);
        auto* text = manual->findChild<QTextBrowser*>(u"manualText"_s);
        const int pages = list->count();
        QApplication::setActiveWindow(manual);
        QTest::keyClick(manual, Qt::Key_F, Qt::ControlModifier);
        auto* search = manual->findChild<QLineEdit*>(u"manualSearch"_s);
        QTRY_VERIFY(search->hasFocus());
        QTest::keyClicks(search, u"param group"_s);
        QVERIFY(list->count() > 1);
        QVERIFY(!text->extraSelections().isEmpty());
        for (int row = 0; row < list->count(); ++row) {
            list->setCurrentRow(row);
            QVERIFY2(text->toPlainText().contains(u"param"_s), qPrintable(list->item(row)->text()));
        }
        QTest::keyClicks(search, u" nowhereinit"_s);
        QCOMPARE(list->count(), 1);
        QVERIFY(list->item(0)->text().contains(u"No page"_s));
        search->clear();
        QCOMPARE(list->count(), pages);
    }

    /// Going through the list does not stop the window, with pages that are tables from top to bottom.
    void theManualIsQuick()
    {
        WindowFixture ui;
        ManualWindow::open(&ui.window(), u"concepts"_s);
        auto* manual = ui.window().findChild<ManualWindow*>();
        auto* list = manual->findChild<QListWidget*>(u"manualTopics"_s);
        QString slow;
        for (int row = 0; row < list->count(); ++row) {
            const std::clock_t begin = std::clock(); // of the process, not of others
            list->setCurrentRow(row);
            const auto ms = static_cast<int>((std::clock() - begin) * 1000 / CLOCKS_PER_SEC);
            if (ms > 250)
                slow += u"%1: %2 ms; "_s.arg(list->item(row)->text()).arg(ms);
        }
        QVERIFY2(slow.isEmpty(), qPrintable(slow));
    }

    void theManualHasPictures()
    {
        WindowFixture ui;
        ManualWindow::open(&ui.window(), u"resharding"_s);
        auto* text = ui.window().findChild<QTextBrowser*>(u"manualText"_s);
        const QVariant picture
            = text->loadResource(QTextDocument::ImageResource, QUrl(u"../images/reshard.png"_s));
        QVERIFY(!picture.value<QImage>().isNull());
        QVERIFY(picture.value<QImage>().width() <= text->viewport()->width());
    }
};

SHARDSCOPE_UI_TEST(TestStart, WithDisplay)
#include "tst_start.moc"
