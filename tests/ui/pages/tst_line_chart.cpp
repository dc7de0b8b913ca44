// SPDX-License-Identifier: Apache-2.0
// A vector as a line: its values, marks, zoom, keys, and what screen readers get of it.
#include "tests/support/waiting_file_system.h"
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/tensor_page.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/histogram_view.h"
#include "ui/tensorview/line_chart.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/widgets/elided_label.h"

#include <QAccessible>
#include <QCheckBox>
#include <QLabel>
#include <QTest>
#include <QWheelEvent>

#include <cmath>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// A vector of floats in a file, on a page of its own.
struct OwnVector {
    OwnVector(WindowFixture& ui, const std::vector<float>& values)
        : own(ui)
    {
        const QString path = ui.folder(u"vector.bin"_s);
        QFile file(path);
        const auto bytes = static_cast<qint64>(values.size() * sizeof(float));
        ok = file.open(QIODevice::WriteOnly)
            && file.write(reinterpret_cast<const char*>(values.data()), bytes) == bytes;
        file.close();
        auto checkpoint = std::make_shared<Checkpoint>(*hugeCheckpoint(ui.folder(u"unused"_s)));
        checkpoint->files[0].path = path.toStdString();
        checkpoint->params[0].shape = {values.size()};
        checkpoint->params[0].elements = values.size();
        checkpoint->whole[0].run.elements = values.size();
        own.show(checkpoint);
        own.page.activateWindow();
        own.session.selection().selectParam(ParamId{0});
        ok = ok && QTest::qWaitFor([&] { return !own.page.isBusy(); }, 30'000);
        chart = own.page.findChild<LineChart*>(u"lineChart"_s);
    }
    [[nodiscard]] bool settle() const
    {
        return QTest::qWaitFor([&] { return !own.page.isBusy(); }, 30'000);
    }

    OwnTensorPage own;
    LineChart* chart = nullptr;
    bool ok = false;
};

std::vector<float> wave(size_t count)
{
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<float>(
            std::sin(static_cast<double>(i) / 37.0) * (1.0 + static_cast<double>(i % 11)));
    return out;
}

void wheel(QWidget* widget, QPoint at, int angle, Qt::KeyboardModifiers modifiers)
{
    QWheelEvent event(
        at, widget->mapToGlobal(at), {}, {0, angle}, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

} // namespace

class TestLineChart : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void aVectorIsALine()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("autoep-w4")));
        QVERIFY(showTensor(ui, "layers.0.norm.weight", "fp32")); // 12 elements
        auto* chart = ui.find<LineChart>("lineChart");
        QVERIFY(chart->isVisible());
        QVERIFY(!ui.find<HeatMap>("heatMap")->isVisible());
        const LineSamples& line = chart->samples();
        QCOMPARE(line.columns.size(), size_t{12});
        QCOMPARE(line.missing + line.nans + line.infinities, uint64_t{0});
        auto* page = ui.find<TensorPage>("tensorPage");
        QTRY_VERIFY(page->grid()->isComplete());
        for (uint64_t i = 0; i < 12; ++i) {
            const auto cell = page->grid()->slice().cellOf(i);
            QCOMPARE(chart->columnText(i), page->grid()->cellText(*cell));
        }
        // A matrix is a heat map again.
        const auto& params = ui.checkpoint()->params;
        const auto matrix = std::find_if(
            params.begin(), params.end(), [](const Parameter& each) { return each.shape.size() == 2; });
        ui.window().selection().selectParam(ParamId{static_cast<uint32_t>(matrix - params.begin())});
        QVERIFY(ui.settle());
        QVERIFY(!chart->isVisible() && ui.find<HeatMap>("heatMap")->isVisible());
    }

    void everyColumnHasTheExtremesOfItsElements()
    {
        WindowFixture ui;
        const std::vector<float> values = wave(100'003);
        OwnVector vector(ui, values);
        QVERIFY(vector.ok);
        const LineSamples& line = vector.chart->samples();
        QVERIFY(!line.sampled);
        QCOMPARE(line.columns.size(), size_t{1024});
        uint64_t at = 0;
        for (const LineColumn& column : line.columns) {
            QCOMPARE(column.first, at);
            at = column.end;
            const auto [low, high]
                = std::minmax_element(values.begin() + static_cast<ptrdiff_t>(column.first),
                    values.begin() + static_cast<ptrdiff_t>(column.end));
            QCOMPARE(column.low, static_cast<double>(*low));
            QCOMPARE(column.high, static_cast<double>(*high));
            QCOMPARE(static_cast<double>(values[column.lowAt]), column.low);
            QCOMPARE(static_cast<double>(values[column.highAt]), column.high);
        }
        QCOMPARE(at, uint64_t{100'003});
    }

    void zoomsAndScrolls()
    {
        WindowFixture ui;
        const std::vector<float> values = wave(50'000);
        OwnVector vector(ui, values);
        QVERIFY(vector.ok);
        LineChart* chart = vector.chart;
        const QPoint middle(chart->xOf(20'000), chart->height() / 2);
        const uint64_t held = chart->elementAt(middle.x());
        for (int i = 0; i < 8; ++i)
            wheel(chart, middle, 120, Qt::ControlModifier);
        const auto [begin, end] = chart->view();
        QVERIFY(end - begin < 250 && begin <= held && end > held);
        QVERIFY(std::abs(chart->xOf(held) - middle.x()) < 6); // what was at the pointer stays there
        QVERIFY(vector.settle());
        QCOMPARE(chart->samples().begin, begin);
        QCOMPARE(chart->columnText(0), shortNumber(static_cast<double>(values[begin])));
        wheel(chart, middle, -120, {});
        QVERIFY(chart->view().first > begin);
        // By keys: the cursor, then the view around it.
        chart->setFocus(Qt::TabFocusReason);
        QTest::keyClick(chart, Qt::Key_0);
        QCOMPARE(chart->view(), std::pair(uint64_t{0}, uint64_t{50'000}));
        QTest::keyClick(chart, Qt::Key_End);
        QCOMPARE(vector.own.page.cursor().element(), uint64_t{49'999});
        QTest::keyClick(chart, Qt::Key_W);
        QCOMPARE(chart->view(), std::pair(uint64_t{25'000}, uint64_t{50'000}));
        QTest::keyClick(chart, Qt::Key_Home); // the view follows
        QCOMPARE(chart->view().first, uint64_t{0});
        QTest::keyClick(chart, Qt::Key_D);
        QCOMPARE(chart->view().first, uint64_t{2'500});
        QTest::keyClick(chart, Qt::Key_S);
        QCOMPARE(chart->view(), std::pair(uint64_t{0}, uint64_t{50'000}));
        // A drag zooms to what was dragged over, a double click shows all again.
        QTest::mousePress(chart, Qt::LeftButton, {}, {chart->xOf(10'000), 60});
        QTest::mouseRelease(chart, Qt::LeftButton, {}, {chart->xOf(30'000), 60});
        QVERIFY(chart->view().first > 9'000 && chart->view().first < 11'000 && chart->view().second < 31'000);
        QTest::mouseDClick(chart, Qt::LeftButton, {}, {chart->xOf(20'000), 60});
        QCOMPARE(chart->view(), std::pair(uint64_t{0}, uint64_t{50'000}));
        QTest::mouseClick(chart, Qt::LeftButton, {}, {chart->xOf(25'000), 60});
        QVERIFY(vector.own.page.cursor().element() > 24'000 && vector.own.page.cursor().element() < 26'000);
    }

    void whatIsNoNumberIsMarked()
    {
        WindowFixture ui;
        std::vector<float> values = wave(9'000);
        values[3'000] = std::numeric_limits<float>::quiet_NaN();
        values[3'001] = std::numeric_limits<float>::quiet_NaN();
        values[7'000] = -std::numeric_limits<float>::infinity();
        OwnVector vector(ui, values);
        QVERIFY(vector.ok);
        const LineSamples& line = vector.chart->samples();
        QCOMPARE(line.nans, uint64_t{2});
        QCOMPARE(line.infinities, uint64_t{1});
        const LineColumn& bad = line.columns[line.columnOf(3'000)];
        QCOMPARE(bad.oddAt, uint64_t{3'000});
        QVERIFY(bad.hasValues() && std::isfinite(bad.low) && std::isfinite(bad.high));
        QVERIFY(vector.chart->columnText(line.columnOf(7'000)).contains(u"1 infinite"_s));
        const QString whole = vector.chart->accessibleDescription();
        QVERIFY2(whole.contains(u"2 NaN"_s) && whole.contains(u"1 infinite"_s), qPrintable(whole));
        // The marks are seen: red where the NaN are.
        const QImage image = vector.chart->grab().toImage();
        const QColor red = ui.theme().colour(ThemeRole::Error);
        const int x = vector.chart->xOf(3'000);
        int seen = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int dx = -2; dx <= 2; ++dx)
                seen += image.pixelColor(x + dx, y) == red ? 1 : 0;
        QVERIFY(seen > 20);
    }

    void hugeVectorsAreSampled()
    {
        WindowFixture ui;
        auto checkpoint = std::make_shared<Checkpoint>(*hugeCheckpoint(ui.folder(u"huge.bin"_s)));
        checkpoint->params[0].shape = {uint64_t{1} << 30};
        OwnTensorPage own(ui);
        own.show(checkpoint);
        own.session.selection().selectParam(ParamId{0});
        QTRY_VERIFY_WITH_TIMEOUT(!own.page.isBusy(), 60'000);
        auto* chart = own.page.findChild<LineChart*>(u"lineChart"_s);
        QVERIFY(chart->samples().sampled);
        QVERIFY(own.page.findChild<QLabel*>(u"heatSampled"_s)->text().contains(u"≈"_s));
        QVERIFY(chart->columnText(5).startsWith(u"≈"_s));
        chart->setFocus(Qt::TabFocusReason);
        for (int i = 0; i < 12; ++i)
            QTest::keyClick(chart, Qt::Key_W);
        QTRY_VERIFY_WITH_TIMEOUT(!own.page.isBusy(), 60'000);
        QVERIFY(!chart->samples().sampled); // what is zoomed to is read whole
        QVERIFY(!own.page.findChild<QLabel*>(u"heatSampled"_s)->text().contains(u"≈"_s));
    }

    void ranksEndAtDashedLines()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(showTensor(ui, "norm.weight", "fp32")); // 32 elements on 4 ranks
        auto* chart = ui.find<LineChart>("lineChart");
        const ElementPlaces places(ui.find<TensorPage>("tensorPage")->source());
        QCOMPARE(places.runs().size(), size_t{4});
        for (uint64_t element = 0; element < 32; ++element)
            QCOMPARE(places.runOf(element), static_cast<size_t>(element / 8));
        QCOMPARE(places.runText(9), u"dp 1 holds elements 8 to 15"_s);
        QTest::mouseMove(chart, {chart->xOf(17), chart->height() / 2});
        const QPointF there(chart->xOf(17), chart->height() / 2.0);
        QMouseEvent move(
            QEvent::MouseMove, there, chart->mapToGlobal(there), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QApplication::sendEvent(chart, &move);
        const QString hovered = ui.find<ElidedLabel>("statusHover")->text();
        QVERIFY2(hovered.startsWith(u"[17] = "_s) && hovered.contains(u"dp 2 holds elements 16 to 23"_s),
            qPrintable(hovered));
    }

    void screenReadersGetItsColumns()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(showTensor(ui, "norm.weight", "fp32"));
        auto* chart = ui.find<LineChart>("lineChart");
        QAccessibleInterface* access = QAccessible::queryAccessibleInterface(chart);
        QVERIFY(access != nullptr && access->tableInterface() != nullptr);
        QCOMPARE(access->tableInterface()->rowCount(), 32);
        QCOMPARE(access->childCount(), 32);
        chart->setFocus(Qt::TabFocusReason);
        QTest::keyClick(chart, Qt::Key_Right);
        QTest::keyClick(chart, Qt::Key_Right);
        QAccessibleInterface* cell = access->focusChild();
        QVERIFY(cell != nullptr);
        QCOMPARE(access->indexOfChild(cell), 2);
        QCOMPARE(cell->text(QAccessible::Name), chart->columnText(2));
        QVERIFY(cell->text(QAccessible::Description).startsWith(u"[2]"_s));
        QVERIFY(cell->state().focused);
        QCOMPARE(access->childAt(cell->rect().center().x(), cell->rect().center().y()), cell);
        QCOMPARE(access->text(QAccessible::Value), chart->columnText(2));
    }
};

SHARDSCOPE_UI_TEST(TestLineChart, WithDisplay)
#include "tst_line_chart.moc"
