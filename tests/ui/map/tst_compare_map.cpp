// SPDX-License-Identifier: Apache-2.0
// Descriptions of places on maps in compare colours.
#include "core/layout/fragments.h"
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/model_roles.h"
#include "ui/models/parameters/difference_table_model.h"
#include "ui/pages/compare_maps.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/verdict_panel.h"
#include "ui/shell/page_window.h"
#include "ui/style/text_size.h"
#include "ui/widgets/elided_label.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <QScopeGuard>
#include <QSplitter>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QUrl>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Changes the last bits of elements [begin, end) of a parameter's fp32 masters, or another state, in a copy
/// of that checkpoint's run folder.
bool flipLastBits(const Checkpoint& checkpoint, const QString& copy, const StateRange& range)
{
    const auto pieces = fragmentsOf(checkpoint, range.param, range.state, range.begin, range.end);
    if (!pieces || pieces->size() != 1)
        return false;
    const io::Path& path = checkpoint.file(pieces->front().file).path;
    QFile file(copy % u'/' % QString::fromStdString(path.lexically_relative(checkpoint.runFolder).native()));
    bool flipped = file.open(QIODevice::ReadWrite);
    const uint64_t item = itemSize(pieces->front().dtype);
    for (uint64_t i = 0; flipped && i < range.end - range.begin; ++i) {
        const auto at = static_cast<qint64>(pieces->front().byteOffset + i * item);
        char byte = 0;
        flipped = file.seek(at) && file.read(&byte, 1) == 1;
        byte ^= 1;
        flipped = flipped && file.seek(at) && file.write(&byte, 1) == 1;
    }
    return flipped;
}

bool flipLastBit(
    const Checkpoint& checkpoint, const QString& copy, const char* name, const char* state = "fp32")
{
    return flipLastBits(checkpoint, copy, {*checkpoint.findParam(name), state, 0, 1});
}

/// What a map paints for each fragment of a parameter, in row order.
struct Painted {
    uint32_t row = 0;
    CellKind kind = CellKind::Param;
    DifferenceMark mark = DifferenceMark::Equal;
    QString words; ///< that describe it
};
std::vector<Painted> paintedPieces(const MapCanvas& canvas, ParamId param)
{
    const uint32_t section = *canvas.stack()->sectionOf(param);
    const MapSource& source = canvas.stack()->source(section);
    const MapGeometry geometry(source.columns(), source.rows(), MapScale(), MapRowScale(0));
    const MapPalette palette;
    std::vector<Painted> out;
    for (const MapBlock& block : fragmentBlocks(source, param, {0, source.rows()})) {
        const auto x = static_cast<int64_t>((block.elements.begin + block.elements.end) / 2);
        MapRowSampler sampler(source, geometry, palette, canvas.mapStyle(), {x, 1});
        const MapPixel pixel = sampler.sample(block.rows).front();
        const auto row = static_cast<uint32_t>(block.rows.begin);
        out.push_back({row, pixel.kind, pixel.mark,
            MapText::sentence(source, {row, block.elements.begin, section}, canvas.shownDifferences())});
    }
    return out;
}

uint32_t bitOf(DifferenceMark mark)
{
    return 1u << static_cast<unsigned>(mark);
}

/// The worst difference that a pixel row of all ranks shows anywhere.
DifferenceMark worstOfAllRows(const MapCanvas& canvas, ParamId param)
{
    const MapSource& source = canvas.stack()->source(*canvas.stack()->sectionOf(param));
    const MapGeometry geometry(source.columns(), source.rows(), MapScale(), MapRowScale(0));
    const MapPalette palette;
    MapRowSampler sampler(
        source, geometry, palette, canvas.mapStyle(), {0, static_cast<int>(source.columns())});
    DifferenceMark worst = DifferenceMark::Equal;
    for (const MapPixel& pixel : sampler.sample({0, source.rows()}))
        worst = worseMark(worst, pixel.mark);
    return worst;
}

/// A pixel of the marked parameter in the row of a place. Not (0, 0), which Qt Test takes for the centre.
std::optional<QPoint> pixelOfMarked(const MapCanvas& canvas, MapSource::Point row)
{
    for (int y = 0; y < canvas.height(); ++y) {
        for (int x = 0; x < canvas.width(); ++x) {
            const auto at = canvas.pointAt(QPointF(x, y));
            if (at && at->row == row.row && at->section == row.section && (x > 0 || y > 0)
                && canvas.stack()->cellAt(*at).param == canvas.marks().param)
                return QPoint(x, y);
        }
    }
    return {};
}

} // namespace

class TestCompareMap : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theMapNamesTheDifference_data()
    {
        QTest::addColumn<QString>("left");
        QTest::addColumn<QString>("right");
        QTest::addColumn<QString>("kind"); ///< of a row of the table
        QTest::addColumn<QString>("says");
        QTest::newRow("values") << u"zero2-w2"_s << u"zero2-w2/global_step3"_s << u"values"_s
                                << u"differs in %1 elements, by up to %2"_s;
        QTest::newRow("last bit") << u"zero2-w2"_s << QString() << u"last bit"_s
                                  << u"differs in the last bit of %1 elements, by up to %2"_s;
    }

    void theMapNamesTheDifference()
    {
        QFETCH(QString, left);
        QFETCH(QString, right);
        QFETCH(QString, kind);
        QFETCH(QString, says);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(left.toLatin1().constData())));
        QString other = samplePath(right.toLatin1().constData());
        if (right.isEmpty()) {
            other = copiedSample(left.toLatin1().constData(), ui.folder(u"copy"_s));
            QVERIFY(flipLastBit(*ui.checkpoint(), other, "layers.0.attention.wq.weight"));
        }
        QVERIFY(compareWith(ui, other));
        auto* table = ui.find<QTableView>("differenceTable");
        auto* maps = ui.find<CompareMaps>("compareMaps");
        int row = 0;
        while (row < table->model()->rowCount() && cell(table, row, DifferenceColumn::Kind) != kind)
            ++row;
        QVERIFY(row < table->model()->rowCount());
        const QString words = says.arg(
            cell(table, row, DifferenceColumn::Different), cell(table, row, DifferenceColumn::MaxAbs));
        auto* hover = ui.find<ElidedLabel>("statusHover");
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            table->setCurrentIndex({});
            table->setCurrentIndex(table->model()->index(row, 0)); // on both sides
            QVERIFY(ui.settle());
            MapCanvas* canvas = map->canvas();
            const auto pinned = canvas->marks().pinned;
            QVERIFY(pinned.has_value());
            QVERIFY2(canvas->accessibleDescription().startsWith(words, Qt::CaseInsensitive),
                qPrintable(canvas->accessibleDescription()));
            // Under the mouse.
            const auto over = pixelOfMarked(*canvas, *pinned);
            QVERIFY(over.has_value());
            QTest::mouseMove(canvas, *over);
            QTRY_VERIFY2(hover->text().startsWith(words, Qt::CaseInsensitive), qPrintable(hover->text()));
            const QString tip
                = MapText::tooltip(canvas->stack()->sourceAt(*pinned), *pinned, canvas->shownDifferences());
            QVERIFY2(tip.contains(words, Qt::CaseInsensitive), qPrintable(tip));
            QTest::mouseMove(canvas, QPoint(-40, -40));
            // At the keyboard's cursor, forward and back.
            canvas->setFocus(Qt::TabFocusReason);
            QTest::keyClick(canvas, Qt::Key_Right);
            QTest::keyClick(canvas, Qt::Key_Left);
            QVERIFY2(hover->text().startsWith(words, Qt::CaseInsensitive), qPrintable(hover->text()));
            // In other colours only the place is described.
            map->setColourMode(MapColourMode::Kind);
            QTest::keyClick(canvas, Qt::Key_Right);
            QVERIFY(!hover->text().isEmpty());
            QVERIFY2(!hover->text().contains(u"differs"_s), qPrintable(hover->text()));
            map->setColourMode(MapColourMode::Difference);
        }
    }

    void aDifferenceOfOneStateIsSeenInAll()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const QString other = copiedSample("zero2-w2", ui.folder(u"copy"_s));
        const char* name = "layers.0.attention.wq.weight";
        QVERIFY(flipLastBit(*ui.checkpoint(), other, name, "exp_avg"));
        QVERIFY(compareWith(ui, other));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        auto* states = ui.find<QComboBox>("compareMapState");
        QCOMPARE(states->currentText(), u"exp_avg"_s); // the one that differs
        const ParamId param = *ui.checkpoint()->findParam(name);
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            QCOMPARE(map->state(), "exp_avg");
            const DifferenceMarksPtr marks = map->canvas()->mapStyle().differences;
            QVERIFY((*marks->ofState("exp_avg"))[index(param)] == DifferenceMark::LastBit);
            QVERIFY((*marks->ofState("fp32"))[index(param)] == DifferenceMark::OtherState);
        }
        QTest::keyClick(states, Qt::Key_Home); // fp32
        QVERIFY(ui.settle());
        QCOMPARE(maps->left()->state(), "fp32");
        QCOMPARE(maps->right()->state(), "fp32");
        const auto stack = maps->left()->canvas()->stack();
        const MapSource& source = stack->source(*stack->sectionOf(param));
        const auto at = pointOfElement(source, param, 0);
        QVERIFY(at);
        const QString tip = MapText::tooltip(source, *at, maps->left()->canvas()->shownDifferences());
        QVERIFY2(tip.contains(u"equal, but differs in exp_avg"_s), qPrintable(tip));
    }

    void everyPieceHasItsOwnVerdict()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QString other = copiedSample("zero3-w4", ui.folder(u"copy"_s));
        const ParamId param = *ui.checkpoint()->findParam("layers.0.attention.wq.weight");
        QVERIFY(flipLastBits(*ui.checkpoint(), other, {param, "fp32", 301, 306})); // of rank 1
        QVERIFY(compareWith(ui, other));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        for (const LayoutMapView* map : {maps->left(), maps->right()}) {
            const std::vector<Painted> pieces = paintedPieces(*map->canvas(), param);
            QCOMPARE(pieces.size(), size_t{4});
            for (const Painted& piece : pieces) {
                QCOMPARE(piece.mark, piece.row == 1 ? DifferenceMark::LastBit : DifferenceMark::Equal);
                const QString says = piece.row == 1
                    ? u"differs in the last bit of 5 of 1,024 elements, by up to "_s
                    : u"equal here; elsewhere it differs in the last bit of 5 of 1,024 elements"_s;
                QVERIFY2(piece.words.startsWith(says, Qt::CaseInsensitive), qPrintable(piece.words));
                QCOMPARE(piece.words.contains(u"; here in 5 of 256 · "_s), piece.row == 1);
            }
            // Rows that share a pixel show the worst of them.
            QCOMPARE(worstOfAllRows(*map->canvas(), param), DifferenceMark::LastBit);
            const uint32_t expected = bitOf(DifferenceMark::Equal) | bitOf(DifferenceMark::LastBit)
                | bitOf(DifferenceMark::OtherState);
            const uint32_t present = map->canvas()->mapStyle().differences->present;
            QCOMPARE(present, expected);
        }
        QCOMPARE(ui.find<QLabel>("compareCount")->text(), u"1 difference"_s);
    }

    void aLostRankLeavesTheOthersCompared()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QString other = copiedSample("zero3-w4", ui.folder(u"copy"_s));
        const QDir tag(other % u"/global_step5"_s);
        for (const QString& name : tag.entryList({u"*pp_rank_2_mp_rank_00_*"_s}))
            QVERIFY(QFile::remove(tag.filePath(name)));
        const ParamId param = *ui.checkpoint()->findParam("layers.0.attention.wq.weight");
        QVERIFY(compareWith(ui, other));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        for (const LayoutMapView* map : {maps->left(), maps->right()}) {
            const bool isLeft = map == maps->left();
            for (const Painted& piece : paintedPieces(*map->canvas(), param)) {
                if (piece.row == 2 && !isLeft) {
                    QCOMPARE(piece.kind, CellKind::Missing);
                    continue;
                }
                QCOMPARE(piece.mark, piece.row == 2 ? DifferenceMark::NotCompared : DifferenceMark::Equal);
                QVERIFY2(piece.words.startsWith(piece.row == 2
                                 ? u"not compared: the right side lacks these elements"_s
                                 : u"equal · "_s,
                             Qt::CaseInsensitive),
                    qPrintable(piece.words));
            }
            const uint32_t present = map->canvas()->mapStyle().differences->present;
            QCOMPARE(
                present, bitOf(DifferenceMark::Equal) | (isLeft ? bitOf(DifferenceMark::NotCompared) : 0));
        }
        const QString headline = ui.find<VerdictPanel>("verdictPanel")->headline();
        QVERIFY2(headline.startsWith(u"What was compared is the same, but the right side lacks a part"_s),
            qPrintable(headline));
        auto* count = ui.find<QLabel>("compareCount");
        const QString all = QString::number(ui.find<QTableView>("differenceTable")->model()->rowCount());
        QCOMPARE(count->text(), u"No differences, %1 tensors incomplete"_s.arg(all));
        ui.find<QLineEdit>("filterField")->setText(u"wq exp_avg_sq"_s);
        QVERIFY(ui.settle());
        QVERIFY2(count->text().startsWith(u"No differences, "_s)
                && count->text().endsWith(u" of %1 tensors incomplete"_s.arg(all)),
            qPrintable(count->text()));
    }

    /// Elements of a slice are found in the whole parameter that was compared.
    void piecesOfSlicesHaveTheirOwnVerdicts()
    {
        WindowFixture ui;
        const QString whole = ui.folder(u"whole"_s);
        QProcess program;
        program.start(QString::fromStdString(programPath()),
            {u"reshard"_s, samplePath("slices-w4"), whole, u"--world-size"_s, u"2"_s, u"--tp"_s, u"1"_s});
        QVERIFY(program.waitForFinished() && program.exitCode() == 0);
        const QString copy = copiedSample("slices-w4", ui.folder(u"copy"_s));
        QVERIFY(ui.open(samplePath("slices-w4")));
        const CheckpointPtr slices = ui.checkpoint();
        // Sliced by its second dimension: rows of both slices alternate in the whole.
        const ParamId param = *slices->findParam("layers.0.down_proj.weight:tp1");
        QVERIFY(flipLastBits(*slices, copy, {param, "fp32", 3, 8}));
        QVERIFY(ui.open(copy));
        QVERIFY(compareWith(ui, whole));
        const MapCanvas* canvas = ui.find<CompareMaps>("compareMaps")->left()->canvas();
        QVERIFY2(canvas->stack(), qPrintable(ui.find<QLabel>("compareFacts")->text()));
        const std::vector<Painted> pieces = paintedPieces(*canvas, param);
        const auto differ = std::ranges::count(pieces, DifferenceMark::LastBit, &Painted::mark);
        const auto equal = std::ranges::count(pieces, DifferenceMark::Equal, &Painted::mark);
        QCOMPARE(differ, 1);
        QCOMPARE(differ + equal, std::ssize(pieces));
        const ParamId sister = *slices->findParam("layers.0.down_proj.weight:tp0");
        for (const Painted& piece : paintedPieces(*canvas, sister))
            QVERIFY2(piece.mark == DifferenceMark::Equal, qPrintable(piece.words));
    }

    void theTableHasRowsInALowWindow_data()
    {
        QTest::addColumn<int>("percent");
        QTest::addColumn<QSize>("size");
        QTest::addColumn<bool>("hasMaps");
        QTest::addRow("150 %%") << 150 << QSize(1366, 768) << false;
        QTest::addRow("100 %%") << 100 << QSize(1366, 768) << true;
        QTest::addRow("large") << 100 << QSize(1920, 1080) << true;
    }

    /// The maps give way to it, and come back with the room.
    void theTableHasRowsInALowWindow()
    {
        QFETCH(int, percent);
        QFETCH(QSize, size);
        QFETCH(bool, hasMaps);
        const auto restored = qScopeGuard([] { applyTextSize(100); });
        WindowFixture ui;
        applyTextSize(percent);
        ui.window().resize(size);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const QString other = copiedSample("zero3-w4", ui.folder(u"copy"_s));
        const QDir tag(other % u"/global_step5"_s);
        for (const QString& name : tag.entryList({u"*pp_rank_2_mp_rank_00_*"_s}))
            QVERIFY(QFile::remove(tag.filePath(name)));
        QVERIFY(compareWith(ui, other));
        QCOMPARE(ui.window().size(), size);
        const auto* table = ui.find<QTableView>("differenceTable");
        const int row = table->verticalHeader()->defaultSectionSize();
        QVERIFY2(table->viewport()->height() >= 4 * row,
            qPrintable(u"%1 for rows of %2"_s.arg(table->viewport()->height()).arg(row)));
        const auto* page = ui.find<ComparePage>("comparePage");
        QVERIFY(page->minimumSizeHint().height() <= page->height());
        const QRect inWindow(table->mapTo(&ui.window(), QPoint()), table->size());
        QVERIFY(ui.window().rect().contains(inWindow)); // nothing has to be scrolled for it
        auto* splitter = ui.find<QSplitter>("compareSplitter");
        QCOMPARE(splitter->sizes().front() > 0, hasMaps);
        ui.window().resize(1920, 1400);
        QVERIFY(ui.settle());
        QVERIFY(splitter->sizes().front() > 0);
    }

    void theMapNamesWhatIsEqualOrAlone()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(compareWith(ui, samplePath("zero3-w4")));
        MapCanvas* canvas = ui.find<CompareMaps>("compareMaps")->left()->canvas();
        QVERIFY(MapText::sentence(*canvas->source(), {0, 0}, canvas->shownDifferences())
                    .startsWith(u"equal"_s, Qt::CaseInsensitive));
        QVERIFY(compareWith(ui, samplePath("slices-w4")));
        auto* maps = ui.find<CompareMaps>("compareMaps");
        for (LayoutMapView* map : {maps->left(), maps->right()}) {
            const QString words
                = MapText::sentence(*map->canvas()->source(), {0, 0}, map->canvas()->shownDifferences());
            QVERIFY2(
                words.startsWith(map == maps->left() ? u"only left"_s : u"only right"_s, Qt::CaseInsensitive),
                qPrintable(words));
        }
    }

    /// Rows of files have no differences, also while the colours are those of differences.
    void filesAreDescribedWhileDifferencesAreShown()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        LayoutMapView* map = ui.find<CompareMaps>("compareMaps")->left();
        map->setFilesShown(true);
        QVERIFY(ui.settle());
        const MapCanvas* canvas = map->canvas();
        QVERIFY(canvas->stack()->files() != nullptr);
        QVERIFY(canvas->shownDifferences() != nullptr);
        const MapSource& source = *canvas->source();
        for (uint32_t row = 0; row < source.rows(); ++row) {
            for (uint64_t byte = 0; byte < source.columns(); byte = source.cellAt(row, byte).end) {
                const QString words = MapText::sentence(source, {row, byte}, canvas->shownDifferences());
                QVERIFY2(words.contains(u" · "_s) && !words.contains(u"differs"_s), qPrintable(words));
            }
        }
    }
};

SHARDSCOPE_UI_TEST(TestCompareMap, WithDisplay)
#include "tst_compare_map.moc"
