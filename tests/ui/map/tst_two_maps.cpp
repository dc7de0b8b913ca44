// SPDX-License-Identifier: Apache-2.0
// The two maps of a comparison: their scale, their place, their labels, and the room that they have.
#include "core/layout/fragments.h"
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_ruler.h"
#include "ui/layoutmap/tiles/map_labels.h"
#include "ui/pages/compare_maps.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/verdict_panel.h"
#include "ui/style/text_size.h"

#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QProcess>
#include <QScopeGuard>
#include <QSplitter>
#include <QToolButton>

#include <bit>
#include <cmath>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Writes one element of a parameter's state into a copy of that checkpoint's run folder.
bool writeElement(const Checkpoint& checkpoint, const QString& copy, const StateRange& element, uint32_t bits)
{
    const auto pieces
        = fragmentsOf(checkpoint, element.param, element.state, element.begin, element.begin + 1);
    if (!pieces || pieces->size() != 1 || itemSize(pieces->front().dtype) != sizeof bits)
        return false;
    const io::Path& path = checkpoint.file(pieces->front().file).path;
    QFile file(copy % u'/' % QString::fromStdString(path.lexically_relative(checkpoint.runFolder).native()));
    return file.open(QIODevice::ReadWrite) && file.seek(static_cast<qint64>(pieces->front().byteOffset))
        && file.write(reinterpret_cast<const char*>(&bits), sizeof bits) == sizeof bits;
}

QString resharded(const char* sample, const QString& to, int ranks)
{
    QProcess program;
    program.start(QString::fromStdString(programPath()),
        {u"reshard"_s, samplePath(sample), to, u"--world-size"_s, QString::number(ranks)});
    return program.waitForFinished() && program.exitCode() == 0 ? to : QString();
}

/// Whether the whole height of a place's row is on screen.
bool isSeen(const LayoutMapView& map, MapSource::Point place)
{
    const MapViewport& viewport = *map.viewport();
    const ContentRect rect = viewport.layout().rectOf(
        {{place.row, place.row + uint64_t{1}}, {place.element, place.element + 1}, place.section});
    return rect.y >= viewport.y() && rect.y + rect.height <= viewport.y() + viewport.size().height();
}

bool isSeen(const LayoutMapView& map, ParamId param)
{
    const MapStack& stack = *map.canvas()->stack();
    return isSeen(map, *firstFragment(stack.source(*stack.sectionOf(param)), param));
}

/// The last parameter of a checkpoint's last flat group.
ParamId lastParam(const Checkpoint& checkpoint)
{
    ParamId last = kNoParam;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind == UnitKind::Group && !unit.params.empty())
            last = unit.params.back();
    }
    return last;
}

} // namespace

class TestTwoMaps : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void equalAmountsAreEquallyLong()
    {
        WindowFixture ui;
        const QString other = resharded("zero2-w2", ui.folder(u"seven"_s), 7);
        QVERIFY(!other.isEmpty() && ui.open(samplePath("zero2-w2")) && compareWith(ui, other));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        const auto check = [&] {
            const MapLayout& left = maps->left()->viewport()->layout();
            const MapLayout& right = maps->right()->viewport()->layout();
            QCOMPARE(maps->left()->canvas()->width(), maps->right()->canvas()->width());
            QVERIFY(left.section(0).columns() > 3 * right.section(0).columns());
            for (uint32_t section = 0; section < left.count(); ++section)
                QCOMPARE(left.section(section).scale(), right.section(section).scale());
        };
        check();
        ui.window().resize(1366, 768);
        QVERIFY(ui.settle());
        check();
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            map->setState(std::string_view("exp_avg"));
            check();
        }
    }

    /// A side that would be too narrow to be seen is enlarged, and says so.
    void whatWouldBeTooNarrowHasAFactor()
    {
        const MapLayout narrow({{.columns = 100, .rows = 1, .fullWidth = 6400, .mapWidth = 6400}});
        QVERIFY(narrow.isEnlarged(0));
        QCOMPARE(narrow.widening(0), 64.0);
        const MapLayout half({{.columns = 3200, .rows = 1, .fullWidth = 6400, .mapWidth = 6400}});
        QVERIFY(!half.isEnlarged(0));
        QCOMPARE(half.columns(), uint64_t{6400});
    }

    void theFirstDifferenceIsOnScreen()
    {
        WindowFixture ui;
        ui.window().resize(1366, 768);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const QString other = copiedSample("zero2-w2", ui.folder(u"copy"_s));
        const ParamId last = lastParam(*ui.checkpoint());
        QVERIFY(writeElement(*ui.checkpoint(), other, {last, "fp32", 0, 1}, 0x3F9E0652u));
        QVERIFY(compareWith(ui, other));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        QVERIFY(ui.window().selection().current().isEmpty()); // nothing is selected for it
        for (const LayoutMapView* map : {maps->left(), maps->right()}) {
            QVERIFY(map->viewport()->maximumY() > 0); // it does not fit
            QVERIFY(isSeen(*map, last));
        }
        ui.window().resize(1300, 700);
        QVERIFY(ui.settle());
        for (const LayoutMapView* map : {maps->left(), maps->right()}) {
            QVERIFY(isSeen(*map, last));
            QCOMPARE(map->viewport()->layout().scale(), // still fitted
                MapScale::fitting(map->viewport()->layout().columns(), map->viewport()->size().width()));
        }
    }

    /// Of a parameter with many pieces, the one that differs.
    void theSelectedDifferenceIsOnScreen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QString other = copiedSample("zero3-w4", ui.folder(u"copy"_s));
        const ParamId param = *ui.checkpoint()->findParam("layers.0.attention.wq.weight");
        QVERIFY(writeElement(*ui.checkpoint(), other, {param, "fp32", 520, 521}, 0x3F9E0652u)); // of rank 2
        QVERIFY(compareWith(ui, other));
        ui.find<ComparePage>("comparePage")->goToDifference(1);
        QVERIFY(ui.settle());
        auto* maps = ui.find<CompareMaps>("compareMaps");
        for (const LayoutMapView* map : {maps->left(), maps->right()}) {
            const auto pinned = map->canvas()->marks().pinned;
            QVERIFY(pinned.has_value());
            QCOMPARE(pinned->row, 2U);
            QVERIFY(isSeen(*map, *pinned));
        }
    }

    void aVerdictNamesTheSideWithNan_data()
    {
        QTest::addColumn<bool>("isLeft");
        QTest::addRow("left") << true;
        QTest::addRow("right") << false;
    }

    void aVerdictNamesTheSideWithNan()
    {
        QFETCH(bool, isLeft);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const QString damaged = copiedSample("zero2-w2", ui.folder(u"copy"_s));
        const ParamId param = *ui.checkpoint()->findParam("layers.0.attention.wq.weight");
        const auto bits = std::bit_cast<uint32_t>(std::nanf(""));
        QVERIFY(writeElement(*ui.checkpoint(), damaged, {param, "fp32", 3, 4}, bits));
        QVERIFY(!isLeft || ui.open(damaged));
        QVERIFY(compareWith(ui, isLeft ? samplePath("zero2-w2") : damaged));
        const QString side = isLeft ? u"left"_s : u"right"_s;
        const QString causes = ui.find<QLabel>("compareCauses")->text();
        QVERIFY2(
            causes.contains(
                u"Values are NaN or infinite in the %1 checkpoint and finite in the other one"_s.arg(side)),
            qPrintable(causes));
        QVERIFY2(causes.contains(u"wq.weight#fp32: 1 element"_s), qPrintable(causes));
        const QString row = cell(ui.find<QTableView>("differenceTable"), 0, DifferenceColumn::Different);
        QVERIFY2(row.endsWith(u"1 NaN/Inf (%1)"_s.arg(side)), qPrintable(row));
        // Whole: without its middle it would say "finite".
        const auto* table = ui.find<QTableView>("differenceTable");
        QVERIFY(table->columnWidth(static_cast<int>(DifferenceColumn::Different))
            >= table->fontMetrics().horizontalAdvance(row) + 16);
    }

    /// Letters have a ground without a pattern.
    void labelsAreReadOverPatterns()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2") % u"/global_step3"_s));
        auto* map = ui.find<CompareMaps>("compareMaps")->left();
        const QImage image = map->canvas()->grab().toImage();
        MapLabels labels;
        QFont font = map->canvas()->font();
        font.setPixelSize(std::max(8, static_cast<int>(std::lround(QFontInfo(font).pixelSize() * 0.88))));
        labels.setFont(font);
        const QFontMetrics metrics(font);
        int seen = 0;
        for (const MapLabel& label : labels.layout(*map->canvas()->stack(), *map->viewport())) {
            const bool isWhole = label.box.top() >= 0 && label.box.bottom() < image.height();
            if (label.role != MapLabel::Role::Name || !isWhole)
                continue;
            ++seen;
            // Above the letters.
            const int y = std::max(label.box.center().y() - metrics.height() / 2, label.box.top()) + 1;
            const QRgb ground = image.pixel(label.box.left() + 3, y);
            for (int x = label.box.left() + 3; x < label.box.left() + metrics.horizontalAdvance(label.text);
                 ++x)
                QVERIFY2(image.pixel(x, y) == ground, qPrintable(label.text));
        }
        QVERIFY(seen > 3);
    }

    /// The name of the group has its own room: no tick loses its label to it.
    void everyTickHasItsLabel()
    {
        WindowFixture ui;
        const QString other = resharded("zero2-w2", ui.folder(u"seven"_s), 7);
        QVERIFY(!other.isEmpty() && ui.open(samplePath("zero2-w2")) && compareWith(ui, other));
        size_t labels = 0;
        for (const LayoutMapView* map :
            {ui.find<CompareMaps>("compareMaps")->left(), ui.find<CompareMaps>("compareMaps")->right()}) {
            auto* ruler = map->findChild<MapRuler*>();
            const QImage image = ruler->grab().toImage();
            const int left = image.width() - map->canvas()->width();
            const MapGeometry& geometry = map->viewport()->geometry(ruler->section());
            const QFontMetrics metrics = ruler->fontMetrics();
            const auto marks = rulerMarks(map->viewport()->visible(ruler->section()).elements,
                geometry.scale(), metrics.horizontalAdvance(u"0,000,000,000"_s), ruler->unit(), 4);
            labels += marks.positions.size();
            for (const uint64_t position : marks.positions) {
                const int x = left + static_cast<int>(geometry.scale().leftEdge(position)) + 4;
                const int width = metrics.horizontalAdvance(u"0,000"_s);
                if (x + width > image.width())
                    continue;
                const QImage letters = image.copy(x, 2, width, metrics.height());
                bool isDrawn = false;
                for (int y = 0; y < letters.height(); ++y) {
                    for (int i = 0; i < letters.width(); ++i)
                        isDrawn = isDrawn || letters.pixel(i, y) != image.pixel(1, 0);
                }
                QVERIFY2(isDrawn, qPrintable(QString::number(position)));
            }
        }
        QVERIFY(labels > 2);
    }

    /// With large text there is room for the maps or for rows: a button shows either.
    void aButtonShowsTheMapsInALowWindow()
    {
        const auto restored = qScopeGuard([] { applyTextSize(100); });
        WindowFixture ui;
        applyTextSize(150);
        ui.window().resize(1366, 768);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2") % u"/global_step3"_s));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        auto* splitter = ui.find<QSplitter>("compareSplitter");
        auto* table = ui.find<QTableView>("differenceTable");
        auto* button = ui.find<QToolButton>("compareShowMaps");
        QCOMPARE(splitter->sizes().front(), 0);
        QVERIFY(button->isVisible());
        ui.find<ComparePage>("comparePage")->goToDifference(1);
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(ui.settle());
        for (const LayoutMapView* map : {maps->left(), maps->right()}) {
            const int row = static_cast<int>(map->viewport()->layout().rowScale().rowHeight());
            QVERIFY2(map->canvas()->height() >= 2 * row,
                qPrintable(u"%1 for rows of %2"_s.arg(map->canvas()->height()).arg(row)));
        }
        QVERIFY(table->viewport()->height() >= table->verticalHeader()->defaultSectionSize());
        QVERIFY(table->viewport()->rect().intersects(table->visualRect(table->currentIndex())));
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(ui.settle());
        QCOMPARE(splitter->sizes().front(), 0);
        ui.window().resize(1920, 1400);
        QVERIFY(ui.settle());
        QVERIFY(!button->isVisible());
        QVERIFY(splitter->sizes().front() > 0);
        // Without differences there is no table that could take room.
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        ui.window().resize(1366, 768);
        QVERIFY(ui.settle());
        QVERIFY(!table->isVisible());
        QVERIFY(!button->isVisible());
    }

    void shortNamesTellExpertsApart()
    {
        const QFontMetrics metrics(QApplication::font());
        const auto shortest = [&](const QString& name) {
            QString last;
            for (int width = metrics.horizontalAdvance(name); width > 0; --width) {
                const QString text = shortenedName(name, width, metrics);
                if (text.isEmpty() || text.contains(u'…'))
                    break;
                last = text;
            }
            return last;
        };
        const QString expert = u"blocks.0.deepspeed_moe.experts.deepspeed_experts.%1.%2"_s;
        QCOMPARE(shortest(expert.arg(u"3"_s, u"bias"_s)), u"e3.bias"_s);
        QCOMPARE(shortest(expert.arg(u"3"_s, u"weight"_s)), u"e3"_s);
        QCOMPARE(shortest(u"model.layers.7.block_sparse_moe.experts.12.w1.weight"_s), u"e12.w1"_s);
        QCOMPARE(shortest(u"layers.1.mlp.2.weight"_s), u"1 · mlp.2"_s);
        QCOMPARE(shortest(u"layers.1.attention.wq.weight"_s), u"wq"_s);
        for (int width = 0; width < metrics.horizontalAdvance(expert); ++width) {
            const QString text = shortenedName(expert.arg(u"3"_s, u"weight"_s), width, metrics);
            QVERIFY2(text.isEmpty() || text.contains(u'3'), qPrintable(text));
        }
    }
};

SHARDSCOPE_UI_TEST(TestTwoMaps, WithDisplay)
#include "tst_two_maps.moc"
