// SPDX-License-Identifier: Apache-2.0
// Tables and links show what they have where there is room for it.
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/models/difference_list.h"
#include "ui/pages/findings_page.h"
#include "ui/style/app_style.h"
#include "ui/style/text_size.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/link_button.h"

#include <QAbstractItemView>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScopeGuard>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTabBar>
#include <QTableView>

#include <cstdlib>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr int kLarge = 150; ///< text, in percent

} // namespace

class TestWholeTexts : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }
    void cleanup() { applyTextSize(100); }

    /// What cannot be rewritten was looked at all the same.
    void theOverviewSaysNotSupportedOnlyWhereNothingWasLookedFor()
    {
        for (const char* sample : {"bnb8bit-w2", "zero3-w4", "torchao8bit-w2"}) {
            WindowFixture ui;
            QVERIFY(ui.open(samplePath(sample)));
            QVERIFY2(ui.checkpoint() && ui.checkpoint()->supported, sample);
            const auto* counts = ui.find<LinkButton>("findingsCount");
            QVERIFY2(counts, sample);
            QVERIFY2(!counts->text().contains(u"Not supported"_s), sample);
        }
    }

    /// On a small screen.
    void pagesAreReadableWithLargeText()
    {
        WindowFixture ui;
        applyTextSize(kLarge);
        ui.window().resize(1366, 768);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        // Without a selected file, the files have the room.
        ui.window().showPage(PageId::Files);
        QVERIFY(ui.settle());
        QVERIFY(!ui.find<QTableView>("recordTable")->isVisible());
        QVERIFY(ui.find<QTableView>("fileTable")->height() > 400);
        ui.window().selection().selectFile(FileId{0});
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QTableView>("recordTable")->height() > 100);
        QVERIFY(ui.find<QTableView>("fileTable")->height() > 150);
        // A value is whole.
        QVERIFY(ui.window().goToAddress(u"layers.0.attention.wq.weight#fp32"_s));
        ui.window().showPage(PageId::Tensor);
        QVERIFY(ui.settle());
        const auto* value = ui.find<ElidedLabel>("tensorValue");
        QVERIFY(value->text().contains(u"0x"_s));
        QVERIFY(value->height() >= value->heightForWidth(value->width()));
        const auto* pictures = ui.find<QWidget>("tensorSplitter")->findChild<QScrollArea*>();
        QCOMPARE(pictures->horizontalScrollBar()->maximum(), 0);
        // Columns are as wide as what is in them.
        ui.window().showPage(PageId::Health);
        QVERIFY(ui.settle());
        const auto* health = ui.find<QTableView>("healthTable");
        QVERIFY(health->isColumnHidden(1)); // there is no other tag
        const int letter = health->fontMetrics().averageCharWidth();
        for (int column = 2; column + 1 < health->model()->columnCount(); ++column)
            QVERIFY2(health->columnWidth(column) < 16 * letter,
                qPrintable(u"%1: %2"_s.arg(column).arg(health->columnWidth(column))));
    }

    void theExportDialogFits()
    {
        for (const int size : {100, kLarge}) {
            WindowFixture ui;
            applyTextSize(size);
            QVERIFY(ui.open(samplePath("zero3-w4")));
            auto* dialog = ui.window().showExportDialog();
            QVERIFY(QTest::qWaitForWindowExposed(dialog));
            dialog->resize(980, 768 - 48);
            QVERIFY(ui.settle());
            QVERIFY2(dialog->height() <= 768 - 48, qPrintable(QString::number(dialog->height())));
            for (const auto* button : dialog->findChild<QDialogButtonBox*>()->buttons())
                QVERIFY2(dialog->rect().contains(QRect(button->mapTo(dialog, QPoint()), button->size())),
                    qPrintable(button->text()));
            auto* last = dialog->findChild<QWidget*>(u"exportForce"_s);
            auto* scroll = dialog->findChild<QScrollArea*>(u"Scroll"_s);
            QVERIFY(scroll->isAncestorOf(last));
            scroll->ensureWidgetVisible(last);
            QVERIFY(scroll->viewport()->rect().contains(
                QRect(last->mapTo(scroll->viewport(), QPoint()), last->size())));
            QVERIFY(scroll->horizontalScrollBar()->maximum() == 0);
            delete dialog;
        }
    }

    /// What has no room is scrolled, not squeezed.
    void theReshardFormHasItsHeight()
    {
        for (const int percent : {100, kLarge}) {
            for (const QSize size : {QSize(1366, 768), QSize(900, 600)}) {
                WindowFixture ui;
                applyTextSize(percent);
                QVERIFY(ui.open(samplePath("slices-w4")));
                ReshardDialog* dialog = ui.window().showReshardDialog();
                dialog->resize(size);
                QSignalSpy shown(dialog, &ReshardDialog::previewShown);
                QVERIFY(shown.wait(30'000));
                QCoreApplication::processEvents();
                QVERIFY(dialog->findChild<QWidget*>(u"reshardCurves"_s)->isVisible());
                for (const QWidget* each : dialog->form()->findChildren<QWidget*>()) {
                    if (!each->isVisible() || each->objectName() == "qt_spinbox_lineedit"_L1)
                        continue; // the box gives it less than it asks for
                    QVERIFY2(each->height() >= each->minimumSizeHint().height(),
                        qPrintable(u"%1 %, %2: %3 has %4 of %5"_s.arg(percent)
                                       .arg(size.width())
                                       .arg(each->objectName())
                                       .arg(each->height())
                                       .arg(each->minimumSizeHint().height())));
                }
                delete dialog;
            }
        }
    }

    void theVerdictIsWhole()
    {
        for (const QSize size : {QSize(1366, 768), QSize(900, 600)}) {
            WindowFixture ui;
            applyTextSize(kLarge);
            ui.window().resize(size);
            QVERIFY(ui.open(samplePath("zero3-w4")));
            ui.window().showPage(PageId::Compare);
            ui.window().compareWith(samplePath("zero2-w2"), true);
            QVERIFY(ui.settle());
            QCoreApplication::processEvents();
            for (const char* name : {"compareVerdict", "compareFacts"}) {
                const auto* label = ui.find<QLabel>(name);
                QVERIFY2(label->height() >= label->heightForWidth(label->width()),
                    qPrintable(u"%1: %2 has %3 of %4"_s.arg(size.width())
                                   .arg(label->text())
                                   .arg(label->height())
                                   .arg(label->heightForWidth(label->width()))));
            }
        }
    }

    void theChangesToBeMadeAreReadable()
    {
        for (const int percent : {100, kLarge}) {
            WindowFixture ui;
            applyTextSize(percent);
            ui.window().resize(1366, 768);
            QVERIFY(ui.open(brokenSample(ui)));
            ui.window().showPage(PageId::Findings);
            auto* page = ui.find<FindingsPage>("findingsPage");
            page->prepareRepair();
            QVERIFY(ui.settle());
            QCoreApplication::processEvents();
            for (const char* name : {"findingTree", "changeList"}) {
                const auto* list = ui.find<QAbstractItemView>(name);
                const int row = list->fontMetrics().lineSpacing();
                QVERIFY2(list->viewport()->height() >= 4 * row,
                    qPrintable(u"%1 %: %2 has %3"_s.arg(percent)
                                   .arg(QString::fromLatin1(name))
                                   .arg(list->viewport()->height())));
            }
            // The page is scrolled for them: nothing is painted over them.
            const auto* list = ui.find<QWidget>("changeList");
            QTRY_VERIFY(!list->geometry().intersects(ui.find<QPushButton>("repairApply")->geometry()));
        }
    }

    void filesOfARankAreWhole()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectRank(1);
        QVERIFY(ui.settle());
        QStringList names;
        for (const auto* link : ui.window().findChildren<LinkButton*>(u"detailsAddress"_s)) {
            names.append(link->text());
            QVERIFY(link->height() >= link->heightForWidth(link->width()));
        }
        QVERIFY2(names.contains(u"bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s),
            qPrintable(names.join(u' ')));
    }

    void aSingleStateIsAtTheEdge()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* states = ui.find<QTabBar>("tensorStates");
        const auto edgeOf = [&](const char* param) {
            ui.window().selection().selectParam(*ui.checkpoint()->findParam(param));
            return ui.window().showPage(u"tensor"_s) && ui.settle()
                ? states->mapTo(states->window(), states->tabRect(states->count() - 1).topRight()).x()
                : -1;
        };
        const int several = edgeOf("layers.0.attention.wq.weight");
        QVERIFY(several > 0 && states->count() > 1);
        const int single = edgeOf("batches_seen");
        QCOMPARE(states->count(), 1);
        QVERIFY2(std::abs(several - single) <= 2, qPrintable(u"%1 %2"_s.arg(several).arg(single)));
    }

    void differencesHaveTheRoomThatNamesLeave()
    {
        WindowFixture ui;
        ui.window().resize(1900, 800);
        QVERIFY(ui.open(samplePath("zero1-w2")));
        ui.window().compareWith(samplePath("zero2-w2"), true);
        QVERIFY(ui.settle());
        const auto* table = ui.find<QTableView>("differenceTable");
        constexpr auto kColumn = static_cast<int>(DifferenceColumn::Different);
        QVERIFY(table->model()->rowCount() > 1);
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QString text = table->model()->index(row, kColumn).data().toString();
            if (!text.contains(u" of "_s)) // an option
                continue;
            QVERIFY2(table->columnWidth(kColumn) >= table->fontMetrics().horizontalAdvance(text) + 24,
                qPrintable(text));
        }
        QVERIFY(table->horizontalHeader()->length() <= table->viewport()->width());
    }

    void layersHaveTheRoomThatTheyNeed()
    {
        WindowFixture ui;
        ui.window().resize(1900, 800);
        QVERIFY(ui.open(samplePath("experts-w4")));
        QVERIFY(ui.window().showPage(u"health"_s));
        QVERIFY(ui.settle());
        const auto* table = ui.find<QTableView>("healthTable");
        QVERIFY(table->model()->rowCount() > 0);
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QString text = table->model()->index(row, 0).data().toString();
            QVERIFY2(
                table->columnWidth(0) >= table->fontMetrics().horizontalAdvance(text) + 24, qPrintable(text));
        }
    }

    /// In a panel that is too narrow for them, numbers are scrolled to, not cut.
    void largeFragmentsAreWholeInANarrowPanel()
    {
        const auto restored = qScopeGuard([] { applyTextSize(100); });
        WindowFixture ui;
        applyTextSize(200);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{3});
        QVERIFY(ui.settle());
        const auto* table = ui.find<QTableView>("fragmentTable");
        ui.find<QDockWidget>("detailsDock")->setFloating(true);
        ui.find<QDockWidget>("detailsDock")->resize(215, 600);
        QVERIFY(ui.settle());
        QTRY_VERIFY(table->width() < 240);
        const auto* rows = table->model();
        for (int row = 0; row < rows->rowCount(); ++row)
            for (int column = 0; column < 2; ++column)
                QVERIFY(table->columnWidth(column)
                    > table->fontMetrics().horizontalAdvance(rows->index(row, column).data().toString()));
        // The name is on as many lines as it needs.
        auto* title = ui.find<QLabel>("detailsTitle");
        QVERIFY(title->height() > 2 * title->fontMetrics().height() - 4);
        QVERIFY(title->height() >= title->heightForWidth(title->width()));
    }

    /// Columns that have no room are hidden, not cut; the table is no higher than its rows.
    void fragmentsAreWhole()
    {
        WindowFixture ui;
        ui.window().resize(1366, 768);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{3});
        QVERIFY(ui.settle());
        const auto* table = ui.find<QTableView>("fragmentTable");
        QTRY_VERIFY(table->isVisible());
        QTRY_COMPARE(table->horizontalScrollBar()->maximum(), 0);
        QVERIFY(table->isColumnHidden(4)); // the file's name
        QVERIFY(!ui.find<QLabel>("fragmentTitle")->toolTip().isEmpty());
        const auto* rows = table->model();
        for (int row = 0; row < rows->rowCount(); ++row)
            for (int column = 0; column < 2; ++column)
                QVERIFY(table->columnWidth(column)
                    > table->fontMetrics().horizontalAdvance(rows->index(row, column).data().toString()));
        QVERIFY(table->height()
            <= table->horizontalHeader()->height() + rows->rowCount() * table->rowHeight(0) + 4);
        // Ranges have their last element, and do not overlap.
        QVERIFY(rows->index(0, 1).data().toString().startsWith(u"0 to "_s));
        QVERIFY(!rows->index(1, 1).data().toString().startsWith(
            rows->index(0, 1).data().toString().section(u' ', 2)));
        ui.find<QDockWidget>("detailsDock")->setFloating(true);
        ui.find<QDockWidget>("detailsDock")->resize(900, 500);
        QTRY_VERIFY(!table->isColumnHidden(4));
    }
};

SHARDSCOPE_UI_TEST(TestWholeTexts, WithDisplay)
#include "tst_whole_texts.moc"
