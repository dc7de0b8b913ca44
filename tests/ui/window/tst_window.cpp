// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/manual.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/model_roles.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/files_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/start_page.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QAbstractButton>
#include <QClipboard>
#include <QDialog>
#include <QDir>
#include <QDropEvent>
#include <QLabel>
#include <QListWidget>
#include <QMimeData>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>
#include <QUrl>

#include <algorithm>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestWindow : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void opensInTwoStages()
    {
        WindowFixture ui;
        QSignalSpy shown(&ui.window().session(), &Session::checkpointChanged);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QCOMPARE(shown.count(), 2);
        QCOMPARE(shown[0][1].toBool(), false);
        QCOMPARE(shown[1][1].toBool(), true);
        QVERIFY(ui.checkpoint()->fullyRead);
        QCOMPARE(ui.checkpoint()->parallel.dp, 4U);
        QVERIFY(ui.window().windowTitle().contains(u"global_step5"_s));
        QVERIFY(ui.find<ElidedLabel>("statusTitle")->text().startsWith(u"ZeRO-3"_s));
        QCOMPARE(ui.find<QTableView>("parameterTable")->model()->rowCount(),
            static_cast<int>(ui.checkpoint()->params.size()));
    }

    void latestOpenWins()
    {
        WindowFixture ui;
        ui.window().openPath(samplePath("zero3-w4"));
        ui.window().openPath(samplePath("zero1-w2"));
        ui.window().openPath(samplePath("zero2-w2"));
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Zero2);
    }

    void opensAFileAndSelectsIt()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2/global_step7/zero_pp_rank_1_mp_rank_00_optim_states.pt")));
        const FileId file = ui.window().selection().current().file;
        QVERIFY(file != kNoFile);
        QCOMPARE(toText(ui.checkpoint()->file(file).name), u"zero_pp_rank_1_mp_rank_00_optim_states.pt"_s);
    }

    void opensByDrop()
    {
        WindowFixture ui;
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(samplePath("zero2-w2"))});
        QDragEnterEvent enter(QPoint(100, 100), Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&ui.window(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(100, 100), Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&ui.window(), &drop);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint() != nullptr);
    }

    void selectionIsEverywhere()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* table = ui.find<QTableView>("parameterTable");
        ui.window().showPage(u"parameters"_s);
        table->setFocus();
        int trainable = 0;
        while (table->model()->index(trainable, static_cast<int>(ParamColumn::Role)).data().toString()
            != u"trainable"_s)
            ++trainable;
        table->setCurrentIndex(table->model()->index(trainable - 1, 0));
        QTest::keyClick(table, Qt::Key_Down);
        QVERIFY(ui.settle());
        const QString name = table->currentIndex().siblingAtColumn(0).data().toString();
        const ParamId param = ui.window().selection().current().param;
        QCOMPARE(toText(ui.checkpoint()->params[index(param)].name), name);
        QCOMPARE(ui.find<DetailsPanel>("detailsPanel")->title(), name);
        auto* title = ui.find<QLabel>("detailsTitle"); // on as many lines as it needs
        title->window()->resize(1100, 700);
        QVERIFY(title->height() >= title->heightForWidth(title->width()));
        QCOMPARE(title->text().remove(QChar(0x200B)), name);
        auto* tree = ui.find<QTreeView>("explorerTree");
        QCOMPARE(ui.find<ExplorerPanel>("explorerPanel")->model()->fullName(tree->currentIndex()), name);
        // A fragment of it leads to its file, record and byte.
        auto* fragments = ui.find<QTableView>("fragmentTable");
        QVERIFY(fragments->model()->rowCount() > 0);
        fragments->setCurrentIndex(fragments->model()->index(0, 0));
        QVERIFY(ui.settle());
        const SelectedThing& thing = ui.window().selection().current();
        QVERIFY(thing.param == param);
        QVERIFY(thing.file != kNoFile && thing.record && thing.byte && thing.block);
        auto* records = ui.find<QTableView>("recordTable");
        QCOMPARE(records->currentIndex().row(), static_cast<int>(*thing.record));
    }

    void theSumIsOfWhatIsSelected()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"map"_s);
        auto* canvas = ui.find<LayoutMapView>("layoutMap")->canvas();
        QTest::keyClick(canvas, Qt::Key_Right);
        auto* sum = ui.find<ElidedLabel>("statusSum");
        QVERIFY(sum->text().contains(u"1 parameter"_s));
        ui.window().selection().selectFile(FileId{0});
        QVERIFY(sum->text().isEmpty());
        QTest::keyClick(canvas, Qt::Key_Right);
        QVERIFY(!sum->text().isEmpty());
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(sum->text().isEmpty());
    }

    void explorerLeadsEverywhere()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* tree = ui.find<QTreeView>("explorerTree");
        auto* model = ui.find<ExplorerPanel>("explorerPanel")->model();
        tree->setCurrentIndex(model->indexOf(ExplorerKind::Rank, 2));
        QVERIFY(ui.settle());
        QVERIFY(ui.window().selection().current().rank == 2U);
        QVERIFY(ui.find<DetailsPanel>("detailsPanel")->title().startsWith(u"dp 2"_s));
        tree->setCurrentIndex(model->indexOf(ExplorerKind::File, 0));
        QVERIFY(ui.settle());
        QCOMPARE(ui.find<QTableView>("fileTable")->currentIndex().data().toString(),
            toText(ui.checkpoint()->files[0].name));
        QVERIFY(ui.find<QTableView>("recordTable")->model()->rowCount() > 0);
    }

    void filterAndSort()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* field = ui.find<FilterField>("filterField");
        auto* page = ui.find<ParametersPage>("parametersPage");
        QTest::keyClick(&ui.window(), Qt::Key_F, Qt::ControlModifier);
        QTRY_VERIFY(field->hasFocus());
        QTest::keyClicks(field, u"bias"_s);
        QVERIFY(ui.settle());
        int expected = 0;
        for (const Parameter& param : ui.checkpoint()->params)
            expected += param.name.find("bias") != std::string::npos ? 1 : 0;
        QVERIFY(expected > 0);
        QCOMPARE(page->model()->rowCount(), expected);
        QVERIFY(page->findChild<QLabel*>(u"filterCount"_s)->text().startsWith(QString::number(expected)));
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName(), u"parametersPage"_s);
        field->setText(u"/(/"_s);
        QVERIFY(ui.settle());
        QVERIFY(!field->problem().isEmpty());
        QTest::keyClick(&ui.window(), Qt::Key_Escape);
        QVERIFY(ui.settle());
        QVERIFY(field->text().isEmpty());
        QCOMPARE(page->model()->rowCount(), static_cast<int>(ui.checkpoint()->params.size()));
        page->sortBy(ParamColumn::Bytes, Qt::DescendingOrder);
        QVERIFY(ui.settle());
        const auto bytesAt = [&](int row) {
            return page->model()->parameterIndex()->facts(page->model()->rowAt(row)).bytes;
        };
        for (int row = 1; row < page->model()->rowCount(); ++row)
            QVERIFY(bytesAt(row - 1) >= bytesAt(row));
    }

    void filesHaveAFilterOfTheirOwn()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* field = ui.find<FilterField>("filterField");
        field->setText(u"bias"_s);
        ui.window().showPage(u"files"_s);
        QVERIFY(field->text().isEmpty());
        field->setText(u"optim"_s);
        QCOMPARE(ui.find<QTableView>("fileTable")->model()->rowCount(), 2);
        ui.window().showPage(u"parameters"_s);
        QCOMPARE(field->text(), u"bias"_s);
    }

    void backAndForward()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        Selection& selection = ui.window().selection();
        selection.selectParam(ParamId{0});
        selection.selectParam(ParamId{1});
        ui.window().showPage(u"files"_s);
        QTest::keyClick(&ui.window(), Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName(), u"overviewPage"_s);
        QVERIFY(selection.current().param == ParamId{1});
        QTest::keyClick(&ui.window(), Qt::Key_Left, Qt::AltModifier);
        QVERIFY(selection.current().param == ParamId{0});
        QTest::keyClick(&ui.window(), Qt::Key_Right, Qt::AltModifier);
        QVERIFY(selection.current().param == ParamId{1});
    }

    void everyPageByKey()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* tabs = ui.find<QTabWidget>("pageTabs");
        for (int page = 3; page >= 0; --page) {
            QTest::keyClick(&ui.window(), static_cast<Qt::Key>(Qt::Key_1 + page), Qt::ControlModifier);
            QCOMPARE(tabs->currentIndex(), page);
        }
        QTest::keyClick(&ui.window(), Qt::Key_F1, Qt::ControlModifier);
        QTRY_VERIFY(ui.find<QDialog>("shortcutSheet") != nullptr);
        ui.find<QDialog>("shortcutSheet")->close();
        QTest::keyClick(&ui.window(), Qt::Key_W, Qt::ControlModifier);
        QVERIFY(ui.checkpoint() == nullptr);
        QVERIFY(ui.find<StartPage>("startPage")->isVisible());
    }

    void manualForWhatHasTheFocus()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const std::pair<const char*, const char*> pages[] = {{"overview", "getting-started"},
            {"map", "concepts"}, {"compare", "comparing"}, {"findings", "repairing"}};
        for (const auto& [page, topic] : pages) {
            QVERIFY(ui.window().showPage(QString::fromLatin1(page)));
            ui.find<QTabWidget>("pageTabs")->currentWidget()->setFocus();
            QTest::keyClick(&ui.window(), Qt::Key_F1);
            auto* manual = ui.find<ManualWindow>("manualWindow");
            QVERIFY(manual != nullptr);
            QCOMPARE(manual->topic(), QString::fromLatin1(topic));
        }
        auto* manual = ui.find<ManualWindow>("manualWindow");
        auto* text = ui.find<QTextBrowser>("manualText");
        for (const ManualPage& page : manualPages()) {
            manual->showTopic(
                QString::fromUtf8(page.topic.data(), static_cast<qsizetype>(page.topic.size())));
            QVERIFY(text->toPlainText().startsWith(
                QString::fromUtf8(page.title.data(), static_cast<qsizetype>(page.title.size()))));
        }
        manual->showTopic(u"resharding"_s);
        Q_EMIT text->anchorClicked(QUrl(u"support.md"_s));
        QCOMPARE(manual->topic(), u"support"_s);
        QTest::keyClick(manual, Qt::Key_Escape);
        QTRY_VERIFY(ui.find<ManualWindow>("manualWindow") == nullptr);
        ReshardDialog* dialog = ui.window().showReshardDialog();
        dialog->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(dialog));
        QTest::keyClick(dialog, Qt::Key_F1);
        QTRY_VERIFY(dialog->findChild<ManualWindow*>() != nullptr);
        QCOMPARE(dialog->findChild<ManualWindow*>()->topic(), u"resharding"_s);
        dialog->close();
    }

    void copiesExactValues()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().showPage(u"files"_s);
        auto* table = ui.find<QTableView>("fileTable");
        table->setFocus();
        table->setCurrentIndex(table->model()->index(0, FileTableModel::Bytes));
        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text().toULongLong(),
            static_cast<qulonglong>(ui.checkpoint()->files[0].identity.bytes));
    }

    void notACheckpoint()
    {
        WindowFixture ui;
        QVERIFY(QDir().mkpath(ui.folder(u"empty"_s)));
        QVERIFY(ui.open(ui.folder(u"empty"_s)));
        QVERIFY(ui.checkpoint() == nullptr);
        auto* messages = ui.find<StartPage>("startPage")->messageBar();
        QVERIFY(messages->isVisible());
        QVERIFY(messages->text().contains(ui.folder(u"empty"_s)));
    }

    void failedOpeningKeepsWhatIsOpen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const CheckpointPtr before = ui.checkpoint();
        QVERIFY(ui.open(ui.folder(u"not there"_s)));
        QVERIFY(ui.checkpoint() == before);
        QVERIFY(ui.find<MessageBar>("windowMessages")->isVisible());
    }

    void brokenCheckpointOpens()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        QVERIFY(ui.checkpoint() != nullptr);
        QVERIFY(!ui.checkpoint()->complete);
        QVERIFY(!ui.window().findChildren<QWidget*>(u"finding"_s).isEmpty());
        auto* table = ui.find<QTableView>("fileTable");
        int missing = 0;
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QModelIndex name = table->model()->index(row, FileTableModel::Name);
            const bool isMissing
                = table->model()->index(row, FileTableModel::StatusColumn).data().toString() == u"missing"_s;
            missing += isMissing;
            // The row is marked where it begins, in the place of the file.
            QCOMPARE(name.data(SeverityRole).toInt(), isMissing ? 2 : -1);
            if (isMissing)
                QCOMPARE(row, 1);
        }
        QCOMPARE(missing, 1);
        QVERIFY(ui.find<QLabel>("fileSummary")->text().endsWith(u" · 1 missing"_s));
        QVERIFY(ui.window().showPage(u"files"_s));
        ui.window().resize(1366, 768);
        QVERIFY(ui.settle());
        const int end = table->columnViewportPosition(FileTableModel::StatusColumn)
            + table->columnWidth(FileTableModel::StatusColumn);
        QVERIFY(end <= table->viewport()->width());
        // The finding leads to the file.
        ui.window().findChild<QAbstractButton*>(u"findingMark"_s)->click();
        QVERIFY(ui.settle());
    }

    void changesOnDiskAreOffered()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"changing"_s));
        QVERIFY(ui.open(copy));
        QSignalSpy changed(&ui.window().session(), &Session::changedOnDisk);
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"_s));
        QVERIFY(changed.wait(20'000)); // without a visit to another window
        QVERIFY(ui.find<MessageBar>("windowMessages")->isVisible());
        QVERIFY(ui.find<MessageBar>("windowMessages")->text().contains(u"1 file deleted"_s));
        QTest::keyClick(&ui.window(), Qt::Key_F5);
        QVERIFY(ui.settle());
        QVERIFY(!ui.checkpoint()->complete);
    }

    /// While the window is active: in place, added, deleted, and as it was again.
    void whatHappenedOnDiskIsNamed()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"changing"_s));
        const QString tag = copy + u"/global_step6/"_s;
        const QString state = u"bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"_s;
        QVERIFY(ui.open(copy));
        QSignalSpy told(&ui.window().session(), &Session::changedOnDisk);
        const auto* message = ui.find<MessageBar>("windowMessages");
        ui.window().session().checkOnDisk(); // remembers what is there
        QTest::qWait(300);
        QVERIFY(told.isEmpty());
        QFile added(tag + u"added.pt"_s);
        QVERIFY(added.open(QIODevice::WriteOnly));
        added.close();
        QVERIFY(told.wait(20'000));
        QVERIFY2(message->text().contains(u"1 file new (added.pt)"_s), qPrintable(message->text()));
        QVERIFY(added.remove());
        QVERIFY(told.wait(20'000));
        QVERIFY(message->isHidden()); // it is as it was
        QFile written(tag + state);
        QVERIFY(written.open(QIODevice::ReadWrite | QIODevice::Append));
        written.write("x");
        written.close();
        QVERIFY(told.wait(20'000));
        QVERIFY2(message->text().contains(u"1 file changed ("_s % state), qPrintable(message->text()));
        QVERIFY(QFile::remove(tag + state));
        QVERIFY(told.wait(20'000));
        QVERIFY2(message->text().contains(u"1 file deleted ("_s % state), qPrintable(message->text()));
        QVERIFY(!message->text().contains(u"changed"_s));
    }

    void aNewTagIsNamed()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"growing"_s));
        QVERIFY(ui.open(copy));
        QSignalSpy told(&ui.window().session(), &Session::changedOnDisk);
        const auto* message = ui.find<MessageBar>("windowMessages");
        ui.window().session().checkOnDisk(); // remembers what is there
        QVERIFY(QDir().mkpath(copy + u"/logs"_s)); // no tag
        // The first look may come after the first of them was written; it is known then.
        int tag = 8;
        while (told.isEmpty() && ++tag < 13) {
            QTest::qWait(500);
            std::filesystem::copy(copy.toStdString() + "/global_step6",
                copy.toStdString() + "/global_step" + std::to_string(tag));
            told.wait(5'000);
        }
        QVERIFY(!told.isEmpty());
        QVERIFY2(message->text().contains(u": 1 new tag (global_step%1)."_s.arg(tag)),
            qPrintable(message->text()));
        QTest::keyClick(&ui.window(), Qt::Key_F5);
        QVERIFY(ui.settle());
        QVERIFY(std::ranges::count(ui.checkpoint()->tags, "global_step" + std::to_string(tag)) == 1);
    }

    void recentListAndPins()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QCOMPARE(ui.settings().recent().size(), 2);
        QCOMPARE(ui.settings().recent().first().path, samplePath("zero1-w2"));
        ui.settings().setPinned({samplePath("zero2-w2")}, true);
        QCOMPARE(ui.settings().recent().first().path, samplePath("zero2-w2"));
        const RecentEntry gone{
            {ui.folder(u"gone"_s)}, u"ZeRO-2"_s, 1, 1, QDateTime::currentDateTime(), false};
        ui.settings().remember(gone);
        ui.window().session().close();
        auto* list = ui.find<StartPage>("startPage")->recentList();
        QCOMPARE(list->count(), 3);
        QTRY_VERIFY(list->item(1)->font().italic());
        QVERIFY(!list->item(0)->font().italic());
        QVERIFY2(list->item(0)->text().contains(u" · opened "_s), qPrintable(list->item(0)->text()));
        Q_EMIT list->itemActivated(list->item(0));
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Zero2);
    }

    void settingsOfAnotherFormatAreIgnored()
    {
        QTemporaryDir folder;
        {
            QSettings other(folder.filePath(u"window.ini"_s), QSettings::IniFormat);
            other.setValue(u"format"_s, 99);
            other.setValue(u"theme"_s, u"dark"_s);
        }
        const Settings settings(folder.path());
        QVERIFY(settings.themeMode() == ThemeMode::System);
    }

    void everythingHasAName()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{0});
        QVERIFY(ui.settle());
        for (int page = 0; page < 6; ++page) {
            ui.find<QTabWidget>("pageTabs")->setCurrentIndex(page);
            QVERIFY(ui.settle());
            for (const QWidget* widget : ui.window().findChildren<QWidget*>()) {
                if (!widget->isVisible() || widget->focusPolicy() == Qt::NoFocus)
                    continue;
                const QString type = QString::fromLatin1(widget->metaObject()->className());
                QVERIFY2(!widget->objectName().isEmpty(), qPrintable(type));
            }
        }
    }
};

SHARDSCOPE_UI_TEST(TestWindow, WithDisplay)
#include "tst_window.moc"
