// SPDX-License-Identifier: Apache-2.0
#include "core/plan/saved/saved_plan.h"
#include "tests/ui/dialogs/reshard_fixture.h"
#include "tests/ui/ui_tests.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/dialogs/reshard_maps.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/change_set_panel.h"
#include "ui/pages/findings_page.h"

#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMouseEvent>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr int kDistributed = -2; ///< data of its entry in the list of results

} // namespace

class TestBeforeAfter : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void bothMapsHaveOneScale()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 4);
        QVERIFY(dialog.settle());
        const MapLayout& before = dialog.map("Before")->viewport()->layout();
        const MapLayout& after = dialog.map("After")->viewport()->layout();
        QCOMPARE(before.count(), 3U);
        QCOMPARE(after.count(), before.count());
        for (uint32_t section = 0; section < before.count(); ++section) {
            QCOMPARE(after.section(section).scale(), before.section(section).scale());
            // Half of the elements on a rank, and half of the width.
            const auto then = static_cast<double>(after.section(section).contentWidth());
            const auto now = static_cast<double>(before.section(section).contentWidth());
            QVERIFY2(std::abs(then / now - 0.5) < 0.02, qPrintable(QString::number(then / now)));
        }
        QCOMPARE(dialog.map("Before")->width(), dialog.map("After")->width());
        QVERIFY(dialog.map("Before")->width() > dialog->width() / 2);
        dialog.find<QAbstractButton>("reshardFullWidth")->click();
        QTRY_VERIFY(dialog.map("Before")->width() > dialog->width() * 9 / 10);
    }

    void bandsLeadToTheElements_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<int>("ranks");
        QTest::newRow("zero2 2 to 5") << u"zero2-w2"_s << 5;
        QTest::newRow("zero3 4 to 6") << u"zero3-w4"_s << 6;
        QTest::newRow("bf16 2 to 1") << u"bf16opt-w2"_s << 1;
    }

    void bandsLeadToTheElements()
    {
        QFETCH(QString, sample);
        QFETCH(int, ranks);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        const Reshard dialog(ui, static_cast<uint32_t>(ranks));
        QVERIFY(dialog.settle());
        for (const auto& [from, to] : {std::pair("Before", "After"), std::pair("After", "Before")}) {
            const MapStack& source = *dialog.map(from)->canvas()->stack();
            const MapStack& target = *dialog.map(to)->canvas()->stack();
            int fragments = 0;
            for (uint32_t section = 0; section < source.count(); ++section) {
                for (uint32_t row = 0; row < source.source(section).rows(); ++row) {
                    source.source(section).forEachCell(
                        row, 0, source.source(section).columns(), [&](const MapCell& cell) {
                            if (cell.kind != CellKind::Param)
                                return true;
                            ++fragments;
                            compareFlow(source, {row, cell.begin, section}, cell, target);
                            return true;
                        });
                }
            }
            QVERIFY(fragments > 10);
        }
    }

    void hoveringShowsBands()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 4);
        QVERIFY(dialog.settle());
        QVERIFY(dialog->maps().flow().has_value());
        QVERIFY(dialog->maps().flow()->of == MapFlow::Of::Rank);
        const QImage before = dialog->grab().toImage();
        dialog.hover(dialog.map("Before"), {0, 600, 0});
        QVERIFY(dialog->maps().flow().has_value());
        QVERIFY(dialog->maps().flow()->of == MapFlow::Of::Fragment);
        QCOMPARE(dialog->maps().flow()->parts.size(), size_t{2});
        QVERIFY2(dialog->maps().flowText().contains(u"256 elements on dp 0 → dp 0: 128, dp 1: 128"_s),
            qPrintable(dialog->maps().flowText()));
        QVERIFY(dialog->grab().toImage() != before);
        if (const QByteArray to = qgetenv("SHARDSCOPE_PICTURES"); !to.isEmpty())
            QVERIFY(dialog->grab().save(QString::fromLocal8Bit(to) + u"/bands.png"_s));
        // The map of a plan has no files to show.
        for (int i = 0; i < 3; ++i) {
            QTest::keyClick(dialog.map("After")->canvas(), Qt::Key_U);
            QVERIFY(!dialog.map("After")->showsFiles());
        }
        QTest::keyClick(dialog.map("After")->canvas(), Qt::Key_U);
        QCOMPARE(dialog.map("After")->projection(), MapQuery::Projection::Partitions);
        // From the new map back to the old one.
        dialog.hover(dialog.map("After"), {1, 400, 0});
        QVERIFY2(
            dialog->maps().flowText().contains(u"on dp 1 ← dp 0"_s), qPrintable(dialog->maps().flowText()));
    }

    void loadsAreCompared()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const Reshard dialog(ui, 8);
        QVERIFY(dialog.settle());
        const QString now = dialog.find<QLabel>("reshardTitleBefore")->text();
        const QString then = dialog.find<QLabel>("reshardTitleAfter")->text();
        QVERIFY2(now.contains(u"4 GPUs"_s) && now.contains(u"71.3 KiB per GPU · padding 7 elements"_s),
            qPrintable(now));
        QVERIFY2(then.contains(u"8 GPUs"_s) && then.contains(u"padding 19 elements"_s), qPrintable(then));
        // Frozen parameters have a file on every rank of the plan.
        const MapStack& stack = *dialog.map("After")->canvas()->stack();
        for (uint32_t section = 0; section < stack.count(); ++section)
            QVERIFY(!stack.source(section).anyMissing(0, stack.source(section).rows()));
    }

    void sliderAndCountAreOne()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 4);
        auto* slider = dialog.find<QSlider>("reshardRankSlider");
        auto* ranks = dialog.find<QSpinBox>("reshardRanks");
        QCOMPARE(slider->value(), 3);
        slider->setFocus();
        QTest::keyClick(slider, Qt::Key_Right);
        QCOMPARE(ranks->value(), 5);
        QVERIFY(dialog.settle());
        QCOMPARE(dialog->preview().plan->reshard->worldSize, 5U);
        slider->setValue(slider->maximum());
        QCOMPARE(ranks->value(), 16);
        ranks->setValue(1000); // beyond the slider, and kept
        QCOMPARE(slider->value(), slider->maximum());
        QCOMPARE(ranks->value(), 1000);
    }

    void batchSizesAreLinesToCopy()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 1);
        QVERIFY(dialog.settle());
        auto* facts = dialog.find<QTabWidget>("reshardFacts");
        QCOMPARE(facts->tabText(0), u"Picture"_s);
        QCOMPARE(facts->currentIndex(), 0);
        QCOMPARE(facts->tabText(3), u"Keep the batch size"_s);
        QCOMPARE(facts->tabText(4), u"Config must match"_s);
        auto* pairs = dialog.find<QListWidget>("reshardBatch");
        const auto& batch = dialog->preview().plan->reshard->batch;
        QCOMPARE(pairs->count(), static_cast<int>(batch.size()));
        QVERIFY(pairs->count() > 1);
        pairs->setCurrentRow(1);
        dialog.find<QPushButton>("reshardBatchCopy")->click();
        const QString lines = QGuiApplication::clipboard()->text();
        QVERIFY2(lines.contains(u"\"train_micro_batch_size_per_gpu\": %1,"_s.arg(batch[1].microBatch)),
            qPrintable(lines));
        QVERIFY(lines.contains(u"\"gradient_accumulation_steps\": %1"_s.arg(batch[1].accumulation)));
        QVERIFY(lines.startsWith(
            u"\"train_batch_size\": %1,"_s.arg(batch[1].microBatch * batch[1].accumulation)));
    }

    void degreesAreRefusedWithAReason()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 4);
        auto* experts = dialog.find<QSpinBox>("reshardExperts");
        QTRY_VERIFY(experts->toolTip().contains(u"no experts"_s));
        QVERIFY(!experts->isEnabled());
        dialog.find<QSpinBox>("reshardTp")->setValue(2);
        QVERIFY(dialog.settle());
        QVERIFY(dialog.find<QLineEdit>("reshardVocabulary")->isVisibleTo(dialog.operator->()));
        QVERIFY(!dialog->preview().plan);
        QVERIFY(!dialog.find<QLabel>("messageText")->text().isEmpty());
        QVERIFY(!dialog->startButton()->isEnabled());
        dialog.find<QSpinBox>("reshardTp")->setValue(1);
        dialog.find<QSpinBox>("reshardPp")->setValue(2);
        QVERIFY(dialog.settle());
        QVERIFY(dialog.find<QLineEdit>("reshardLayers")->isVisibleTo(dialog.operator->()));
        QVERIFY(!dialog->preview().plan);
        dialog.find<QLineEdit>("reshardLayers")->setText(u"0,x"_s);
        QVERIFY(dialog.settle());
        QVERIFY(dialog.find<QLabel>("messageText")->text().contains(u"0,4,7"_s));
    }

    void slicesAreSplitAgain()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("slices-w4")));
        const Reshard dialog(ui, 4);
        dialog.find<QSpinBox>("reshardTp")->setValue(4);
        QVERIFY(dialog.settle());
        QVERIFY2(dialog->preview().plan,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QCOMPARE(dialog->preview().target->parallel.tp, 4U);
        QVERIFY(dialog.find<QLineEdit>("reshardCommand")->text().contains(u"--tp 4"_s));
    }

    void planIsSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 3);
        QVERIFY(dialog.settle());
        const QString path = ui.folder(u"plan.json"_s);
        dialog.find<QPushButton>("reshardSave")->click();
        auto* ask = dialog.find<QFileDialog>("planFileDialog");
        QVERIFY(ask != nullptr);
        QVERIFY(ask->selectedFiles().first().endsWith(u"/out.json"_s));
        Q_EMIT ask->fileSelected(path);
        ask->close();
        auto* message = dialog.find<QLabel>("messageText");
        QTRY_VERIFY(message->text().contains(u"shardscope run"_s));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto saved = parseSavedPlan(file.readAll().toStdString(), path.toStdString());
        QVERIFY(saved.has_value());
        QVERIFY(checkSavedPlan(*saved, *dialog->preview().plan).has_value());
        QCOMPARE(saved->destination, io::Path(ui.folder(u"out"_s).toStdString()));
    }

    void estimatesComeFromTheLastJob()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        {
            const Reshard dialog(ui, 3);
            QVERIFY(dialog.settle());
            const QString words = dialog.find<QLabel>("reshardSummary")->text();
            QVERIFY2(
                words.contains(u"not measured yet"_s) && words.contains(u"at most 256"_s), qPrintable(words));
            dialog->reject();
        }
        ui.settings().setWriteRate(uint64_t{2} << 30);
        const Reshard dialog(ui, 3);
        QVERIFY(dialog.settle());
        const QString words = dialog.find<QLabel>("reshardSummary")->text();
        QVERIFY2(words.contains(u"at 2.0 GiB/s, as the last job"_s), qPrintable(words));
    }

    void refusalOffersWhatHelps()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        const Reshard dialog(ui, 4);
        QVERIFY(dialog.settle());
        auto* repair = dialog.find<QPushButton>("messageAction");
        auto* folder = dialog.find<QPushButton>("messageAction2");
        QVERIFY(repair != nullptr && repair->isVisibleTo(dialog.operator->()));
        QVERIFY(folder != nullptr && folder->isVisibleTo(dialog.operator->()));
        repair->click();
        auto* page = ui.find<FindingsPage>("findingsPage");
        QTRY_VERIFY(page->isVisible());
        QVERIFY(ui.settle());
        // The fix of the missing rank is ticked, and its changes are planned.
        QTRY_VERIFY(!page->changeSet()->isHidden());
    }

    void distributedCheckpointsAreExported()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Reshard dialog(ui, 4);
        auto* kind = dialog.find<QComboBox>("reshardKind");
        kind->setCurrentIndex(kind->findData(kDistributed));
        dialog->form()->setTarget(ui.folder(u"dcp"_s));
        QVERIFY(dialog.settle());
        QVERIFY(dialog->preview().plan != nullptr && dialog->preview().plan->exported != nullptr);
        QVERIFY(dialog->startButton()->isEnabled());
        QVERIFY(!dialog.find<QLineEdit>("reshardTag")->isVisibleTo(dialog.operator->()));
        QVERIFY(dialog.find<QLabel>("reshardTitleAfter")->text().contains(u"any number of GPUs loads it"_s));
        const QString command = dialog.find<QLineEdit>("reshardCommand")->text();
        QVERIFY2(command.startsWith(u"shardscope convert "_s) && command.contains(u"--to dcp"_s),
            qPrintable(command));
        dialog->startButton()->click();
        Job* job = ui.window().jobs().jobs().first();
        QTRY_VERIFY_WITH_TIMEOUT(!job->isActive(), 60'000);
        QVERIFY2(job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY(ui.open(ui.folder(u"dcp"_s)));
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Dcp);
    }

    /// From the number of GPUs to the running job with the keyboard alone.
    void enterStarts()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero3-w4", ui.folder(u"run"_s));
        QVERIFY(ui.open(run));
        QTest::keyClick(&ui.window(), Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
        auto* dialog = ui.window().findChild<ReshardDialog*>();
        QVERIFY(dialog != nullptr);
        QSignalSpy shown(dialog, &ReshardDialog::previewShown);
        QVERIFY(shown.wait());
        auto* count = dialog->findChild<QSpinBox*>(u"reshardRanks"_s);
        QVERIFY(count != nullptr);
        count->setFocus();
        count->selectAll();
        QTest::keyClicks(count, u"2"_s);
        QVERIFY(shown.wait());
        QTest::keyClick(count, Qt::Key_Return);
        QCOMPARE(ui.window().jobs().jobs().size(), 1);
        QTRY_COMPARE(ui.window().jobs().activeCount(), 0);
        QVERIFY(QFileInfo::exists(ui.folder(u"run-dp2"_s)));
    }

private:
    /// Every element of the fragment is in one part, and the other map has the same element there.
    static void compareFlow(
        const MapStack& source, MapSource::Point place, const MapCell& cell, const MapStack& target)
    {
        const auto flow = flowOf(source, place, target);
        QVERIFY(flow.has_value() && flow->isExact && !flow->isCut);
        QVERIFY(flow->from.elements == (MapRange{cell.begin, cell.end}));
        uint64_t next = cell.begin;
        const std::string name = source.checkpoint().params[index(cell.param)].name;
        for (const MapFlow::Part& part : flow->parts) {
            QCOMPARE(part.from.elements.begin, next);
            QCOMPARE(part.to.elements.size(), part.from.elements.size());
            next = part.from.elements.end;
            const MapCell there = target.cellAt(
                {static_cast<uint32_t>(part.to.rows.begin), part.to.elements.begin, part.to.section});
            QCOMPARE(target.checkpoint().params[index(there.param)].name, name);
            QCOMPARE(there.paramOffset + (part.to.elements.begin - there.begin),
                cell.paramOffset + (part.from.elements.begin - cell.begin));
        }
        QCOMPARE(next, cell.end);
    }
};

SHARDSCOPE_UI_TEST(TestBeforeAfter, WithDisplay)
#include "tst_before_after.moc"
