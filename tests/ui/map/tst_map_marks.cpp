// SPDX-License-Identifier: Apache-2.0
// Marks, titles and names of the map say what they are of.
#include "core/layout/rank_load.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_rank_totals.h"
#include "ui/layoutmap/tiles/map_labels.h"
#include "ui/models/map_palette.h"

#include <QLabel>

#include <algorithm>
#include <cmath>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// The map page with a folder; null if it does not open.
LayoutMapView* openMap(WindowFixture& ui, const QString& path)
{
    const bool opened = ui.open(path) && ui.window().showPage(u"map"_s) && ui.settle();
    return opened ? ui.find<LayoutMapView>("layoutMap") : nullptr;
}

} // namespace

class TestMapMarks : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theLayerStripNamesItsSection()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero3-w4"));
        QVERIFY(map != nullptr);
        auto* of = map->findChild<QLabel*>(u"mapLayersOf"_s);
        QCOMPARE(of->text(), u"sub-group 0"_s); // other sub-groups have other layers there
        QVERIFY(of->width() >= of->sizeHint().width());
        const MapLayout& layout = map->viewport()->layout();
        QTest::mouseMove(map->canvas(), QPoint(40, static_cast<int>(layout.bodyTop(1) + 4)));
        QTRY_COMPARE(of->text(), u"sub-group 1"_s);
        map->setSection(1);
        QTRY_COMPARE(of->text(), u"all rows"_s);
    }

    void barsAreAsLongAsTheirBytes()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero3-w4"));
        QVERIFY(map != nullptr);
        auto* totals = map->findChild<MapRankTotals*>();
        QVERIFY(totals->isVisible());
        const QImage image = totals->grab().toImage();
        const MapPalette& palette = map->canvas()->mapPalette();
        const QRgb bar = blended(palette.background, palette.text, 130);
        const MapStack& stack = *map->canvas()->stack();
        const MapLayout& layout = map->viewport()->layout();
        uint64_t most = 0;
        for (uint32_t section = 0; section < 3; ++section)
            most = std::max(most, stack.source(section).bytesOfStates(0));
        double width = 0; // of the longest bar
        for (uint32_t section = 0; section < 3; ++section) {
            int longest = 0;
            const auto end = layout.bodyTop(section) + layout.bodyHeight(section) / 4;
            for (auto y = static_cast<int>(layout.bodyTop(section)); y < end; ++y) {
                int run = 0;
                for (int x = 0; x < image.width(); ++x)
                    run += image.pixel(x, y) == bar ? 1 : 0;
                longest = std::max(longest, run);
            }
            const double share
                = static_cast<double>(stack.source(section).bytesOfStates(0)) / static_cast<double>(most);
            if (section == 0)
                width = longest / share;
            QVERIFY(width > 60);
            QVERIFY2(std::abs(longest - share * width) <= 2, qPrintable(QString::number(longest)));
        }
    }

    void marksOfTheOverviewAreAboveTheirElements()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero3-w4"));
        QVERIFY(map != nullptr);
        // In the last sub-group that has the scale of the map, which is narrower than the first.
        const MapLayout& layout = map->viewport()->layout();
        const MapStack& stack = *map->canvas()->stack();
        const MapSource& source = stack.source(1);
        QVERIFY(!layout.isEnlarged(1) && source.columns() < layout.columns());
        const ParamId param = source.unit().params.back();
        map->setFindings({{"non-finite", Severity::Error, "bad",
            ParamAddress{ui.checkpoint()->params[index(param)].name, source.state().name,
                std::pair<uint64_t, uint64_t>(0, 1)},
            {}}});
        QTRY_VERIFY(!map->isBusy());
        auto* overview = map->findChild<QWidget*>(u"mapMinimap"_s);
        const auto at = pointOfElement(map->canvas()->stack()->source(1), param, 0);
        QVERIFY(at);
        const double wanted
            = static_cast<double>(at->element) / static_cast<double>(layout.columns()) * overview->width();
        const QImage image = overview->grab().toImage();
        int marks = 0;
        for (int x = 0; x < image.width(); ++x) {
            if (image.pixel(x, 0) != map->canvas()->mapPalette().error)
                continue;
            ++marks;
            QVERIFY2(std::abs(x - wanted) <= 2, qPrintable(QString::number(x)));
        }
        QVERIFY(marks > 0);
    }

    void findingsOfOtherStatesAreMarked()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero2-w2"));
        QVERIFY(map != nullptr);
        QCOMPARE(map->state(), "fp32");
        const std::string name = "layers.0.mlp.up.weight";
        map->setFindings({{"non-finite", Severity::Error, "bad",
            ParamAddress{name, "exp_avg", std::pair<uint64_t, uint64_t>(261, 277)}, {}}});
        QTRY_VERIFY(!map->isBusy());
        const auto stack = map->canvas()->stack();
        const ParamId param = *ui.checkpoint()->findParam(name);
        const MapSource& source = stack->source(*stack->sectionOf(param));
        const auto at = pointOfElement(source, param, 262);
        QVERIFY(at);
        QCOMPARE(int{source.worstSeverity(at->row, at->row + 1, at->element, at->element + 1)}, 2);
        QCOMPARE(MapText::worst(*stack), u"error in exp_avg"_s);
        QVERIFY(MapText::tooltip(source, *at).contains(u"error here in exp_avg"_s));
        map->setState(std::string_view("exp_avg"));
        QTRY_VERIFY(!map->isBusy());
        QCOMPARE(MapText::worst(*map->canvas()->stack()), u"error"_s);
        map->setState(std::string_view("exp_avg_sq"));
        QTRY_VERIFY(!map->isBusy());
        QCOMPARE(MapText::worst(*map->canvas()->stack()), u"error in exp_avg"_s);
    }

    void namesFitAtAnyPixelRatio()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const MapStack stack(ui.checkpoint(), {.state = "fp32"}, {});
        for (const double ratio : {1.0, 1.5, 2.0}) {
            MapViewport viewport;
            viewport.setWhole(stack.sizes());
            viewport.setSize({static_cast<int>(700 * ratio), static_cast<int>(900 * ratio)}, ratio);
            MapLabels labels;
            QFont font;
            font.setPixelSize(static_cast<int>(12 * ratio));
            labels.setFont(font);
            const auto found = labels.layout(stack, viewport);
            QVERIFY(found.size() > 10);
            for (const MapLabel& label : found) {
                if (label.role == MapLabel::Role::Name)
                    QVERIFY2(QFontMetrics(font).horizontalAdvance(label.text)
                            <= label.box.width() - 2 * static_cast<int>(std::lround(4 * ratio)),
                        qPrintable(label.text));
            }
        }
    }

    void aSelectedStateIsShownOnce()
    {
        WindowFixture ui;
        auto* map = openMap(ui, samplePath("zero2-w2"));
        QVERIFY(map != nullptr);
        QVERIFY(ui.window().goToAddress(u"layers.0.mlp.up.weight#exp_avg"_s));
        QVERIFY(ui.settle());
        QCOMPARE(map->state(), "exp_avg");
        map->setState(std::string_view("fp32")); // as the user chooses afterwards
        map->setProjection(MapQuery::Projection::Unrolled);
        QVERIFY(ui.settle());
        QCOMPARE(map->state(), "fp32");
    }
};

SHARDSCOPE_UI_TEST(TestMapMarks, WithDisplay)
#include "tst_map_marks.moc"
