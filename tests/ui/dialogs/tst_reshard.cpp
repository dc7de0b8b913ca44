// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/job_card.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/reshard_form.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/pages/jobs_panel.h"
#include "ui/widgets/elided_label.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabBar>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>

#include <thread>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr int kUniversal = -1; ///< data of its entry in the list of results

/// Waits for the plan of the form's current choices.
bool waitForPlan(ReshardDialog* dialog)
{
    QSignalSpy shown(dialog, &ReshardDialog::previewShown);
    return shown.wait(30'000);
}

/// Writes a checkpoint as a distributed one of PyTorch.
bool distribute(const QString& from, const QString& to)
{
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), from.toStdString(), {}, job);
    ExportOptions options;
    options.format = ExportFormat::Dcp;
    options.folderName = io::Path(to.toStdString()).filename().string();
    const auto plan = opened ? planExport(io::realFileSystem(), opened->checkpoint, options, job)
                             : Result<WritePlanPtr>(nullptr);
    ExecuteOptions how;
    how.destination = io::Path(to.toStdString()).parent_path();
    return opened && plan && execute(io::realFileSystem(), **plan, how, job);
}

Job* makeEndlessJob()
{
    return new Job(u"Endless"_s, u"until cancelled"_s, [](JobContext& context) -> Result<JobOutcome> {
        context.beginPhase("waiting", 1000);
        context.advance(250);
        context.log("a line of log");
        while (!context.cancelled())
            std::this_thread::yield();
        return fail(ErrorCode::Cancelled, "cancelled");
    });
}

} // namespace

class TestReshard : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void mergesSlicesAndStages_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("degree");
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("name");
        QTest::newRow("slices") << u"slices-w4"_s << u"reshardTp"_s << u"--tp 1"_s
                                << u"layers.0.up_proj.weight"_s;
        QTest::newRow("stages") << u"pipeline-w4"_s << u"reshardPp"_s << u"--pp 1"_s
                                << u"tied_modules.embed.weight"_s;
    }

    void mergesSlicesAndStages()
    {
        QFETCH(QString, sample);
        QFETCH(QString, degree);
        QFETCH(QString, option);
        QFETCH(QString, name);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* parallel = dialog->findChild<QSpinBox*>(degree);
        QCOMPARE(parallel->value(), 2);
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QCOMPARE(dialog->preview().target->parts.size(), size_t{2});
        parallel->setValue(1);
        dialog->form()->setWorldSize(3);
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        const CheckpointPtr target = dialog->preview().target;
        QCOMPARE(target->parallel.ranks(), 3U);
        QVERIFY(target->parts.empty());
        QVERIFY(target->findParam(name.toStdString()).has_value());
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardCommand"_s)->text().contains(option));
        auto* kind = dialog->findChild<QComboBox*>(u"reshardKind"_s);
        kind->setCurrentIndex(kind->findData(kUniversal)); // merged in any case
        QVERIFY(!parallel->isVisibleTo(dialog));
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().target->findParam(name.toStdString()).has_value());
    }

    void offersTheLineThatNeedsNoCopy()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* line = dialog->findChild<QLineEdit*>(u"reshardLive"_s);
        QVERIFY(line->isVisibleTo(dialog) && line->isReadOnly());
        const QString folder = samplePath("zero2-w2");
        QCOMPARE(line->text(),
            u"from shardscope.deepspeed import load_checkpoint; load_checkpoint(engine, \"%1\", tag=\"global_step6\")"_s
                .arg(folder));
        QTest::mouseClick(dialog->findChild<QToolButton*>(u"reshardLiveCopy"_s), Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(), line->text());
        dialog->form()->setTarget({}); // which only a copy needs
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && line->isVisibleTo(dialog));
    }

    void takesAFileOfPatterns()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("megatron-w2")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* patterns = dialog->findChild<QLineEdit*>(u"reshardPatterns"_s);
        QVERIFY(!patterns->isVisibleTo(dialog));
        auto* kind = dialog->findChild<QComboBox*>(u"reshardKind"_s);
        kind->setCurrentIndex(kind->findData(kUniversal)); // which has no padded vocabulary
        QVERIFY(patterns->isVisibleTo(dialog));
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().plan); // by what the checkpoint records
        const QString file = ui.folder(u"patterns.json"_s);
        QVERIFY(QFile(file).open(QIODevice::WriteOnly));
        patterns->setText(file); // an empty file is no JSON
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->preview().plan);
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardCommand"_s)->text().contains(u"--patterns"_s));
    }

    void takesExpertRanksAndOptions()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("experts-w4")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* experts = dialog->findChild<QSpinBox*>(u"reshardExperts"_s);
        QTRY_VERIFY(experts->isEnabled());
        QVERIFY(!dialog->findChild<QLineEdit*>(u"reshardOptions"_s)->isVisibleTo(dialog));
        dialog->form()->setTarget(ui.folder(u"out"_s));
        dialog->form()->setWorldSize(4);
        experts->setValue(1);
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardCommand"_s)->text().contains(u"--ep 1"_s));
    }

    void asksForOptionsThatTheSourceLacks()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("elastic-w3")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* options = dialog->findChild<QLineEdit*>(u"reshardOptions"_s);
        QVERIFY(options->isVisibleTo(dialog));
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->preview().plan);
        options->setText(
            u"lr=1e-3; betas=(0.9, 0.95); eps=1e-8; weight_decay=0.1; amsgrad=False; maximize=False"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(dialog->preview().plan,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardCommand"_s)
                    ->text()
                    .contains(u"--optimizer-option 'betas=(0.9, 0.95)'"_s));
    }

    void asksForTheFormOfStage0()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        auto* form = dialog->findChild<QComboBox*>(u"reshardStage0Form"_s);
        QVERIFY(!form->isVisibleTo(dialog));
        QVERIFY(!dialog->findChild<QLineEdit*>(u"reshardLayers"_s)->isVisibleTo(dialog));
        auto* kind = dialog->findChild<QComboBox*>(u"reshardKind"_s);
        kind->setCurrentIndex(kind->findData(0));
        QVERIFY(form->isVisibleTo(dialog));
        form->setCurrentIndex(form->findData(static_cast<int>(CheckpointKind::Fp16Unfused)));
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardCommand"_s)
                    ->text()
                    .contains(u"--stage 0 --stage0-form fp16-unfused"_s));
    }

    void fromButtonToOpenedResult_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<int>("ranks");
        QTest::newRow("zero1 2 to 3") << u"zero1-w2"_s << 3;
        QTest::newRow("zero2 2 to 1") << u"zero2-w2"_s << 1;
        QTest::newRow("zero3 4 to 6") << u"zero3-w4"_s << 6;
        QTest::newRow("bf16 2 to 4") << u"bf16opt-w2"_s << 4;
    }

    void fromButtonToOpenedResult()
    {
        QFETCH(QString, sample);
        QFETCH(int, ranks);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QVERIFY(dialog != nullptr);
        dialog->findChild<QSpinBox*>(u"reshardRanks"_s)->setValue(ranks);
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QCOMPARE(dialog->preview().plan->reshard->worldSize, static_cast<uint32_t>(ranks));
        QCOMPARE(dialog->findChild<QTableView*>(u"reshardFiles"_s)->model()->rowCount(),
            static_cast<int>(dialog->preview().plan->files.size()));
        QCOMPARE(dialog->preview().target->units.front().partition.ranks(), static_cast<uint32_t>(ranks));
        const QString command = dialog->findChild<QLineEdit*>(u"reshardCommand"_s)->text();
        QVERIFY(command.contains(u"--world-size %1"_s.arg(ranks)));
        QVERIFY(dialog->startButton()->isEnabled());
        dialog->startButton()->click();

        QCOMPARE(ui.window().jobs().jobs().size(), 1);
        Job* job = ui.window().jobs().jobs().first();
        auto* card = ui.window().findChild<JobCard*>();
        QVERIFY(card != nullptr && card->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(!job->isActive(), 60'000);
        QVERIFY2(job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY(job->outcome().summary.contains(u"verified"_s));
        auto* open = card->findChild<QPushButton*>(u"jobOpen"_s);
        QVERIFY(open->isVisible());
        open->click();
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->parallel.dp, static_cast<uint32_t>(ranks));
        QVERIFY(ui.checkpoint()->complete);
        QCOMPARE(QString::fromStdString(ui.checkpoint()->runFolder.native()), ui.folder(u"out"_s));
        QCOMPARE(QString::fromStdString(ui.window().session().path().native()), ui.folder(u"out"_s));
        QCOMPARE(ui.find<QTabBar>("checkpointTabs")->count(), 2); // next to its source
    }

    void saysWhyABatchCannotBeKept()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2"))); // a global batch of 60
        ReshardDialog* dialog = ui.window().showReshardDialog();
        dialog->form()->setTarget(ui.folder(u"out"_s));
        dialog->form()->setWorldSize(7);
        QVERIFY(waitForPlan(dialog));
        const QString about = dialog->findChild<QLabel*>(u"reshardBatchAbout"_s)->text();
        QVERIFY2(about.contains(u"cannot be kept"_s) && about.contains(u"7 data-parallel ranks"_s),
            qPrintable(about));
    }

    void refusesWhatTheRunWouldRefuse()
    {
        WindowFixture ui;
        const QString out = ui.folder(u"out"_s);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QVERIFY(QDir().mkpath(out % u"/global_step6"_s));
        QFile notes(out % u"/global_step6/notes.txt"_s);
        QVERIFY(notes.open(QIODevice::WriteOnly) && notes.write("mine") == 4);
        notes.close();
        dialog->form()->setTarget(out);
        dialog->form()->setWorldSize(3);
        dialog->findChild<QCheckBox*>(u"reshardForce"_s)->setChecked(true);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem.has_value());
        QVERIFY(dialog->preview().problem->message.find("notes.txt") != std::string::npos);
        QVERIFY(!dialog->startButton()->isEnabled());
    }

    void stageAndFormAreChosen_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<int>("stage"); // -1: universal
        QTest::addColumn<QString>("says");
        QTest::newRow("zero2 to stage 3") << u"zero2-w2"_s << 3 << u"--stage 3"_s;
        QTest::newRow("zero3 to stage 1") << u"zero3-w4"_s << 1 << u"--stage 1"_s;
        QTest::newRow("zero3 to universal") << u"zero3-w4"_s << -1 << u"shardscope convert"_s;
        QTest::newRow("zero3 to stage 0") << u"zero3-w4"_s << 0 << u"--stage 0"_s;
        QTest::newRow("stage 0 to stage 2") << u"stage0-fp16"_s << 2 << u"--stage 2"_s;
        QTest::newRow("universal to stage 3")
            << u"zero2-universal-w2/global_step5_universal"_s << 3 << u"--stage 3"_s;
        QTest::newRow("distributed to stage 1") << u"dcp:zero2-w2"_s << 1 << u"--stage 1"_s;
    }

    void stageAndFormAreChosen()
    {
        QFETCH(QString, sample);
        QFETCH(int, stage);
        QFETCH(QString, says);
        WindowFixture ui;
        QString path = samplePath(sample.toLatin1().constData());
        if (sample.startsWith(u"dcp:"_s)) {
            path = ui.folder(u"dcp"_s);
            QVERIFY(distribute(samplePath(sample.sliced(4).toLatin1().constData()), path));
        }
        QVERIFY(ui.open(path));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QVERIFY(dialog != nullptr);
        auto* form = dialog->findChild<QComboBox*>(u"reshardKind"_s);
        form->setCurrentIndex(form->findData(stage));
        QCOMPARE(dialog->findChild<QSpinBox*>(u"reshardRanks"_s)->isEnabled(), stage >= 0);
        QCOMPARE(dialog->findChild<QLineEdit*>(u"reshardSubGroup"_s)->isVisible(), stage == 3);
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QVERIFY(dialog->findChild<QLineEdit*>(u"reshardCommand"_s)->text().contains(says));
        dialog->startButton()->click();
        Job* job = ui.window().jobs().jobs().first();
        QTRY_VERIFY_WITH_TIMEOUT(!job->isActive(), 60'000);
        QVERIFY2(job->state() == JobState::Succeeded, describe(job->error()).c_str());
        ui.window().findChild<JobCard*>()->findChild<QPushButton*>(u"jobOpen"_s)->click();
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->complete);
        if (stage < 0)
            QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Universal);
        else
            QCOMPARE(ui.checkpoint()->zeroStage, stage);
    }

    void mapsShowWholeGroups()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QVERIFY(waitForPlan(dialog));
        const auto elementsOf = [&](const char* name) -> uint64_t {
            auto* map = dialog->findChild<LayoutMapView*>(QString::fromLatin1(name));
            const auto& source = map->canvas()->source();
            return source ? source->partition().payloadElements() : 0;
        };
        uint64_t elements = 0;
        const ParamGroup& group = ui.checkpoint()->groups.front();
        QVERIFY(group.units.size() > 1);
        for (const UnitId unit : group.units)
            elements += ui.checkpoint()->units[index(unit)].partition.payloadElements();
        QTRY_COMPARE(elementsOf("reshardMapBefore"), elements);
        QTRY_COMPARE(elementsOf("reshardMapAfter"), elements);
        // One sub-group per parameter, and still the whole group.
        dialog->findChild<QLineEdit*>(u"reshardSubGroup"_s)->setText(u"1"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().subGroups > 2);
        QCOMPARE(elementsOf("reshardMapAfter"), elements);
        QVERIFY(dialog->findChild<QLabel*>(u"reshardTitleAfter"_s)->text().contains(u"sub-groups"_s));
    }

    void saysWhyItCannotStart()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        dialog->form()->setTarget(samplePath("zero3-w4") + u"/inside"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && dialog->preview().problem->code == ErrorCode::Usage);
        QVERIFY(!dialog->startButton()->isEnabled());
        // Compared by target, not by name.
        QVERIFY(QFile::link(samplePath("zero3-w4"), ui.folder(u"link"_s)));
        dialog->form()->setTarget(ui.folder(u"link"_s) + u"/inside"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && dialog->preview().problem->code == ErrorCode::Usage);
        QFile file(ui.folder(u"file"_s));
        QVERIFY(file.open(QIODevice::WriteOnly));
        dialog->form()->setTarget(file.fileName() + u"/below"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && dialog->preview().problem->code == ErrorCode::Usage);
        dialog->form()->setTarget(ui.folder(u"taken"_s));
        QVERIFY(QDir().mkpath(ui.folder(u"taken/global_step5"_s)));
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && dialog->preview().problem->code == ErrorCode::TargetExists);
        dialog->form()->setTarget(ui.folder(u"free"_s));
        dialog->findChild<QLineEdit*>(u"reshardSubGroup"_s)->setText(u"a lot"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->startButton()->isEnabled());
        dialog->findChild<QLineEdit*>(u"reshardSubGroup"_s)->setText(u"1e9"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().plan->reshard->subGroupSize == uint64_t{1'000'000'000});
        QVERIFY(dialog->startButton()->isEnabled());
    }

    void refusesAnIncompleteCheckpoint()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        ReshardDialog* dialog = ui.window().showReshardDialog();
        if (dialog == nullptr)
            return; // no model to plan on: the action is off
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && dialog->preview().problem->code == ErrorCode::Refused);
        QVERIFY(!dialog->startButton()->isEnabled());
        QVERIFY(!QFileInfo::exists(ui.folder(u"broken-dp4"_s)));
        // Loading without a copy needs the same plan.
        QVERIFY(!dialog->findChild<QLineEdit*>(u"reshardLive"_s)->isVisibleTo(dialog));
    }

    void cancelReactsAtOnce()
    {
        WindowFixture ui;
        Job* job = makeEndlessJob();
        ui.window().jobs().add(job);
        auto* card = ui.window().findChild<JobCard*>();
        QVERIFY(card != nullptr);
        QTRY_COMPARE(job->progress().phase, std::string("waiting"));
        QVERIFY(ui.window().findChild<ElidedLabel*>(u"statusJobs"_s)->text().contains(u"1"_s));
        auto* cancel = card->findChild<QPushButton*>(u"jobCancel"_s);
        QTest::mouseClick(cancel, Qt::LeftButton);
        QVERIFY(!cancel->isEnabled());
        QTRY_VERIFY(job->state() == JobState::Cancelled);
        QVERIFY(job->logLines().filter(u"a line of log"_s).size() == 1);
        QVERIFY(card->findChild<QPlainTextEdit*>(u"jobLog"_s)->toPlainText().contains(u"a line of log"_s));
        QTest::mouseClick(card->findChild<QAbstractButton*>(u"jobDismiss"_s), Qt::LeftButton);
        QTRY_VERIFY(ui.window().findChild<JobCard*>() == nullptr);
    }

    void closingAsksWhileAJobRuns()
    {
        WindowFixture ui;
        ui.window().jobs().add(makeEndlessJob());
        QVERIFY(!ui.window().close());
        QTRY_VERIFY(ui.find<QMessageBox>("closeQuestion") != nullptr);
        QVERIFY(!ui.window().close());
        QCOMPARE(ui.window().findChildren<QMessageBox*>(u"closeQuestion"_s).size(), 1);
        auto* box = ui.find<QMessageBox>("closeQuestion");
        for (QAbstractButton* button : box->buttons())
            if (box->buttonRole(button) == QMessageBox::DestructiveRole)
                button->click();
        QTRY_VERIFY(!ui.window().isVisible());
        QCOMPARE(ui.window().jobs().activeCount(), 0);
    }
};

SHARDSCOPE_UI_TEST(TestReshard, WithDisplay)
#include "tst_reshard.moc"
