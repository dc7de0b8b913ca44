// SPDX-License-Identifier: Apache-2.0
// Pages that are not seen are filled in events of their own after a checkpoint was opened.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/files_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/tensor_page.h"
#include "ui/shell/page_tabs.h"
#include "ui/widgets/filter_field.h"

#include <QAction>
#include <QTableView>

#include <functional>
#include <memory>

using namespace shardscope;
using namespace shardscope::ui;
using namespace Qt::StringLiterals;

namespace {

/// Does `look` in the very event in which a checkpoint arrives, after the window has shown it.
void whenItArrives(WindowFixture& ui, std::function<void()> look)
{
    QObject::connect(&ui.window().session(), &Session::checkpointChanged, &ui.window(), std::move(look),
        static_cast<Qt::ConnectionType>(Qt::AutoConnection | Qt::SingleShotConnection));
}

QStringList filesIn(WindowFixture& ui)
{
    QStringList names;
    const QAbstractItemModel* model = ui.window().findChild<FilesPage*>()->fileTable()->model();
    for (int row = 0; row < model->rowCount(); ++row)
        names.append(model->index(row, 0).data().toString());
    names.sort();
    return names;
}

QStringList filesOf(const Checkpoint& checkpoint)
{
    QStringList names;
    for (const CheckpointFile& file : checkpoint.files)
        names.append(QString::fromStdString(file.name));
    names.sort();
    return names;
}

bool isBehind(WindowFixture& ui)
{
    return ui.window().findChild<PageTabs*>()->isFilling();
}

} // namespace

class TestPagesBehind : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    /// A tab that is chosen before its page was filled shows the new checkpoint at once.
    void aTabChosenAtOnceIsOfTheNewCheckpoint_data()
    {
        QTest::addColumn<QString>("first");
        QTest::addColumn<QString>("second");
        QTest::newRow("another run") << u"zero2-w2"_s << u"zero3-w4"_s;
        QTest::newRow("fewer parameters and ranks") << u"zero3-w4"_s << u"zero2-w2"_s;
    }

    void aTabChosenAtOnceIsOfTheNewCheckpoint()
    {
        QFETCH(const QString, first);
        QFETCH(const QString, second);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(qPrintable(first))));
        for (const PageEntry& entry : pageList()) // each has something to become stale
            QVERIFY(ui.window().showPage(entry.name) && ui.settle());
        ui.window().showPage(u"overview"_s);
        const QStringList before = filesIn(ui);
        bool looked = false;
        whenItArrives(ui, [&] {
            QVERIFY(isBehind(ui));
            const CheckpointPtr now = ui.checkpoint();
            ui.window().showPage(u"files"_s);
            QCOMPARE(filesIn(ui), filesOf(*now));
            QVERIFY(filesIn(ui) != before);
            ui.window().showPage(u"map"_s);
            const MapCanvas* canvas = ui.window().findChild<MapPage*>()->mapView()->canvas();
            QVERIFY(!canvas->source() || &canvas->source()->checkpoint() == now.get());
            ui.window().showPage(u"parameters"_s);
            QCOMPARE(ui.window().findChild<ParametersPage*>()->model()->rowCount(), 0); // names are read
            ui.window().showPage(u"tensor"_s);
            QVERIFY(!ui.window().findChild<TensorPage*>()->source());
            looked = true;
        });
        QVERIFY(ui.open(samplePath(qPrintable(second))));
        QVERIFY(looked && !isBehind(ui));
        QCOMPARE(filesIn(ui), filesOf(*ui.checkpoint()));
        QCOMPARE(&ui.window().findChild<MapPage*>()->mapView()->canvas()->source()->checkpoint(),
            ui.checkpoint().get());
    }

    /// What is selected before a page was filled is selected in it, and no page takes it for the former
    /// one's.
    void aSelectionMadeAtOnceArrivesEverywhere()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        for (const PageEntry& entry : pageList())
            QVERIFY(ui.window().showPage(entry.name) && ui.settle());
        ui.window().selection().selectParam(ParamId{0});
        ui.window().showPage(u"overview"_s);
        QVERIFY(ui.settle());
        FileId file = kNoFile;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* files = ui.window().findChild<FilesPage*>();
        whenItArrives(ui, [&] {
            QMetaObject::invokeMethod(
                &ui.window(),
                [&] {
                    const CheckpointPtr now = ui.checkpoint();
                    file = FileId{static_cast<uint32_t>(now->files.size() - 1)};
                    SelectedThing thing;
                    thing.param = ParamId{3};
                    thing.file = file;
                    QVERIFY(isBehind(ui));
                    ui.window().selection().select(thing);
                },
                Qt::QueuedConnection);
        });
        ui.window().actionSet()[ActionId::PreviousOpen]->trigger(); // nothing is read, so nothing comes again
        QVERIFY(ui.settle());
        QVERIFY(file != kNoFile);
        QCOMPARE(files->fileTable()->currentIndex().data().toString(),
            QString::fromStdString(ui.checkpoint()->file(file).name));
        ui.window().showPage(u"tensor"_s);
        QVERIFY(ui.settle());
        auto* tensor = ui.window().findChild<TensorPage*>();
        QVERIFY(tensor->source());
        QCOMPARE(tensor->source()->checkpoint.get(), ui.checkpoint().get());
        QCOMPARE(index(tensor->source()->param), 3U);
        QVERIFY(ui.window().findChild<ParametersPage*>()->table()->currentIndex().isValid());
    }

    /// The map that is not seen keeps its zoom when the checkpoint is read again.
    void theMapKeepsItsZoom()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"map"_s) && ui.settle());
        MapCanvas* canvas = ui.window().findChild<MapPage*>()->mapView()->canvas();
        for (int i = 0; i < 4; ++i)
            QTest::keyClick(canvas, Qt::Key_Plus);
        QVERIFY(ui.settle());
        const auto zoomed = canvas->viewport().visibleRect();
        ui.window().showPage(u"overview"_s);
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QVERIFY(ui.window().showPage(u"map"_s) && ui.settle());
        QCOMPARE(canvas->viewport().visibleRect(), zoomed);
        QCOMPARE(&canvas->source()->checkpoint(), ui.checkpoint().get());
    }

    /// A filter of a page that is not seen yet, and of the parameters, applies to the new checkpoint.
    void aFilterMeetsAPageThatIsNotFilled()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"overview"_s);
        whenItArrives(ui, [&] {
            ui.window().showPage(u"files"_s);
            ui.find<FilterField>("filterField")->setText(u"optim"_s);
        });
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(!filesIn(ui).isEmpty());
        for (const QString& name : filesIn(ui))
            QVERIFY2(name.contains(u"optim"_s), qPrintable(name));
    }

    /// Closing leaves nothing of the checkpoint on any page.
    void closingEmptiesAllPages()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        for (const PageEntry& entry : pageList())
            QVERIFY(ui.window().showPage(entry.name) && ui.settle());
        const std::weak_ptr<const Checkpoint> former = ui.checkpoint();
        ui.window().actionSet()[ActionId::Close]->trigger();
        QVERIFY(ui.settle());
        QVERIFY(filesIn(ui).isEmpty());
        QVERIFY(!ui.window().findChild<MapPage*>()->mapView()->canvas()->source());
        QVERIFY(!ui.window().findChild<TensorPage*>()->source());
        QTRY_VERIFY(former.expired()); // a worker frees it
    }
};

SHARDSCOPE_UI_TEST(TestPagesBehind, WithDisplay)
#include "tst_pages_behind.moc"
