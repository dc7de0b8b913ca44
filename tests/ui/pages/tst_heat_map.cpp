// SPDX-License-Identifier: Apache-2.0
// The heat map by keyboard, and the compute device of the statistics next to it.
#include "core/layout/fragments.h"
#include "tests/support/waiting_file_system.h"
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/map_palette.h"
#include "ui/pages/tensor_page.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/histogram_view.h"
#include "ui/tensorview/long_scroll.h"
#include "ui/tensorview/statistics_panel.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/tensorview/tensor_pages.h"
#include "ui/widgets/elided_label.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestHeatMap : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theHeatMapIsDrivenByKeys()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* page = ui.find<TensorPage>("tensorPage");
        auto* heat = ui.find<HeatMap>("heatMap");
        QVERIFY((heat->focusPolicy() & Qt::TabFocus) != 0);
        heat->setFocus(Qt::TabFocusReason);
        QVERIFY(heat->hasFocus());
        const uint64_t columns = page->grid()->slice().columns();
        const uint64_t last = page->source()->elements - 1;
        const std::tuple<Qt::Key, Qt::KeyboardModifiers, uint64_t> steps[] = {{Qt::Key_Right, {}, 1},
            {Qt::Key_Down, {}, columns + 1}, {Qt::Key_Left, {}, columns}, {Qt::Key_Left, {}, columns},
            {Qt::Key_End, {}, 2 * columns - 1}, {Qt::Key_Up, {}, columns - 1}, {Qt::Key_Home, {}, 0},
            {Qt::Key_End, Qt::ControlModifier, last}, {Qt::Key_Down, {}, last}, {Qt::Key_Right, {}, last},
            {Qt::Key_Home, Qt::ControlModifier, 0}, {Qt::Key_PageDown, {}, columns}, {Qt::Key_PageUp, {}, 0}};
        for (const auto& [key, modifiers, element] : steps) {
            QTest::keyClick(heat, key, modifiers);
            QCOMPARE(page->cursor().element(), element);
            const QString value = u"%1 = "_s.arg(page->source()->indexText(element))
                % page->grid()->selectedText(); // of that one cell
            for (const QString& text :
                {heat->accessibleDescription(), ui.find<ElidedLabel>("statusHover")->text()})
                QVERIFY2(text.contains(value), qPrintable(text % u" has no "_s % value));
        }
        page->grid()->setFocus(Qt::TabFocusReason);
        QVERIFY(ui.find<ElidedLabel>("statusHover")->text().isEmpty());
    }

    void theHeatMapsCursorStaysOnElements()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* page = ui.find<TensorPage>("tensorPage");
        auto* heat = ui.find<HeatMap>("heatMap");
        heat->setFocus(Qt::TabFocusReason);
        QTest::keyClick(heat, Qt::Key_End, Qt::ControlModifier);
        QCOMPARE(page->cursor().element(), page->source()->elements - 1);
        for (int i = 0; i < 400; ++i)
            QTest::keyClick(heat, i % 3 == 0 ? Qt::Key_Down : Qt::Key_Right);
        QVERIFY(page->cursor().element() < page->source()->elements);
    }

    void enterCentresTheGrid()
    {
        WindowFixture ui;
        const CheckpointPtr checkpoint = hugeCheckpoint(ui.folder(u"huge.bin"_s));
        QVERIFY(checkpoint != nullptr);
        OwnTensorPage own(ui);
        TensorPage& page = own.page;
        page.activateWindow();
        own.show(checkpoint);
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY_WITH_TIMEOUT(!page.isBusy(), 60'000);
        auto* heat = page.findChild<HeatMap*>(u"heatMap"_s);
        heat->setFocus(Qt::TabFocusReason);
        for (int i = 0; i < 40; ++i)
            QTest::keyClick(heat, i % 2 == 0 ? Qt::Key_Down : Qt::Key_Right);
        // A cell represents many elements and says so; the cursor goes to the shown element.
        const auto cell = *page.grid()->slice().cellOf(page.cursor().element());
        QVERIFY(cell.row > 40 && cell.column > 40);
        QTRY_VERIFY2(heat->accessibleDescription().contains(u"one cell of about"_s),
            qPrintable(heat->accessibleDescription()));
        auto* rows = page.grid()->verticalScrollBar();
        const auto middle = [&] {
            return static_cast<uint64_t>(rows->value()) + static_cast<uint64_t>(rows->pageStep()) / 2;
        };
        QVERIFY(middle() + 2 < cell.row); // it is seen, at the lower edge
        QTest::keyClick(heat, Qt::Key_Return);
        QVERIFY(middle() + 1 >= cell.row && middle() <= cell.row + 1);
        QVERIFY(heat->hasFocus());
        page.findChild<QTabWidget*>(u"tensorViews"_s)->setCurrentIndex(1);
        QTest::keyClick(heat, Qt::Key_Enter);
        QVERIFY(page.grid()->isVisible());
    }

    void cellsWithoutNumbersLookAlike()
    {
        WindowFixture ui;
        QVERIFY(ui.open(copiedSample("zero2-w2", ui.folder(u"nan"_s))));
        const char* name = "layers.0.attention.wq.weight";
        const auto runs = fragmentsOf(*ui.checkpoint(), *ui.checkpoint()->findParam(name), "fp32", 0, 1);
        QVERIFY(runs && !runs->empty());
        QFile file(QString::fromStdString(ui.checkpoint()->file(runs->front().file).path.native()));
        QVERIFY(file.open(QIODevice::ReadWrite)
            && file.seek(static_cast<qint64>(runs->front().byteOffset) + 8)); // beside the cursor
        const std::array<float, 2> values{
            std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
        QVERIFY(file.write(reinterpret_cast<const char*>(values.data()), sizeof values) == sizeof values);
        file.close();
        QTest::keyClick(&ui.window(), Qt::Key_F5); // the file is another one now
        QVERIFY(ui.settle());
        QVERIFY(showTensor(ui, name, "fp32"));
        auto* heat = ui.find<HeatMap>("heatMap");
        heat->resize(heat->width(), 600); // so high that cells are hatched
        const QImage image = heat->grab().toImage();
        const QRgb colour = mapPaletteFrom(ui.theme()).error;
        QRegion found;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width() / 2; ++x) // without the legend
                if ((image.pixel(x, y) & 0xFFFFFF) == (colour & 0xFFFFFF))
                    found += QRect(x, y, 1, 1);
        const QRect box = found.boundingRect();
        QVERIFY2(box.width() >= 16 && box.height() >= 8,
            qPrintable(u"%1 by %2"_s.arg(box.width()).arg(box.height())));
        const auto share = [&](const QRect& part) {
            int pixels = 0;
            for (const QRect& each : found& part)
                pixels += each.width() * each.height();
            return static_cast<double>(pixels) / (part.width() * part.height());
        };
        const double left = share(box.adjusted(0, 0, -box.width() / 2, 0));
        const double right = share(box.adjusted(box.width() / 2, 0, 0, 0));
        QVERIFY2(std::abs(left - right) < 0.1, qPrintable(u"%1 %2"_s.arg(left).arg(right)));
        QVERIFY2(left > 0.3 && left < 0.7, qPrintable(QString::number(left))); // hatched, as in the legend
    }

    void anotherTensorsPictureIsNotMixed()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        test::WaitingFileSystem slow(std::chrono::milliseconds(150));
        OwnTensorPage own(ui, slow);
        TensorPage& page = own.page;
        own.show(ui.checkpoint());
        auto* heat = page.findChild<HeatMap*>(u"heatMap"_s);
        own.session.selection().selectParam(*ui.checkpoint()->findParam("layers.0.attention.wq.weight"));
        QTRY_VERIFY_WITH_TIMEOUT(heat->samples().width > 0 && !page.isBusy(), 60'000);
        const auto pixel = [&] { return heat->grab().toImage().pixel(20, 20); };
        const QRgb before = pixel();
        const QPoint middle(heat->width() / 3, heat->height() / 2);
        QTest::mouseClick(heat, Qt::LeftButton, {}, middle);
        QVERIFY(page.cursor().element() > 0);
        own.session.selection().selectParam(*ui.checkpoint()->findParam("layers.0.mlp.up.weight"));
        QTRY_VERIFY(heat->accessibleDescription() == u"Reading…"_s);
        QVERIFY(pixel() != before); // the old picture is pale
        QTest::mouseClick(heat, Qt::LeftButton, {}, middle);
        QTest::keyClick(heat, Qt::Key_Down);
        QCOMPARE(page.cursor().element(), uint64_t{0});
        QTRY_VERIFY_WITH_TIMEOUT(!page.isBusy(), 60'000);
        QTest::mouseClick(heat, Qt::LeftButton, {}, middle);
        QVERIFY(page.cursor().element() > 0);
    }

    void saysWhatComputed()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(showTensor(ui, "norm.weight", "fp32"));
        auto* note = ui.find<QLabel>("statisticsNote");
        QVERIFY2(note->text().contains(u"plain code"_s), qPrintable(note->text()));
        QVERIFY2(note->toolTip().contains(u"Less than 2.0 GiB"_s), qPrintable(note->toolTip()));
        QCOMPARE(note->accessibleDescription(), note->toolTip());
    }
};

SHARDSCOPE_UI_TEST(TestHeatMap, WithDisplay)
#include "tst_heat_map.moc"
