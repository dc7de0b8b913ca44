// SPDX-License-Identifier: Apache-2.0
#include "core/layout/file_extents.h"
#include "core/torchfile/torch_file.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/file_map.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/map_page.h"
#include "ui/text/text.h"

#include <QComboBox>
#include <QFile>
#include <QTest>

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
FileMap* showFiles(WindowFixture& ui)
{
    ui.window().showPage(u"map"_s);
    auto* view = ui.find<MapPage>("mapPage")->mapView();
    view->setFilesShown(true);
    return ui.settle() ? view->findChild<FileMap*>(u"fileMap"_s) : nullptr;
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
        FileMap* map = showFiles(ui);
        QVERIFY(map != nullptr && map->isVisible());
        QCOMPARE(map->rows().size(), ui.checkpoint()->files.size());
        const FlatUnit& unit = ui.checkpoint()->units[1];
        const StoredRun& run = unit.states[0].perRank[1];
        const QString text = map->textAt(run.file, run.byteOffset);
        QVERIFY2(text.startsWith(toText(unit.states[0].name) + u" of group 1 on dp 1: bytes "_s),
            qPrintable(text));
        QVERIFY2(map->textAt(run.file, 0).startsWith(u"No state uses bytes 0 to "_s),
            qPrintable(map->textAt(run.file, 0)));
        const uint64_t size = ui.checkpoint()->file(run.file).identity.bytes;
        QVERIFY(map->textAt(run.file, size + 1).startsWith(u"After the end"_s));
        QVERIFY2(map->tooltipAt({run.file, 0}).endsWith(u"hold states"_s),
            qPrintable(map->tooltipAt({run.file, 0})));
        if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty())
            QVERIFY(ui.window().grab().save(QString::fromLocal8Bit(to) + u"/files.png"_s));
    }

    void aClickSelectsTheFile()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        FileMap* map = showFiles(ui);
        QVERIFY(map != nullptr);
        QPoint at(map->viewport()->width() - 200, 40);
        const auto place = map->placeAt(at);
        QVERIFY(place.has_value());
        QTest::mouseClick(map->viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(ui.window().selection().current().file, place->file);
        QVERIFY(map->accessibleDescription().contains(
            QString::fromStdString(ui.checkpoint()->file(place->file).name)));
        map->setFocus();
        QTest::keyClick(map, Qt::Key_Down);
        QVERIFY(ui.window().selection().current().file != place->file);
        const uint64_t all = map->shownBytes();
        QTest::keyClick(map, Qt::Key_Plus);
        QCOMPARE(map->shownBytes(), all / 2);
        QTest::keyClick(map, Qt::Key_0);
        QCOMPARE(map->shownBytes(), all);
        QTest::keyClick(map, Qt::Key_Return);
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
        auto* files = view->findChild<FileMap*>(u"fileMap"_s);
        auto* box = view->findChild<QComboBox*>(u"mapProjection"_s);
        view->setFocus();
        QTest::keyClick(view->canvas(), Qt::Key_U);
        QCOMPARE(view->projection(), MapQuery::Projection::Unrolled);
        QTest::keyClick(view->canvas(), Qt::Key_U);
        QVERIFY(view->showsFiles() && files->isVisible() && !view->canvas()->isVisible());
        QCOMPARE(box->currentText(), u"Files"_s);
        QVERIFY(!view->findChild<QComboBox*>(u"mapState"_s)->isEnabled());
        QTest::keyClick(files, Qt::Key_U);
        QVERIFY(!view->showsFiles() && view->canvas()->isVisible() && !files->isVisible());
        QCOMPARE(view->projection(), MapQuery::Projection::Partitions);
        QCOMPARE(box->currentText(), u"Partitions"_s);
        QVERIFY(view->findChild<QComboBox*>(u"mapState"_s)->isEnabled());
        Q_EMIT box->activated(2);
        QVERIFY(view->showsFiles());
        Q_EMIT box->activated(0);
        QVERIFY(!view->showsFiles());
    }

    void anotherCheckpointIsReadWhenItIsSeen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        FileMap* map = showFiles(ui);
        QVERIFY(map != nullptr);
        ui.window().showPage(u"overview"_s);
        QVERIFY(ui.open(samplePath("zero3-w4"))); // out of sight, and of the same size when it is seen again
        map = showFiles(ui);
        QVERIFY(map != nullptr && !map->rows().empty());
        const StoredRun& run = ui.checkpoint()->units[0].states[0].perRank[2];
        const QString text = map->textAt(run.file, run.byteOffset);
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
        FileMap* map = showFiles(ui);
        QVERIFY(map != nullptr);
        const FileId missing = fileNamed(*ui.checkpoint(), "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
        QVERIFY(missing != kNoFile);
        QCOMPARE(map->textAt(missing, 10), u"The file is missing."_s);
        // A torn file is marked, and what it has lost is not drawn as if it were there.
        const FileId torn = fileNamed(*ui.checkpoint(), "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt");
        const uint64_t size = ui.checkpoint()->file(torn).identity.bytes;
        QCOMPARE(ui.checkpoint()->file(torn).status, FileStatus::Damaged);
        const FileExtents extents(*ui.checkpoint(), {});
        QVERIFY(!extents.of(torn).empty());
        QVERIFY(extents.of(torn).back().end <= size);
        QVERIFY(map->textAt(torn, size).startsWith(u"After the end"_s));
    }
};

SHARDSCOPE_UI_TEST(TestFileMap, WithDisplay)
#include "tst_file_map.moc"
