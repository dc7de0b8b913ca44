// SPDX-License-Identifier: Apache-2.0
// The values of a parameter in the window: grid, bytes, pictures, statistics.
#include "core/layout/fragments.h"
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
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

#include <bit>
#include <cstring>
#include <numeric>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

std::vector<float> floatsOf(const Checkpoint& checkpoint, const char* name, const char* state)
{
    const ParamId param = *checkpoint.findParam(name);
    const uint64_t elements = checkpoint.params[index(param)].elements;
    std::vector<uint8_t> bytes(elements * sizeof(float));
    if (!readElements(io::realFileSystem(), checkpoint, {param, state, 0, elements}, bytes))
        return {};
    std::vector<float> out(elements);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

/// Overwrites one fp32 master of a copied sample.
bool overwrite(const Checkpoint& checkpoint, const char* name, uint64_t element, float value)
{
    const auto pieces = fragmentsOf(checkpoint, *checkpoint.findParam(name), "fp32", element, element + 1);
    if (!pieces || pieces->size() != 1)
        return false;
    QFile file(QString::fromStdString(checkpoint.file(pieces->front().file).path.native()));
    return file.open(QIODevice::ReadWrite) && file.seek(static_cast<qint64>(pieces->front().byteOffset))
        && file.write(reinterpret_cast<const char*>(&value), sizeof value) == sizeof value;
}

} // namespace

class TestTensor : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void slicesFindEveryElement_data()
    {
        QTest::addColumn<QList<qulonglong>>("shape");
        QTest::newRow("none") << QList<qulonglong>{};
        QTest::newRow("empty") << QList<qulonglong>{0};
        QTest::newRow("empty rows") << QList<qulonglong>{0, 4};
        QTest::newRow("line") << QList<qulonglong>{11};
        QTest::newRow("long line") << QList<qulonglong>{5000};
        QTest::newRow("matrix") << QList<qulonglong>{3, 4};
        QTest::newRow("three") << QList<qulonglong>{2, 3, 4};
        QTest::newRow("four") << QList<qulonglong>{2, 3, 1, 5};
    }

    void slicesFindEveryElement()
    {
        QFETCH(QList<qulonglong>, shape);
        const Shape dims(shape.begin(), shape.end());
        const uint64_t elements = *elementCount(dims);
        std::vector<std::pair<size_t, size_t>> axes{{0, 0}};
        for (size_t a = 0; a < dims.size(); ++a)
            for (size_t b = 0; b < dims.size() && dims.size() > 1; ++b)
                if (a != b)
                    axes.emplace_back(a, b);
        for (const auto& [rows, columns] : axes) {
            TensorSlice slice(dims);
            if (rows != columns)
                slice.setAxes(rows, columns);
            for (uint64_t element = 0; element < elements; ++element) {
                slice.showElement(element);
                const auto cell = slice.cellOf(element);
                QVERIFY(cell && cell->row < slice.rows() && cell->column < slice.columns());
                QCOMPARE(*slice.elementAt(*cell), element);
                if (!slice.isWrapped() && cell->row + 1 < slice.rows())
                    QCOMPARE(*slice.elementAt({cell->row + 1, cell->column}), element + slice.rowStride());
            }
            QVERIFY(!slice.elementAt({slice.rows(), 0}));
            QVERIFY(!slice.cellOf(elements));
        }
    }

    void spellsValues()
    {
        const float third = 1.0F / 3;
        const auto* bytes = reinterpret_cast<const uint8_t*>(&third);
        QCOMPARE(valueText(DType::Float32, bytes, {NumberForm::Digits, 3}), u"0.333"_s);
        QCOMPARE(valueText(DType::Float32, bytes, {NumberForm::Decimals, 2}), u"0.33"_s);
        QCOMPARE(valueText(DType::Float32, bytes, {NumberForm::Scientific, 2}), u"3.33e-01"_s);
        QCOMPARE(valueText(DType::Float32, bytes, {NumberForm::Exact, 0}), u"0.33333334"_s);
        QCOMPARE(valueText(DType::Float32, bytes, {NumberForm::Hex, 0}), u"3eaaaaab"_s);
        const uint8_t fp8 = 0x38;
        QCOMPARE(valueText(DType::Float8E4M3, &fp8, {NumberForm::Digits, 3}), u"1"_s);
        const uint8_t bf16[] = {0x80, 0x3f};
        QCOMPARE(valueText(DType::BFloat16, bf16, {NumberForm::Digits, 3}), u"1"_s);
        const int64_t big = 123456789012;
        QCOMPARE(valueText(DType::Int64, reinterpret_cast<const uint8_t*>(&big), {NumberForm::Digits, 3}),
            u"123456789012"_s);
    }

    void scrollsOverMoreLinesThanAnIntCounts()
    {
        QScrollBar bar;
        LongScroll scroll(&bar);
        const uint64_t lines = uint64_t{1} << 40;
        scroll.setLines(lines, 30);
        scroll.setFirst(lines);
        QCOMPARE(scroll.first(), lines - 30);
        QCOMPARE(bar.value(), bar.maximum());
        scroll.scrollBy(-7);
        QCOMPARE(scroll.first(), lines - 37);
        scroll.reveal(5);
        QCOMPARE(scroll.first(), uint64_t{5});
        scroll.reveal(40);
        QCOMPARE(scroll.first(), uint64_t{11});
        bar.setValue(bar.maximum());
        QVERIFY(scroll.takeBar());
        QCOMPARE(scroll.first(), lines - 30);
        QVERIFY(!scroll.takeBar());
    }

    void showsEveryTensorOfASample_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* name : {"zero1-w2", "zero3-w4", "slices-w4", "zenflow-w2", "muon-w3",
                 "stage0-adafactor", "zero2-universal-w2/global_step5_universal"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    void showsEveryTensorOfASample()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        QVERIFY(ui.window().showPage(u"tensor"_s));
        auto* page = ui.find<TensorPage>("tensorPage");
        auto* states = ui.find<QTabBar>("tensorStates");
        for (uint32_t i = 0; i < ui.checkpoint()->params.size(); ++i) {
            ui.window().selection().selectParam(ParamId{i});
            QVERIFY(ui.settle());
            const auto known = statesOf(*ui.checkpoint(), ParamId{i});
            QCOMPARE(states->count(), static_cast<int>(known.size()));
            for (int tab = 0; tab < states->count(); ++tab) {
                states->setCurrentIndex(tab);
                QVERIFY(ui.settle());
                QVERIFY(page->source() != nullptr);
                if (page->source()->elements > 0) {
                    QTRY_VERIFY(page->grid()->isComplete());
                    QVERIFY2(page->grid()->cellText({0, 0}) != "missing"_L1,
                        ui.checkpoint()->params[i].name.c_str());
                }
            }
        }
    }

    void theGridIsTheTensor()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        const char* name = "layers.0.mlp.down.weight";
        QVERIFY(showTensor(ui, name, "exp_avg"));
        auto* page = ui.find<TensorPage>("tensorPage");
        QCOMPARE(page->source()->state, std::string("exp_avg"));
        const std::vector<float> values = floatsOf(*ui.checkpoint(), name, "exp_avg");
        const TensorSlice& slice = page->grid()->slice();
        QCOMPARE(slice.rows() * slice.columns(), static_cast<uint64_t>(values.size()));
        QTRY_VERIFY(page->grid()->isComplete());
        for (uint64_t row = 0; row < slice.rows(); row += 5) {
            for (uint64_t column = 0; column < slice.columns(); column += 3) {
                QTRY_VERIFY(page->grid()->cellText({row, column}) != u"…"_s);
                QCOMPARE(page->grid()->cellText({row, column}),
                    QString::number(values[row * slice.columns() + column], 'g', 5));
            }
        }
        const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
        auto* statistics = ui.find<StatisticsPanel>("statisticsPanel");
        QCOMPARE(statistics->value(u"Min"_s), shortNumber(*smallest));
        QCOMPARE(statistics->value(u"Max"_s), shortNumber(*largest));
        QVERIFY(ui.find<QLabel>("tensorFacts")->text().contains(u"float32"_s));
        QCOMPARE(ui.find<HeatMap>("heatMap")->samples().low, static_cast<double>(*smallest));
    }

    void isDrivenByKeys()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* page = ui.find<TensorPage>("tensorPage");
        TensorGrid* grid = page->grid();
        const uint64_t columns = grid->slice().columns();
        grid->setFocus();
        QTest::keyClick(grid, Qt::Key_Down);
        QTest::keyClick(grid, Qt::Key_Right);
        QTest::keyClick(grid, Qt::Key_Right);
        QCOMPARE(page->cursor().element(), columns + 2);
        const std::vector<float> values = floatsOf(*ui.checkpoint(), "layers.0.attention.wq.weight", "fp32");
        const QString where = ui.find<ElidedLabel>("tensorWhere")->text();
        QVERIFY(ui.find<ElidedLabel>("tensorValue")->text().startsWith(u"[1, 2] = "_s));
        QVERIFY2(where.contains(u"dp 0"_s) && where.contains(u"byte "_s), qPrintable(where));
        QTest::keyClick(grid, Qt::Key_Right, Qt::ShiftModifier);
        QTest::keyClick(grid, Qt::Key_Down, Qt::ShiftModifier);
        QCOMPARE(ui.find<QLabel>("tensorSelected")->text(), u"2 × 2 selected"_s);
        QTest::keyClick(grid, Qt::Key_C, Qt::ControlModifier);
        const QStringList lines = QApplication::clipboard()->text().split(u'\n');
        QCOMPARE(lines.size(), 2);
        const QStringList first = lines[0].split(u'\t');
        QCOMPARE(first.size(), 2);
        QCOMPARE(first[0].toFloat(), values[columns + 2]); // all digits
        QTest::keyClick(grid, Qt::Key_End, Qt::ControlModifier);
        QCOMPARE(page->cursor().element(), static_cast<uint64_t>(values.size() - 1));
        QTest::keyClick(grid, Qt::Key_Home, Qt::ControlModifier);
        QCOMPARE(page->cursor().element(), uint64_t{0});
    }

    void bytesKeepStep()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* page = ui.find<TensorPage>("tensorPage");
        auto* tabs = ui.find<QTabWidget>("tensorViews");
        auto* hex = ui.find<HexView>("tensorHex");
        tabs->setCurrentWidget(hex);
        QVERIFY(ui.settle());
        const std::vector<float> values = floatsOf(*ui.checkpoint(), "layers.0.attention.wq.weight", "fp32");
        QString expected;
        for (const uint8_t byte : std::bit_cast<std::array<uint8_t, 4>>(values[0]))
            expected += u"%1 "_s.arg(byte, 2, 16, QLatin1Char('0'));
        QTRY_VERIFY(hex->lineText(0).startsWith(expected.trimmed()));
        hex->setFocus();
        QTest::keyClick(hex, Qt::Key_Down);
        QCOMPARE(page->cursor().element(), uint64_t{4});
        QTest::keyClick(hex, Qt::Key_End);
        QCOMPARE(page->cursor().element(), static_cast<uint64_t>(values.size() - 1));
        const TensorSlice& slice = page->grid()->slice();
        QCOMPARE(*slice.cellOf(page->cursor().element()),
            (TensorSlice::Cell{slice.rows() - 1, slice.columns() - 1}));
        QTest::keyClick(hex, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text(), hex->elementText(values.size() - 1));
    }

    void reportsNonFiniteValues()
    {
        WindowFixture ui;
        const QString path = copiedSample("zero1-w2", ui.folder(u"ill"_s));
        const char* name = "layers.0.attention.wq.weight";
        QVERIFY(ui.open(path));
        const uint64_t columns = ui.checkpoint()->params[index(*ui.checkpoint()->findParam(name))].shape[1];
        QVERIFY(overwrite(*ui.checkpoint(), name, 3 * columns + 7, std::numeric_limits<float>::quiet_NaN()));
        QVERIFY(overwrite(*ui.checkpoint(), name, 4 * columns, std::numeric_limits<float>::infinity()));
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QVERIFY(showTensor(ui, name, "fp32"));
        const QString words = ui.find<QLabel>("tensorHealth")->text();
        QVERIFY2(words.contains(u"1 NaN, first at [3, 7]"_s), qPrintable(words));
        QVERIFY2(words.contains(u"1 infinite, first at [4, 0]"_s), qPrintable(words));
        const HeatSamples& heat = ui.find<HeatMap>("heatMap")->samples();
        QCOMPARE(std::count(heat.kinds.begin(), heat.kinds.end(), HeatKind::NotANumber), 1);
        QCOMPARE(std::count(heat.kinds.begin(), heat.kinds.end(), HeatKind::Infinite), 1);
        QVERIFY(showTensor(ui, name, "exp_avg"));
        QVERIFY(ui.find<QLabel>("tensorHealth")->text().isEmpty());
    }

    void aMissingRankIsShownAsMissing()
    {
        WindowFixture ui;
        const QString path = copiedSample("zero3-w4", ui.folder(u"torn"_s));
        QVERIFY(QFile::remove(path % u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s)
            || QFile::remove(path % u"/global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(path));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* page = ui.find<TensorPage>("tensorPage");
        const TensorSlice& slice = page->grid()->slice();
        QTRY_VERIFY(page->grid()->isComplete());
        int missing = 0;
        for (uint64_t row = 0; row < slice.rows(); ++row)
            missing += page->grid()->cellText({row, 0}) == "missing"_L1 ? 1 : 0;
        QVERIFY(missing > 0 && missing < static_cast<int>(slice.rows()));
        QVERIFY(ui.find<QLabel>("tensorHealth")->text().contains(u"cannot be read"_s));
        const HeatSamples& heat = ui.find<HeatMap>("heatMap")->samples();
        QVERIFY(std::count(heat.kinds.begin(), heat.kinds.end(), HeatKind::Missing) > 0);
    }

    void theBrushIsTheRangeOfTheColours()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(showTensor(ui, "layers.0.attention.wq.weight", "fp32"));
        auto* histogram = ui.find<HistogramView>("histogram");
        auto* heat = ui.find<HeatMap>("heatMap");
        ui.find<QCheckBox>("heatSymmetric")->setChecked(false);
        const ValueScale whole = heat->scale();
        QVERIFY(histogram->bars() > 4);
        histogram->setFocus();
        QTest::keyClick(histogram, Qt::Key_Right);
        QTest::keyClick(histogram, Qt::Key_Left, Qt::ShiftModifier);
        QVERIFY(histogram->brushed());
        QCOMPARE(heat->scale().low, histogram->brushed()->first);
        QVERIFY(heat->scale().low > whole.low && heat->scale().high < whole.high);
        QTest::keyClick(histogram, Qt::Key_Escape);
        QCOMPARE(heat->scale(), whole);
        // By mouse, too.
        QTest::mousePress(histogram, Qt::LeftButton, {}, {histogram->width() / 4, 20});
        QTest::mouseMove(histogram, {histogram->width() / 2, 20});
        const QPointF there(histogram->width() / 2.0, 20);
        QMouseEvent move(QEvent::MouseMove, there, histogram->mapToGlobal(there), Qt::NoButton,
            Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(histogram, &move);
        QVERIFY(histogram->brushed());
        ui.find<QCheckBox>("histogramExponent")->setChecked(true);
        QVERIFY(!histogram->brushed());
        QVERIFY(histogram->bars() > 1);
        ui.find<QCheckBox>("heatLog")->setChecked(true);
        QVERIFY(heat->scale().logarithmic);
    }

    void scalesPlaceValues()
    {
        const ValueScale even{-1, 2, true, false};
        QCOMPARE(even.place(0), 0.5);
        QCOMPARE(even.place(2), 1.0);
        QCOMPARE(even.place(-2), 0.0);
        QCOMPARE(even.place(9), 1.0);
        const ValueScale free{-1, 3, false, false};
        QCOMPARE(free.place(-1), 0.0);
        QCOMPARE(free.place(1), 0.5);
        const ValueScale log{-1, 1, true, true};
        QCOMPARE(log.place(0), 0.5);
        QCOMPARE(log.place(1), 1.0);
        QCOMPARE(log.place(1e-3), 0.75);
        QCOMPARE(log.place(-1e-3), 0.25);
        QCOMPARE(log.valueAt(0.75), 1e-3);
        const ValueScale flat{0, 0, true, false};
        QCOMPARE(flat.place(0), 0.5);
    }

    void slicesOfMoreDimensionsArePicked()
    {
        // No sample has three large dimensions, so the bar shows an inner view of one.
        WindowFixture ui;
        const QString path = ui.folder(u"cube.bin"_s);
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        std::vector<float> values(2 * 3 * 4);
        std::iota(values.begin(), values.end(), 0.0F);
        file.write(reinterpret_cast<const char*>(values.data()), static_cast<qint64>(values.size() * 4));
        file.close();
        auto checkpoint = std::make_shared<Checkpoint>(*hugeCheckpoint(ui.folder(u"unused"_s)));
        checkpoint->files[0].path = path.toStdString();
        checkpoint->params[0].shape = {2, 3, 4};
        checkpoint->params[0].elements = 24;
        checkpoint->whole[0].run.elements = 24;
        OwnTensorPage own(ui);
        TensorPage& page = own.page;
        own.show(checkpoint);
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY(!page.isBusy() && page.grid()->isComplete());
        QCOMPARE(page.grid()->cellText({2, 3}), u"11"_s);
        page.findChild<QSpinBox*>(u"sliceFixed0"_s)->setValue(1);
        QTRY_COMPARE(page.grid()->cellText({2, 3}), u"23"_s);
        page.findChild<QComboBox*>(u"sliceRows"_s)->setCurrentIndex(0); // rows: dim 0, columns: dim 2
        QCOMPARE(page.grid()->slice().rows(), uint64_t{2});
        QTRY_COMPARE(page.grid()->cellText({1, 3}), u"15"_s);
        // Choosing the other field's dimension swaps the two.
        page.findChild<QComboBox*>(u"sliceColumns"_s)->setCurrentIndex(0);
        QCOMPARE(page.grid()->slice().rows(), uint64_t{4});
        QCOMPARE(page.grid()->slice().columns(), uint64_t{2});
        page.cursor().set(22); // an element of another slice takes the grid along
        QVERIFY(page.grid()->slice().cellOf(22).has_value());
        page.findChild<QComboBox*>(u"numberForm"_s)->setCurrentIndex(4);
        QTRY_COMPARE(page.grid()->cellText(*page.grid()->slice().cellOf(22)), u"41b00000"_s);
    }

    void hugeTensorsAreNeverLoadedWhole()
    {
        WindowFixture ui;
        qputenv("XDG_CACHE_HOME", ui.folder(u"cache"_s).toUtf8()); // what is measured there
        const CheckpointPtr checkpoint = hugeCheckpoint(ui.folder(u"huge.bin"_s));
        QVERIFY(checkpoint != nullptr);
        OwnTensorPage own(ui);
        TensorPage& page = own.page;
        own.show(checkpoint);
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY_WITH_TIMEOUT(!page.isBusy() && page.grid()->isComplete(), 60'000);
        auto* statistics = page.findChild<StatisticsPanel*>(u"statisticsPanel"_s);
        QVERIFY(statistics->value(u"Min"_s).startsWith(u"≈"_s));
        QVERIFY(page.findChild<QPushButton*>(u"statisticsExact"_s)->isVisible());
        QVERIFY(page.findChild<HeatMap*>(u"heatMap"_s)->samples().sampled);
        page.grid()->setFocus();
        QTest::keyClick(page.grid(), Qt::Key_End, Qt::ControlModifier);
        QCOMPARE(page.cursor().element(), checkpoint->params[0].elements - 1);
        QTRY_COMPARE(page.grid()->cellText({32767, 32767}), u"0"_s);
        // Exact statistics are requested, and can be cancelled.
        auto* exact = page.findChild<QPushButton*>(u"statisticsExact"_s);
        exact->click();
        QCOMPARE(exact->text(), u"Cancel"_s);
        exact->click();
        QTRY_VERIFY(!page.isBusy());
        QVERIFY(statistics->value(u"Min"_s).startsWith(u"≈"_s));
    }
};

SHARDSCOPE_UI_TEST(TestTensor, WithDisplay)
#include "tst_tensor.moc"
