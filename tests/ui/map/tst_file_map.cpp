// SPDX-License-Identifier: Apache-2.0
#include "core/layout/file_extents.h"
#include "core/torchfile/torch_file.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/map_page.h"
#include "ui/text/text.h"

#include <QComboBox>
#include <QFile>
#include <QMenu>
#include <QTest>
#include <QToolTip>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

FileId fileNamed(const Checkpoint& checkpoint, std::string_view name)
{
    for (uint32_t i = 0; i < checkpoint.files.size(); ++i)
        if (checkpoint.files[i].name == name)
            return FileId{i};
    return kNoFile;
}

/// Shows the files of the open checkpoint.
LayoutMapView* showFiles(WindowFixture& ui)
{
    ui.window().showPage(u"map"_s);
    auto* view = ui.find<MapPage>("mapPage")->mapView();
    view->setFilesShown(true);
    return ui.settle() && view->canvas()->stack()->files() != nullptr ? view : nullptr;
}

/// What the map says of a byte that another view selects.
QString textAt(WindowFixture& ui, FileId file, uint64_t byte)
{
    ui.window().selection().selectFile(file, {}, byte);
    return ui.find<MapPage>("mapPage")->mapView()->canvas()->accessibleDescription();
}

/// A position of the canvas.
QPoint positionOf(const LayoutMapView& view, MapSource::Point point)
{
    const MapViewport& viewport = *view.viewport();
    const ContentRect rect = viewport.layout().rectOf(
        {{point.row, point.row + uint64_t{1}}, {point.element, point.element + 1}, point.section});
    return (QPointF(double(rect.x - viewport.x()), double(rect.y + rect.height / 2 - viewport.y()))
        / viewport.pixelRatio())
        .toPoint();
}

QString tooltipAt(QWidget* widget, const QPoint& at)
{
    QHelpEvent help(QEvent::ToolTip, at, widget->mapToGlobal(at));
    QCoreApplication::sendEvent(widget, &help);
    return QToolTip::text();
}

/// Bytes of a file that states use, by its cells, which follow one another without gaps; 0 if they do not.
uint64_t bytesInCells(const FileRows& rows, uint32_t row)
{
    uint64_t used = 0;
    const uint64_t size = rows.file(row).identity.bytes;
    for (uint64_t byte = 0; byte < rows.columns();) {
        const MapCell cell = rows.cellAt(row, byte);
        const bool isUsed = cell.kind == CellKind::Param;
        const bool isTile = cell.begin == byte && cell.end > byte
            && rows.cellAt(row, cell.end - 1).begin == byte
            && (cell.kind == CellKind::Outside) == (byte >= size) && (byte >= size || cell.end <= size);
        if (!isTile || (isUsed && rows.extentAt(row, byte).begin > byte))
            return 0;
        used += isUsed ? cell.end - byte : 0;
        byte = cell.end;
    }
    return rows.amounts(row, 0, size).elements == used && rows.amounts(row, 0, size).bytes == size ? used : 0;
}

uint64_t shownBytes(const LayoutMapView& view)
{
    return view.viewport()->visible().elements.size();
}

} // namespace

class TestFileMap : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void extentsAreTheRecordsOfStates_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* sample :
            {"zero2-w2", "zero3-w4", "slices-w4", "pipeline-w4", "stage0-fp16", "experts-w4"})
            QTest::newRow(sample) << QString::fromLatin1(sample);
    }

    /// Every extent is inside one stored record of its file, as the zip directory has it.
    void extentsAreTheRecordsOfStates()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        const Checkpoint& checkpoint = *ui.checkpoint();
        const FileExtents extents(checkpoint, {});
        size_t seen = 0;
        for (uint32_t i = 0; i < checkpoint.files.size(); ++i) {
            uint64_t begin = 0;
            for (const FileExtent& extent : extents.of(FileId{i})) {
                QVERIFY(extent.begin >= begin && extent.begin < extent.end);
                QVERIFY(extent.end <= checkpoint.files[i].identity.bytes);
                begin = extent.begin;
                ++seen;
                const auto& content = checkpoint.files[i].content;
                if (!content)
                    continue;
                const auto& records = content->zip().records();
                QVERIFY(std::any_of(records.begin(), records.end(), [&](const ZipRecord& record) {
                    return record.payloadOffset <= extent.begin
                        && extent.end <= record.payloadOffset + record.bytes;
                }));
            }
            QVERIFY(extents.covered(FileId{i}) <= checkpoint.files[i].identity.bytes);
        }
        QVERIFY(seen > checkpoint.units.size());
    }

    void rowsAreFilesAndBytesAreNamed()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        LayoutMapView* map = showFiles(ui);
        QVERIFY(map != nullptr);
        const MapSource& source = *map->canvas()->source();
        QCOMPARE(source.rows(), ui.checkpoint()->files.size());
        QCOMPARE(map->canvas()->accessibleName(), u"Map of files"_s);
        const FlatUnit& unit = ui.checkpoint()->units[1];
        const StoredRun& run = unit.states[0].perRank[1];
        const QString name = toText(ui.checkpoint()->file(run.file).name) + u" · "_s;
        QString text = textAt(ui, run.file, run.byteOffset);
        QVERIFY2(text.startsWith(name + toText(unit.states[0].name) + u" of group 1 on dp 1: bytes "_s),
            qPrintable(text));
        text = textAt(ui, run.file, 0);
        QVERIFY2(text.startsWith(name + u"No state uses bytes 0 to "_s), qPrintable(text));
        uint32_t row = *source.files()->rowOf(run.file);
        text = tooltipAt(map->canvas(), positionOf(*map, {row, run.byteOffset + run.elements}));
        QVERIFY2(text.contains(u" of group "_s) && text.endsWith(u"hold states"_s), qPrintable(text));
        for (row = 0; source.files()->file(row).identity.bytes == source.columns(); ++row) { }
        text = textAt(ui, source.files()->idOf(row), source.columns() - 1);
        QVERIFY2(text.contains(u" · After the end of the file ("_s), qPrintable(text));
        if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty())
            QVERIFY(ui.window().grab().save(QString::fromLocal8Bit(to) + u"/files.png"_s));
    }

    void aClickSelectsTheFile()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        LayoutMapView* map = showFiles(ui);
        QVERIFY(map != nullptr);
        MapCanvas* canvas = map->canvas();
        const FileRows& files = *canvas->stack()->files();
        const QPoint at = positionOf(*map, {1, files.file(1).identity.bytes / 2});
        const auto place = canvas->pointAt(at);
        QVERIFY(place.has_value());
        const Selection& selection = ui.window().selection();
        QTest::mouseClick(canvas, Qt::LeftButton, {}, at);
        QCOMPARE(selection.current().file, files.idOf(1));
        QCOMPARE(selection.current().byte, std::optional(place->element));
        QVERIFY(canvas->accessibleDescription().contains(toText(files.file(1).name)));
        canvas->setFocus();
        QTest::keyClick(canvas, Qt::Key_Down);
        QCOMPARE(selection.current().file, files.idOf(2));
        QTest::keyClick(canvas, Qt::Key_Left);
        QCOMPARE(selection.current().file, files.idOf(2));
        QVERIFY(*selection.current().byte < place->element);
        const uint64_t all = shownBytes(*map);
        QCOMPARE(all, files.columns());
        QTest::keyClick(canvas, Qt::Key_Plus, Qt::ShiftModifier);
        QVERIFY(shownBytes(*map) < all);
        const uint64_t closer = shownBytes(*map);
        QTest::keyClick(canvas, Qt::Key_Plus);
        QVERIFY(shownBytes(*map) < closer);
        QTest::keyClick(canvas, Qt::Key_Minus);
        QCOMPARE(shownBytes(*map), closer);
        QTest::keyClick(canvas, Qt::Key_0);
        QCOMPARE(shownBytes(*map), all);
        QTest::keyClick(canvas, Qt::Key_Return);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QWidget>("filesPage")->isVisible());
        ui.window().showPage(u"map"_s);
        QVERIFY(ui.settle());
        auto* gutter = map->findChild<QWidget*>(u"rankGutter"_s);
        QTest::mouseClick(gutter, Qt::LeftButton, {}, {20, positionOf(*map, {0, 0}).y()});
        QCOMPARE(selection.current().file, files.idOf(0));
        QVERIFY(tooltipAt(gutter, {20, positionOf(*map, {0, 0}).y()}).endsWith(u"hold states"_s));
        QTest::mouseDClick(canvas, Qt::LeftButton, {}, at);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QWidget>("filesPage")->isVisible());
    }

    void theProjectionIsSwitched()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().showPage(u"map"_s);
        QVERIFY(ui.settle());
        auto* view = ui.find<MapPage>("mapPage")->mapView();
        const auto drawsFiles = [&] { return ui.settle() && view->canvas()->stack()->files() != nullptr; };
        auto* box = view->findChild<QComboBox*>(u"mapProjection"_s);
        auto* totals = view->findChild<QWidget*>(u"mapRankTotals"_s);
        view->setFocus();
        QTest::keyClick(view->canvas(), Qt::Key_U);
        QCOMPARE(view->projection(), MapQuery::Projection::Unrolled);
        QVERIFY(totals->isVisible());
        QTest::keyClick(view->canvas(), Qt::Key_U);
        QVERIFY(view->showsFiles() && drawsFiles());
        QVERIFY(view->canvas()->hasFocus() && !totals->isVisible());
        QCOMPARE(box->currentText(), u"Files"_s);
        QVERIFY(!view->findChild<QComboBox*>(u"mapState"_s)->isEnabled());
        QTest::keyClick(view->canvas(), Qt::Key_U);
        QVERIFY(!view->showsFiles() && !drawsFiles());
        QVERIFY(totals->isVisible());
        QCOMPARE(view->projection(), MapQuery::Projection::Partitions);
        QCOMPARE(box->currentText(), u"Partitions"_s);
        QVERIFY(view->findChild<QComboBox*>(u"mapState"_s)->isEnabled());
        Q_EMIT box->activated(2);
        QVERIFY(view->showsFiles() && drawsFiles());
        Q_EMIT box->activated(0);
        QVERIFY(!view->showsFiles() && !drawsFiles());
    }

    void anotherCheckpointIsReadWhenItIsSeen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(showFiles(ui) != nullptr);
        ui.window().showPage(u"overview"_s);
        QVERIFY(ui.open(samplePath("zero3-w4"))); // out of sight, and of the same size when it is seen again
        QVERIFY(showFiles(ui) != nullptr);
        const StoredRun& run = ui.checkpoint()->units[0].states[0].perRank[2];
        const QString text = textAt(ui, run.file, run.byteOffset);
        QVERIFY2(text.contains(u" on dp 2: bytes "_s), qPrintable(text));
    }

    void missingAndTornFilesAreNamed()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QFile file(copy + u"/global_step6/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"_s);
        QVERIFY(file.resize(file.size() / 2));
        QVERIFY(ui.open(copy));
        LayoutMapView* map = showFiles(ui);
        QVERIFY(map != nullptr);
        const FileId missing = fileNamed(*ui.checkpoint(), "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
        QVERIFY(missing != kNoFile);
        QVERIFY(textAt(ui, missing, 10).endsWith(u" · The file is missing."_s));
        // A torn file is marked, and what it has lost is not drawn as if it were there.
        const FileId torn = fileNamed(*ui.checkpoint(), "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt");
        const uint64_t size = ui.checkpoint()->file(torn).identity.bytes;
        QCOMPARE(ui.checkpoint()->file(torn).status, FileStatus::Damaged);
        const FileExtents extents(*ui.checkpoint(), {});
        QVERIFY(!extents.of(torn).empty());
        QVERIFY(extents.of(torn).back().end <= size);
        const MapSource& source = *map->canvas()->source();
        const uint32_t row = *source.files()->rowOf(torn);
        for (uint64_t byte = 0; byte < size; byte = source.cellAt(row, byte).end)
            QCOMPARE(source.cellAt(row, byte).severity, 2);
        QCOMPARE(source.cellAt(row, size - 1).end, size);
        if (size < source.columns())
            QVERIFY(textAt(ui, torn, size).contains(u" · After the end of the file ("_s));
        QVERIFY(!textAt(ui, missing, 10).isEmpty());
        QTest::keyClick(map->canvas(), Qt::Key_N, Qt::ShiftModifier);
        QCOMPARE(ui.window().selection().current().file, torn);
    }

    void cellsTileEveryFile_data() { extentsAreTheRecordsOfStates_data(); }

    /// Cells follow one another without gaps, and what they add up to is what the extents cover.
    void cellsTileEveryFile()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        const FileRows rows(ui.checkpoint(), {});
        const FileExtents extents(*ui.checkpoint(), {});
        for (uint32_t row = 0; row < rows.rows(); ++row)
            QCOMPARE(bytesInCells(rows, row), extents.covered(rows.idOf(row)));
    }

    /// A damaged checkpoint may have states inside one another, or after the end of a file.
    void cellsOfStatesThatOverlapTileTheFile()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        Checkpoint damaged = *ui.checkpoint();
        std::vector<UnitState>& states = damaged.units[0].states;
        StoredRun& inside = states[1].perRank[0];
        const StoredRun& outside = states[0].perRank[0];
        inside.byteOffset = outside.byteOffset + 8;
        inside.elements = outside.elements / 4;
        states[2].perRank[0].byteOffset = damaged.file(outside.file).identity.bytes - 8;
        const FileRows rows(std::make_shared<const Checkpoint>(damaged), {});
        for (uint32_t row = 0; row < rows.rows(); ++row)
            QVERIFY(bytesInCells(rows, row) > 0);
    }

    void everyKeyAndMenuWorksOnFiles_data()
    {
        extentsAreTheRecordsOfStates_data();
        QTest::newRow("broken") << u"zero2-w2"_s;
    }

    /// Keys that are about ranks do nothing, or say why; none relies on ranks being there.
    void everyKeyAndMenuWorksOnFiles()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        const QString copy = copiedSample(sample.toLatin1().constData(), ui.folder(u"copy"_s));
        if (QTest::currentDataTag() == "broken"_ba)
            QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        LayoutMapView* map = showFiles(ui);
        QVERIFY(map != nullptr);
        MapCanvas* canvas = map->canvas();
        const auto& files = *canvas->stack()->files();
        map->setColourMode(MapColourMode::Rank);
        const auto press = [&](char key, Qt::KeyboardModifiers modifiers = {}) {
            QTest::keyClick(canvas, key, modifiers);
            (void)ui.window().grab();
        };
        for (int step = 0; step < 3; ++step) {
            for (const char key :
                {'w', 'w', 'd', ',', '.', '[', ']', 'n', 'z', 'f', 'p', 'm', 'h', 'h', 'a', 's'})
                for (const Qt::KeyboardModifiers modifiers : {Qt::NoModifier, Qt::ShiftModifier})
                    press(key, modifiers);
            QTest::keyClick(canvas, Qt::Key_Down);
            QTest::keyClick(canvas, Qt::Key_Right, Qt::ShiftModifier);
        }
        QCOMPARE(canvas->stack()->files(), &files);
        ui.window().selection().selectRank(0);
        ui.window().selection().selectParam(ParamId{0});
        QTest::mouseClick(canvas, Qt::LeftButton, {}, positionOf(*map, {0, 0}));
        QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, canvas->mapToGlobal(QPoint(0, 0)));
        QCoreApplication::sendEvent(canvas, &event);
        auto* menu = map->findChild<QMenu*>(u"mapMenu"_s);
        QVERIFY(menu != nullptr);
        for (QAction* action : menu->actions())
            action->trigger();
        menu->close();
        QVERIFY(ui.settle());
        (void)ui.window().grab();
        QCOMPARE(canvas->stack()->files(), &files);
    }

    /// The picture of the map shows files while the map does.
    void thePictureShowsFiles()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(showFiles(ui) != nullptr);
        const QString path = ui.folder(u"files.svg"_s);
        ui.find<MapPage>("mapPage")->savePicture(path);
        QTRY_VERIFY(ui.find<QWidget>("windowMessages")->isVisible());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray drawn = file.readAll();
        QVERIFY(drawn.contains("Files"));
        QVERIFY(drawn.contains("optim_states.pt"));
    }
};

SHARDSCOPE_UI_TEST(TestFileMap, WithDisplay)
#include "tst_file_map.moc"
