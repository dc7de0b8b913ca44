// SPDX-License-Identifier: Apache-2.0
// The export dialog, from its fields to the written files.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/job_card.h"
#include "ui/controls/planned_files.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/export_form.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Waits for the plan of the form's current choices.
bool waitForPlan(ExportDialog* dialog)
{
    QSignalSpy shown(dialog, &ExportDialog::previewShown);
    return shown.wait(30'000);
}

/// Renames that make a sample's parameters those of a PeftModel with one LoRA.
QString adapterNames()
{
    return u"layers.0.attention.wq.weight=base_model.model.q_proj.lora_A.default.weight "
           "layers.0.attention.wk.weight=base_model.model.q_proj.lora_B.default.weight"_s;
}

void writeText(const QString& path, const QByteArray& text)
{
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
}

void chooseFormat(const ExportDialog* dialog, ExportFormat format)
{
    auto* formats = dialog->findChild<QComboBox*>(u"exportFormat"_s);
    formats->setCurrentIndex(formats->findData(static_cast<int>(format)));
}

QString commandOf(const ExportDialog* dialog)
{
    return dialog->findChild<QLineEdit*>(u"exportCommand"_s)->text();
}

} // namespace

class TestExport : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void fromButtonToFiles_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<int>("format");
        QTest::addColumn<QString>("file");
        QTest::newRow("safetensors") << u"zero3-w4"_s << 0 << u"model.safetensors"_s;
        QTest::newRow("torch") << u"zero2-w2"_s << 1 << u"pytorch_model.bin"_s;
        QTest::newRow("slices, merged") << u"slices-w4"_s << 0 << u"model.safetensors"_s;
    }

    void fromButtonToFiles()
    {
        QFETCH(QString, sample);
        QFETCH(int, format);
        QFETCH(QString, file);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        ExportDialog* dialog = ui.window().showExportDialog();
        QVERIFY(dialog != nullptr);
        dialog->findChild<QComboBox*>(u"exportFormat"_s)->setCurrentIndex(format);
        dialog->form()->setTarget(ui.folder(u"out"_s));
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        auto* files = dialog->findChild<PlannedFiles*>(u"exportFiles"_s);
        const QAbstractItemModel* listed = files->model();
        QCOMPARE(listed->rowCount(), static_cast<int>(dialog->preview().plan->files.size()));
        QVERIFY(!listed->match(listed->index(0, 0), Qt::DisplayRole, file, 1, Qt::MatchExactly).isEmpty());
        QVERIFY(dialog->findChild<QLabel*>(u"exportSummary"_s)->text().contains(u"free"_s));
        dialog->startButton()->click();
        QCOMPARE(ui.window().jobs().jobs().size(), 1);
        Job* job = ui.window().jobs().jobs().first();
        QTRY_VERIFY_WITH_TIMEOUT(!job->isActive(), 60'000);
        QVERIFY2(job->state() == JobState::Succeeded, describe(job->error()).c_str());
        QVERIFY(job->outcome().summary.contains(u"verified"_s));
        QVERIFY(QFile::exists(ui.folder(u"out/"_s % file)));
        auto* open = ui.window().findChild<JobCard*>()->findChild<QPushButton*>(u"jobOpen"_s);
        QVERIFY(open->isVisible());
        open->click();
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->kind, CheckpointKind::Weights);
    }

    void everyFieldIsInTheCommand()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ExportDialog* dialog = ui.window().showExportDialog();
        dialog->form()->setTarget(ui.folder(u"out"_s));
        auto* dtype = dialog->findChild<QComboBox*>(u"exportDtype"_s);
        dtype->setCurrentIndex(dtype->findText(u"fp16"_s));
        dialog->findChild<QLineEdit*>(u"exportShardSize"_s)->setText(u"1K"_s);
        dialog->findChild<QLineEdit*>(u"exportOnly"_s)->setText(u"layers.*  norm*"_s);
        dialog->findChild<QLineEdit*>(u"exportStrip"_s)->setText(u"layers."_s);
        dialog->findChild<QLineEdit*>(u"exportRename"_s)->setText(u"0.mlp=mlp"_s);
        for (QAction* state : dialog->findChild<QToolButton*>(u"exportStates"_s)->menu()->actions())
            state->setChecked(state->text() == "exp_avg"_L1);
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        const ExportOptions& options = dialog->preview().plan->exported->options;
        QCOMPARE(options.dtype, std::optional(DType::Float16));
        QCOMPARE(options.shardBytes, uint64_t{1024});
        QCOMPARE(options.only.size(), size_t{2});
        QCOMPARE(options.states, std::vector<std::string>{"exp_avg"});
        QVERIFY(dialog->preview().plan->files.size() > 2);
        const QString command = commandOf(dialog);
        for (const QString& part : {u"--format safetensors"_s, u"--dtype fp16"_s, u"--shard-size 1024"_s,
                 u"--only 'layers.*' --only 'norm*'"_s, u"--strip-prefix layers."_s, u"--rename 0.mlp=mlp"_s,
                 u"--states exp_avg"_s})
            QVERIFY2(command.contains(part), qPrintable(command));
    }

    void offersEveryFormatOfTheCore()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ExportDialog* dialog = ui.window().showExportDialog();
        const auto* formats = dialog->findChild<QComboBox*>(u"exportFormat"_s);
        QCOMPARE(static_cast<size_t>(formats->count()), kExportFormats.size());
        QVERIFY(waitForPlan(dialog));
    }

    void refusesWithTheReason()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ExportDialog* dialog = ui.window().showExportDialog();
        auto* messages = dialog->findChild<MessageBar*>();
        dialog->form()->setTarget(u"relative"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().plan && !dialog->startButton()->isEnabled());
        QVERIFY(messages->text().contains(u"absolute"_s));
        const QString taken = ui.folder(u"taken"_s);
        QVERIFY(QDir().mkpath(taken % u"/inside"_s));
        dialog->form()->setTarget(taken);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->startButton()->isEnabled()); // other files in the folder stay as they are
        QFile weights(taken % u"/model.safetensors"_s);
        QVERIFY(weights.open(QIODevice::WriteOnly));
        weights.close();
        dialog->form()->setTarget(u"relative"_s);
        QVERIFY(waitForPlan(dialog));
        dialog->form()->setTarget(taken);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->startButton()->isEnabled());
        QVERIFY(messages->text().contains(u"exists"_s));
        QVERIFY(messages->text().contains(u"model.safetensors"_s));
        dialog->findChild<QCheckBox*>(u"exportForce"_s)->setChecked(true);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->startButton()->isEnabled());
        QVERIFY(messages->text().contains(u"replaces files"_s));
        QVERIFY(messages->text().contains(u"model.safetensors"_s));
        dialog->findChild<QLineEdit*>(u"exportOnly"_s)->setText(u"nothing.like.this"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->preview().plan && dialog->preview().problem);
        dialog->findChild<QLineEdit*>(u"exportOnly"_s)->clear();
        dialog->findChild<QLineEdit*>(u"exportRename"_s)->setText(u"half"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(messages->text().contains(u"OLD=NEW"_s));
        dialog->findChild<QLineEdit*>(u"exportRename"_s)->clear();
        dialog->form()->setTarget(QString::fromStdString(ui.checkpoint()->tagFolder.native()) % u"/x"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->startButton()->isEnabled()); // inside what it reads
    }

    void anAdapterAsksForWhatNoFileRecords()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ExportDialog* dialog = ui.window().showExportDialog();
        auto* entries = dialog->findChild<QLineEdit*>(u"exportAdapterOptions"_s);
        QVERIFY(entries != nullptr);
        QVERIFY(!entries->isVisible()); // of no use to safetensors
        auto* messages = dialog->findChild<MessageBar*>();
        dialog->form()->setTarget(ui.folder(u"out"_s));
        dialog->findChild<QLineEdit*>(u"exportRename"_s)->setText(adapterNames());
        chooseFormat(dialog, ExportFormat::Adapter);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(entries->isVisible() && entries->isEnabled());
        QVERIFY(messages->text().contains(u"lora_alpha"_s));
        entries->setText(u"16"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(messages->text().contains(u"KEY=VALUE"_s));
        entries->setText(u"lora_alpha=16 exclude_modules=[\"a\", \"b c=d\"]  task_type=CAUSAL_LM"_s);
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QCOMPARE(dialog->preview().plan->exported->options.adapterOptions,
            (std::vector<std::string>{
                "lora_alpha=16", "exclude_modules=[\"a\", \"b c=d\"]", "task_type=CAUSAL_LM"}));
        QVERIFY2(
            commandOf(dialog).contains(
                u"--adapter-option lora_alpha=16 --adapter-option 'exclude_modules=[\"a\", \"b c=d\"]'"_s),
            qPrintable(commandOf(dialog)));
        chooseFormat(dialog, ExportFormat::Safetensors); // which takes none
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!entries->isVisible() && !dialog->preview().problem);
        QVERIFY(!commandOf(dialog).contains(u"--adapter-option"_s));
    }

    void anAdaptersOwnConfigurationGoesAlong()
    {
        WindowFixture ui;
        const QString path = copiedSample("zero2-w2", ui.folder(u"run"_s));
        writeText(path % u"/adapter_config.json"_s,
            R"({"peft_type": "LORA", "r": 16, "lora_alpha": 4, "target_modules": ["q_proj"]})");
        QVERIFY(ui.open(path));
        ExportDialog* dialog = ui.window().showExportDialog();
        auto* entries = dialog->findChild<QLineEdit*>(u"exportAdapterOptions"_s);
        QVERIFY(entries != nullptr);
        dialog->form()->setTarget(ui.folder(u"out"_s));
        dialog->findChild<QLineEdit*>(u"exportRename"_s)->setText(adapterNames());
        chooseFormat(dialog, ExportFormat::Adapter);
        QVERIFY(waitForPlan(dialog));
        QVERIFY2(!dialog->preview().problem,
            dialog->preview().problem ? dialog->preview().problem->message.c_str() : "");
        QVERIFY(entries->isVisible() && !entries->isEnabled());
        for (const QString& reason :
            {entries->placeholderText(), entries->toolTip(), entries->accessibleDescription()})
            QVERIFY2(reason.contains(u"adapter_config.json"_s), qPrintable(reason));
        dialog->findChild<QLineEdit*>(u"exportRename"_s)->clear(); // no adapter's names: who knows now
        QVERIFY(waitForPlan(dialog));
        QVERIFY(dialog->preview().problem && entries->isEnabled());
    }

    void patternsAreAskedIfSlicesAreMerged_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<bool>("asked");
        QTest::newRow("one slice") << u"zero2-w2"_s << false;
        QTest::newRow("slices") << u"slices-w4"_s << true;
        QTest::newRow("stages") << u"pipeline-w4"_s << true;
    }

    void patternsAreAskedIfSlicesAreMerged()
    {
        QFETCH(QString, sample);
        QFETCH(bool, asked);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        ExportDialog* dialog = ui.window().showExportDialog();
        dialog->form()->setTarget(ui.folder(u"out"_s));
        auto* patterns = dialog->findChild<QLineEdit*>(u"exportPatterns"_s);
        QCOMPARE(patterns->isVisible(), asked);
        patterns->setText(ui.folder(u"none.json"_s));
        QVERIFY(waitForPlan(dialog));
        QCOMPARE(commandOf(dialog).contains(u"--patterns"_s), asked);
        QCOMPARE(dialog->preview().problem.has_value(), asked); // there is no such file
    }

    void aTornCheckpointIsRefused()
    {
        WindowFixture ui;
        const QString path = copiedSample("zero2-w2", ui.folder(u"torn"_s));
        const QStringList shards
            = QDir(path % u"/global_step6"_s).entryList({u"*zero_pp_rank_1*optim_states.pt"_s});
        QVERIFY(!shards.isEmpty() && QFile::remove(path % u"/global_step6/"_s % shards.first()));
        QVERIFY(ui.open(path));
        ExportDialog* dialog = ui.window().showExportDialog();
        QVERIFY(dialog != nullptr);
        QVERIFY(waitForPlan(dialog));
        QVERIFY(!dialog->preview().plan);
        QVERIFY(dialog->preview().problem && !dialog->startButton()->isEnabled());
    }
};

SHARDSCOPE_UI_TEST(TestExport, WithDisplay)
#include "tst_export_dialog.moc"
