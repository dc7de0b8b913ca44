// SPDX-License-Identifier: Apache-2.0
// The picture of the reshard dialog at rest: bands, curves, and the heights of rows.
#include "core/engine/write/execute.h"
#include "tests/ui/dialogs/reshard_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/dialogs/load_curves.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QTest>

#include <map>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

class TestReshardPicture : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    /// Without a pointer over the maps: every element of the rank is on one of the new ranks.
    void ranksAndParametersAreFollowedAtRest()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 4);
        QVERIFY(dialog.settle());
        QTRY_VERIFY(dialog->maps().flow().has_value());
        const auto moved = [&] {
            uint64_t sum = 0;
            for (const MapFlow::Part& part : dialog->maps().flow()->parts)
                sum += part.elements;
            return sum;
        };
        QCOMPARE(moved(), dialog->maps().flow()->elements);
        QVERIFY2(dialog->maps().flowText().startsWith(u"dp 0, "_s), qPrintable(dialog->maps().flowText()));
        auto* list = dialog.find<QComboBox>("reshardFollowed");
        QCOMPARE(list->count(), 2 + 4);
        QCOMPARE(list->currentText(), u"dp 0 now"_s);
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Down);
        QTRY_VERIFY(dialog->maps().flowText().startsWith(u"dp 1, "_s));
        QCOMPARE(moved(), dialog->maps().flow()->elements);
        list->setCurrentIndex(2 + 3);
        Q_EMIT list->activated(2 + 3);
        QTRY_VERIFY2(dialog->maps().flowText().contains(u" ← dp 1"_s), qPrintable(dialog->maps().flowText()));
        // A click on a cell keeps its parameter.
        dialog.hover(dialog.map("Before"), {0, 600, 0});
        QTest::keyClick(dialog.map("Before")->canvas(), Qt::Key_Right);
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(dialog.map("Before")->canvas(), &leave);
        QTRY_VERIFY(dialog->maps().flow() && dialog->maps().flow()->of == MapFlow::Of::Parameter);
        QCOMPARE(moved(), dialog->maps().flow()->elements);
        QCOMPARE(list->count(), 1 + 2 + 4);
        QCOMPARE(list->currentIndex(), 0);
        QVERIFY2(dialog->maps().flowText().startsWith(list->currentText()), qPrintable(list->currentText()));
    }

    /// A block of a rank's flow has the elements that go there, and none of what lies between them.
    void aRankIsFollowedPieceByPiece()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4"))); // where every parameter is split over all ranks
        const Reshard dialog(ui, 6);
        QVERIFY(dialog.settle());
        QTRY_VERIFY(dialog->maps().flow().has_value());
        QVERIFY(dialog->maps().flow()->of == MapFlow::Of::Rank);
        QVERIFY(dialog->maps().flow()->parts.size() > 20);
        for (const MapFlow::Part& part : dialog->maps().flow()->parts) {
            QCOMPARE(part.from.elements.size(), part.elements);
            QCOMPARE(part.to.elements.size(), part.elements);
        }
    }

    /// The map of now has the room of the other one, and rows that can be read.
    void withoutAPlanTheRanksAreReadable()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero3-w4", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        const Reshard dialog(ui, 8);
        dialog->resize(1366, 768);
        QVERIFY(dialog.settle());
        QVERIFY(!dialog.map("After")->isVisible());
        const LayoutMapView* map = dialog.map("Before");
        QVERIFY(map->viewport()->layout().rowScale().rowHeight() >= map->fontMetrics().height() - 1);
        QVERIFY(map->canvas()->height() >= 4 * map->fontMetrics().height()); // its four ranks
    }

    /// A universal folder has no ranks now: those of the result are followed.
    void theListIsNotEmptyForUniversalFolders()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-universal-w3/global_step3_universal")));
        const Reshard dialog(ui, 2);
        QVERIFY(dialog.settle());
        QTRY_VERIFY(dialog->maps().flow().has_value());
        auto* list = dialog.find<QComboBox>("reshardFollowed");
        QTRY_COMPARE(list->currentText(), u"dp 0 then"_s);
    }

    void theSelectedParameterIsFollowed()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectParam(ParamId{3});
        const QString name = QString::fromStdString(ui.checkpoint()->params[3].name);
        const Reshard dialog(ui, 6);
        QVERIFY(dialog.settle());
        QTRY_VERIFY(dialog->maps().flow().has_value());
        QVERIFY(dialog->maps().flow()->of == MapFlow::Of::Parameter);
        QVERIFY2(dialog->maps().flowText().startsWith(name), qPrintable(dialog->maps().flowText()));
        QCOMPARE(dialog->maps().flow()->elements, ui.checkpoint()->params[3].elements);
    }

    void bothMapsGiveAParameterOneHue()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const Reshard dialog(ui, 6);
        QVERIFY(dialog.settle());
        std::map<std::string, uint8_t> hues;
        size_t again = 0;
        for (const char* side : {"Before", "After"}) {
            const MapSource& source = dialog.map(side)->canvas()->stack()->source(0);
            const std::vector<Parameter>& params = source.checkpoint().params;
            for (uint32_t i = 0; i < params.size(); ++i) {
                const auto [at, isNew] = hues.try_emplace(params[i].name, source.hueOf(ParamId{i}));
                QVERIFY2(at->second == source.hueOf(ParamId{i}), params[i].name.c_str());
                again += isNew ? 0 : 1;
            }
        }
        QVERIFY(again > 20);
    }

    /// On a small screen, too, the picture shows every rank, and bands cross neither cells nor words.
    void thePictureHasTheHeightOfTheDialog()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const Reshard dialog(ui, 8);
        dialog->resize(1350, 720); // of 1366x768
        QVERIFY(dialog.settle());
        QTRY_VERIFY(dialog->maps().flow().has_value());
        for (const auto& [side, ranks] : {std::pair("Before", 4U), std::pair("After", 8U)}) {
            const MapViewport& view = *dialog.map(side)->viewport();
            QCOMPARE(view.visible(0).rows.size(), uint64_t{ranks});
            QCOMPARE(view.visible(1).rows.size(), uint64_t{ranks});
        }
        const auto& area = *dialog.find<QScrollArea>("Scroll"); // of the choices
        QVERIFY(!area.horizontalScrollBar()->isVisible());
        QVERIFY(!area.verticalScrollBar()->isVisible());
        // What the bands leave as it is, is painted as without them.
        auto* bands = dialog.find<QWidget>("reshardBands");
        const auto paintOf = [&](const char* name) {
            auto* title = dialog.find<QWidget>(name);
            return dialog->grab({title->mapTo(dialog.operator->(), QPoint()), title->size()}).toImage();
        };
        const QImage with = paintOf("reshardTitleAfter");
        bands->hide();
        QCOMPARE(paintOf("reshardTitleAfter"), with);
    }

    void rowsAreNeverThinLines()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 256);
        QVERIFY(dialog.settle());
        const auto rowHeight = [&](const char* side) {
            const MapViewport& view = *dialog.map(side)->viewport();
            return view.layout().rowScale().rowHeight() / view.pixelRatio();
        };
        QVERIFY(rowHeight("After") >= 8);
        QVERIFY(rowHeight("Before") >= dialog.map("Before")->fontMetrics().height() - 2); // each has a label
        const int before = dialog.map("After")->width();
        dialog.find<QAbstractButton>("reshardFullWidth")->click();
        QTRY_VERIFY(dialog.map("After")->width() > before + 100);
        dialog.find<QAbstractButton>("reshardFullWidth")->click();
        QTRY_VERIFY(dialog.map("After")->width() < before + 100);
    }

    void curvesAgreeWithThePlans()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const Reshard dialog(ui, 8);
        QVERIFY(dialog.settle());
        auto* curves = dialog.find<LoadCurves>("reshardCurves");
        QTRY_COMPARE(curves->points().size(), size_t{16});
        const auto& point = curves->points()[7];
        QCOMPARE(point.ranks, 8);
        QVERIFY(point.load.has_value());
        QCOMPARE(point.load->mostBytes, dialog->preview().load.mostBytes);
        QCOMPARE(point.load->padding, dialog->preview().load.padding);
        QVERIFY(LoadCurves::describe(point).contains(u"padding 19 elements"_s));
        // A click moves the slider.
        QTest::mouseClick(curves, Qt::LeftButton, {}, QPoint(curves->width() - 2, curves->height() / 2));
        QCOMPARE(dialog.find<QSpinBox>("reshardRanks")->value(), 16);
    }

    void withoutAPlanNothingIsPromised()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("bnb8bit-w2"))); // its states cannot be divided for other ranks
        const Reshard dialog(ui, 4);
        QVERIFY(dialog.settle());
        QVERIFY(!dialog->preview().plan);
        QCOMPARE(dialog.find<LoadCurves>("reshardCurves")->sizeHint().height(), 0);
        QTRY_VERIFY(!dialog.find<QComboBox>("reshardFollowed")->isVisible());
        QCOMPARE(dialog->maps().flowText(), QString());
        QVERIFY(dialog.find<QAbstractButton>("reshardFullWidth")->isVisible());
    }

    /// What the dialog promises with the option is what the run does.
    void replacingIsPromisedOnlyWhereItIsAllowed()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero2-w2", ui.folder(u"run"_s));
        QVERIFY(ui.open(run));
        copiedSample("zero2-w2", ui.folder(u"foreign"_s)); // not written by Shardscope
        const Reshard dialog(ui, 4);
        dialog->form()->setTarget(ui.folder(u"foreign"_s));
        QVERIFY(dialog.settle());
        QVERIFY(!dialog->startButton()->isEnabled());
        dialog.find<QCheckBox>("reshardForce")->click();
        QVERIFY(dialog.settle());
        JobContext job;
        ExecuteOptions how;
        how.destination = dialog->preview().folder;
        how.sourceRunFolder = io::Path(run.toStdString());
        how.force = true;
        const bool runs = execute(io::realFileSystem(), *dialog->preview().plan, how, job).has_value();
        QCOMPARE(dialog->startButton()->isEnabled(), runs);
    }
};

SHARDSCOPE_UI_TEST(TestReshardPicture, WithDisplay)
#include "tst_reshard_picture.moc"
