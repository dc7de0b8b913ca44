// SPDX-License-Identifier: Apache-2.0
// What screen readers get of the views of a tensor, asked as they ask.
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/tensor_page.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/histogram_view.h"
#include "ui/tensorview/tensor_grid.h"

#include <QAccessible>
#include <QTabWidget>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestTensorAccess : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_ui = std::make_unique<WindowFixture>();
        QVERIFY(m_ui->open(samplePath("zero3-w4")));
        QVERIFY(showTensor(*m_ui, "layers.0.attention.wq.weight", "fp32")); // (32, 32)
        QTRY_VERIFY(m_ui->find<TensorGrid>("tensorGrid")->isComplete());
    }
    void cleanup() { m_ui.reset(); }

    void theGrid()
    {
        auto* grid = m_ui->find<TensorGrid>("tensorGrid");
        QAccessibleInterface* access = tableOf(grid, 32, 32);
        QVERIFY(access != nullptr);
        for (int row = 0; row < 10; ++row)
            for (int column = 0; column < 32; column += 5) {
                QAccessibleInterface* cell = access->tableInterface()->cellAt(row, column);
                QVERIFY(cell != nullptr && cell->tableCellInterface() != nullptr);
                QCOMPARE(cell->text(QAccessible::Name),
                    grid->cellText({static_cast<uint64_t>(row), static_cast<uint64_t>(column)}));
                QCOMPARE(cell->text(QAccessible::Description), u"row %1, column %2"_s.arg(row).arg(column));
                QCOMPARE(cell->role(), QAccessible::Cell);
                QCOMPARE(access->indexOfChild(cell), row * 32 + column);
                QCOMPARE(access->child(row * 32 + column), cell);
                QCOMPARE(cell->parent(), access);
            }
        grid->setFocus(Qt::TabFocusReason);
        for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_Right})
            QTest::keyClick(grid, key);
        checkCurrent(access, 2 * 32 + 1);
        QTest::keyClick(grid, Qt::Key_Right, Qt::ShiftModifier);
        QVERIFY(access->tableInterface()->cellAt(2, 1)->state().selected);
        QVERIFY(access->tableInterface()->cellAt(2, 2)->state().selected);
        QVERIFY(!access->tableInterface()->cellAt(2, 3)->state().selected);
        // Where a cell is on the screen, the cell is found.
        QAccessibleInterface* cell = access->tableInterface()->cellAt(3, 1);
        QVERIFY(!cell->rect().isEmpty());
        QCOMPARE(access->childAt(cell->rect().center().x(), cell->rect().center().y()), cell);
        QVERIFY(access->tableInterface()->cellAt(31, 31)->state().offscreen);
    }

    void theHeatMap()
    {
        auto* heat = m_ui->find<HeatMap>("heatMap");
        QAccessibleInterface* access = tableOf(heat, 32, 32);
        QVERIFY(access != nullptr);
        const HeatSamples& samples = heat->samples();
        for (int row = 0; row < 32; row += 3)
            for (int column = 0; column < 32; column += 5)
                QCOMPARE(access->tableInterface()->cellAt(row, column)->text(QAccessible::Name),
                    shortNumber(samples.values[static_cast<size_t>(row * samples.width + column)]));
        QCOMPARE(access->tableInterface()->rowDescription(7), u"row 7"_s);
        heat->setFocus(Qt::TabFocusReason);
        QTest::keyClick(heat, Qt::Key_Down);
        QTest::keyClick(heat, Qt::Key_Right);
        checkCurrent(access, 33);
        // The range of the whole is in its description.
        QVERIFY2(access->text(QAccessible::Description).contains(shortNumber(samples.high)),
            qPrintable(access->text(QAccessible::Description)));
    }

    void theHistogram()
    {
        auto* histogram = m_ui->find<HistogramView>("histogram");
        const auto bars = static_cast<int>(histogram->bars());
        QAccessibleInterface* access = tableOf(histogram, bars, 1);
        QVERIFY(access != nullptr);
        qulonglong all = 0;
        for (int bar = 0; bar < bars; ++bar) {
            QAccessibleInterface* cell = access->tableInterface()->cellAt(bar, 0);
            QCOMPARE(cell->text(QAccessible::Name).remove(u',').toULongLong(),
                static_cast<qulonglong>(histogram->countOf(static_cast<size_t>(bar))));
            QVERIFY(cell->text(QAccessible::Description).contains(u" to "_s));
            all += cell->text(QAccessible::Name).remove(u',').toULongLong();
        }
        QCOMPARE(all, qulonglong{1024});
        histogram->setFocus(Qt::TabFocusReason);
        QTest::keyClick(histogram, Qt::Key_Right);
        QVERIFY(!access->tableInterface()->cellAt(0, 0)->state().selected);
        QVERIFY(access->tableInterface()->cellAt(1, 0)->state().selected);
        QVERIFY2(access->text(QAccessible::Description).contains(u"chosen: "_s),
            qPrintable(access->text(QAccessible::Description)));
        checkCurrent(access, 1);
    }

    void theBytes()
    {
        auto* hex = m_ui->find<HexView>("tensorHex");
        m_ui->find<QTabWidget>("tensorViews")->setCurrentWidget(hex);
        QVERIFY(m_ui->settle());
        QAccessibleInterface* access = tableOf(hex, 256, 4);
        QVERIFY(access != nullptr);
        QTRY_VERIFY(!hex->elementText(9).contains(u'…'));
        QAccessibleInterface* cell = access->tableInterface()->cellAt(2, 1);
        QCOMPARE(cell->text(QAccessible::Name), hex->elementText(9));
        QCOMPARE(cell->text(QAccessible::Description),
            u"offset 0x20, in the file %1, element +1"_s.arg(hex->fileOffsetText(2)));
        hex->setFocus(Qt::TabFocusReason);
        QTest::keyClick(hex, Qt::Key_Down);
        QTest::keyClick(hex, Qt::Key_Right);
        checkCurrent(access, 5);
        QCOMPARE(access->text(QAccessible::Value), hex->elementText(5));
    }

    void hugeTensorsHaveCellsToo()
    {
        OwnTensorPage own(*m_ui);
        own.show(hugeCheckpoint(m_ui->folder(u"huge.bin"_s)));
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY_WITH_TIMEOUT(!own.page.isBusy() && own.page.grid()->isComplete(), 60'000);
        QAccessibleInterface* access = tableOf(own.page.grid(), 32768, 32768);
        QVERIFY(access != nullptr);
        QCOMPARE(access->tableInterface()->cellAt(3, 4)->text(QAccessible::Name), u"0"_s);
        for (int i = 0; i < 10'000; ++i) // more than are kept
            QVERIFY(access->child(i) != nullptr && access->child(i)->isValid());
        QVERIFY(access->tableInterface()->cellAt(-1, 0) == nullptr);
        QVERIFY(access->tableInterface()->cellAt(0, 32768) == nullptr);
    }

private:
    static QAccessibleInterface* tableOf(QWidget* widget, int rows, int columns)
    {
        QAccessibleInterface* access = QAccessible::queryAccessibleInterface(widget);
        if (access == nullptr || access->tableInterface() == nullptr || access->role() != QAccessible::Table
            || access->text(QAccessible::Name).isEmpty())
            return nullptr;
        return access->tableInterface()->rowCount() == rows
                && access->tableInterface()->columnCount() == columns
            ? access
            : nullptr;
    }

    static void checkCurrent(QAccessibleInterface* access, int index)
    {
        QAccessibleInterface* current = access->focusChild();
        QVERIFY(current != nullptr);
        QCOMPARE(access->indexOfChild(current), index);
        QVERIFY(current->state().focused);
        QCOMPARE(access->text(QAccessible::Value), current->text(QAccessible::Name));
    }

    std::unique_ptr<WindowFixture> m_ui;
};

SHARDSCOPE_UI_TEST(TestTensorAccess, WithDisplay)
#include "tst_tensor_access.moc"
