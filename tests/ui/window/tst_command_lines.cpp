// SPDX-License-Identifier: Apache-2.0
// Command lines that the window shows: the program itself takes them.
#include "tests/support/process.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/export_form.h"
#include "ui/pages/tensor_page.h"
#include "ui/session/plans/repair_preview.h"
#include "ui/session/shell_words.h"

#include <QAction>
#include <QClipboard>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeView>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// The window's program takes every verb.
test::ProcessResult runCommand(const QString& command)
{
    std::string words = command.toStdString();
    words.replace(0, std::string("shardscope").size(), '\'' + windowPath() + "' --headless");
    return test::runProcess({"/bin/sh", "-c", words});
}

QString exportCommandOf(WindowFixture& ui, const QString& target)
{
    ExportDialog* dialog = ui.window().showExportDialog();
    if (dialog == nullptr)
        return {};
    QSignalSpy shown(dialog, &ExportDialog::previewShown);
    dialog->form()->setTarget(target);
    const QString command
        = shown.wait(30'000) ? dialog->findChild<QLineEdit*>(u"exportCommand"_s)->text() : QString();
    dialog->reject();
    return command;
}

} // namespace

class TestCommandLines : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void sourcesAreNamedAsTheProgramTakesThem()
    {
        CheckPlace place{"/swap of/a run", {}};
        QCOMPARE(sourceWords(place).path, u"'/swap of/a run'"_s);
        QVERIFY(sourceWords(place).options.isEmpty());
        place.open.tag = "global_step5";
        place.open.roots = {"/node 1", "/node2"};
        QCOMPARE(
            sourceWords(place).options.join(u' '), u"--tag global_step5 --root '/node 1' --root /node2"_s);
        // The window opens the donor and adds the swap folder; the command line names the swap folder.
        place = {"/donor", {}};
        place.open.salvage = true;
        place.open.roots = {"/swap", "/node2"};
        QCOMPARE(sourceWords(place).path, u"/swap"_s);
        QCOMPARE(sourceWords(place).options.join(u' '), u"--donor /donor --root /node2"_s);
        Checkpoint lone; // a file of weights has no run folder and no tag
        const SourceWords words = sourceWords(lone, {"/models/a.safetensors", {}});
        QCOMPARE(words.path, u"/models/a.safetensors"_s);
        QVERIFY(words.options.isEmpty());
        Checkpoint tagged;
        tagged.runFolder = "/run";
        tagged.tag = "global_step5";
        tagged.latest = "global_step6";
        QCOMPARE(sourceWords(tagged, {"/run/global_step5", {}}).path, u"/run"_s);
        QCOMPARE(sourceWords(tagged, {"/run/global_step5", {}}).options.join(u' '), u"--tag global_step5"_s);
        tagged.latest = "global_step5";
        QVERIFY(sourceWords(tagged, {"/run", {}}).options.isEmpty());
    }

    /// The program may have been started with a path that only its own folder knows.
    void commandsNameWholePaths()
    {
        WindowFixture ui;
        copiedSample("zero2-w2", ui.folder(u"run"_s));
        QVERIFY(
            QFile::remove(ui.folder(u"run/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s)));
        const QString before = QDir::currentPath();
        QVERIFY(QDir::setCurrent(ui.folder({})));
        const bool isOpen = ui.open(u"run"_s);
        QVERIFY(QDir::setCurrent(before));
        QVERIFY(isOpen);
        ui.window().showPage(PageId::Findings);
        QVERIFY(ui.settle());
        auto* tree = ui.find<QTreeView>("findingTree");
        tree->setCurrentIndex(tree->model()->index(0, 0));
        const QString command = ui.find<QLineEdit>("findingCommand")->text();
        QVERIFY2(command.contains(u"repair "_s + ui.folder(u"run"_s) + u" DST"_s), qPrintable(command));
    }

    void aRepairNamesAllThatWasOpened()
    {
        CheckPlace place{"/run", {}};
        place.open.roots = {"/node2"};
        RepairOptions options;
        options.fixes = {"rank-missing"};
        QCOMPARE(repairCommand(place, options, u"/copy"_s),
            u"shardscope repair /run /copy --fix rank-missing --root /node2"_s);
        place.open.salvage = true; // the verb has no --donor
        QVERIFY(!repairCommand(place, options, {}).contains(u"--donor"_s));
    }

    void weightsInAFileAreExportedByTheCommand()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const QString first = exportCommandOf(ui, ui.folder(u"weights"_s));
        QVERIFY2(!first.isEmpty(), "no plan");
        const test::ProcessResult exported = runCommand(first);
        QVERIFY2(exported.exitCode == 0, (first.toStdString() + '\n' + exported.err).c_str());
        const QString file = ui.folder(u"weights/model.safetensors"_s);
        QVERIFY(QFile::exists(file));
        QVERIFY(ui.open(file));
        QVERIFY(ui.checkpoint()->tag.empty());
        const QString again = exportCommandOf(ui, ui.folder(u"again"_s));
        QVERIFY2(again.startsWith(u"shardscope export "_s % file), qPrintable(again));
        QVERIFY2(!again.contains(u"--tag"_s) && !again.contains(u"''"_s), qPrintable(again));
        const test::ProcessResult result = runCommand(again);
        QVERIFY2(result.exitCode == 0, (again.toStdString() + '\n' + result.err).c_str());
        // The check reads the file, not its folder.
        QVERIFY(ui.window().session().place().path == io::Path(file.toStdString()));
    }

    void anElementIsShownByTheCommand()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2/global_step3")));
        ui.window().selection().selectParam(ParamId{1});
        QVERIFY(ui.window().showPage(u"tensor"_s));
        QVERIFY(ui.settle());
        auto* grid = ui.find<QWidget>("tensorGrid");
        QVERIFY(grid != nullptr);
        for (QAction* action : grid->actions())
            if (action->text() == "Copy Command Line"_L1)
                action->trigger();
        const QString command = QApplication::clipboard()->text();
        QVERIFY2(command.contains(u"--tag global_step3"_s), qPrintable(command));
        const test::ProcessResult result = runCommand(command);
        QVERIFY2(result.exitCode == 0, (command.toStdString() + '\n' + result.err).c_str());
    }
};

SHARDSCOPE_UI_TEST(TestCommandLines, WithDisplay)
#include "tst_command_lines.moc"
