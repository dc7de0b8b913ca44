// SPDX-License-Identifier: Apache-2.0
// A checkpoint in several folders, and a swap folder without a checkpoint.
#include "core/base/finding_codes.h"
#include "tests/support/swapped_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/jobs_panel.h"
#include "ui/text/text.h"
#include "ui/widgets/link_button.h"

#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QMenu>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::ui;
using namespace Qt::StringLiterals;
namespace fs = std::filesystem;

namespace {

/// The dialog that Ctrl+Alt+O opens, answered with a folder.
void addFolder(WindowFixture& ui, const QString& folder)
{
    QApplication::setActiveWindow(&ui.window()); // no window manager does, when a dialog closes
    QTest::keyClick(&ui.window(), Qt::Key_O, Qt::ControlModifier | Qt::AltModifier);
    auto* dialog = ui.find<QFileDialog>("addFolderDialog");
    QVERIFY(dialog != nullptr);
    Q_EMIT dialog->fileSelected(folder);
    dialog->close();
    QVERIFY(ui.settle());
}

bool isMarked(const CheckpointPtr& checkpoint)
{
    return std::any_of(checkpoint->findings.begin(), checkpoint->findings.end(),
        [](const Finding& finding) { return finding.code == code::kMarked; });
}

} // namespace

class TestFurtherFolders : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void ranksOfTwoNodes()
    {
        WindowFixture ui;
        const fs::path first = copiedSample("zero3-w4", ui.folder(u"first"_s)).toStdString();
        const fs::path second = ui.folder(u"second"_s).toStdString();
        fs::create_directories(second / "global_step5");
        for (const int rank : {2, 3}) {
            for (const fs::path& file : {fs::path("global_step5")}) {
                for (const auto& entry : fs::directory_iterator(first / file)) {
                    const std::string name = entry.path().filename().string();
                    if (name.find("pp_rank_" + std::to_string(rank)) != std::string::npos)
                        fs::rename(entry.path(), second / file / name);
                }
            }
        }
        QVERIFY(!ui.window().actionSet()[ActionId::AddFolder]->isEnabled());
        QVERIFY(ui.open(QString::fromStdString(first.string())));
        QVERIFY(!ui.checkpoint()->complete);
        addFolder(ui, QString::fromStdString(second.string()));
        QVERIFY(ui.checkpoint()->complete);
        // It stays so when it is read again, and is gone with the next checkpoint.
        ui.window().actionSet()[ActionId::Reload]->trigger();
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->complete);
        QVERIFY(ui.open(QString::fromStdString(first.string())));
        QVERIFY(!ui.checkpoint()->complete);
    }

    /// Both in the menu and on the start page, which name their folders and kind.
    void recentOnesComeBackAsTheyWere()
    {
        WindowFixture ui;
        const fs::path first = copiedSample("zero3-w4", ui.folder(u"first"_s)).toStdString();
        const fs::path second = ui.folder(u"second"_s).toStdString();
        fs::create_directories(second / "global_step5");
        for (const auto& entry : fs::directory_iterator(first / "global_step5")) {
            const std::string name = entry.path().filename().string();
            if (name.find("pp_rank_3") != std::string::npos)
                fs::rename(entry.path(), second / "global_step5" / name);
        }
        const QString path = QString::fromStdString(first.string());
        QVERIFY(ui.open(path));
        addFolder(ui, QString::fromStdString(second.string()));
        QVERIFY(ui.checkpoint()->complete);
        const auto closeAll = [&] {
            while (ui.checkpoint()) {
                ui.window().actionSet()[ActionId::Close]->trigger();
                QVERIFY(ui.settle());
            }
        };
        closeAll();
        auto* menu = ui.find<QMenu>("recentMenu");
        Q_EMIT menu->aboutToShow();
        QCOMPARE(menu->actions().size(), 2); // with and without the folder
        QVERIFY2(menu->actions()[0]->text().contains(u"with folder second"_s),
            qPrintable(menu->actions()[0]->text()));
        menu->actions()[0]->trigger();
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->complete);
        QCOMPARE(ui.window().session().roots().size(), 1U);
        closeAll();
        Q_EMIT menu->aboutToShow();
        menu->actions()[1]->trigger();
        QVERIFY(ui.settle());
        QVERIFY(!ui.checkpoint()->complete);
        closeAll();
        // As another kind, in another process.
        ui.window().openPlace(
            {toPath(samplePath("zero2-universal-w2")), {}, {}, false, CheckpointKind::Universal});
        QVERIFY(ui.settle());
        closeAll();
        Settings stored(ui.settings().folder());
        MainWindow next(realFilesAndSkeletons(), ui.theme(), stored);
        next.show();
        auto* list = next.findChild<QListWidget*>(u"recentList"_s);
        QCOMPARE(list->count(), 3);
        QVERIFY2(list->item(0)->text().contains(u"as universal"_s), qPrintable(list->item(0)->text()));
        list->setCurrentRow(0);
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(next.session().checkpoint() && next.isSettled(), 30'000);
        QVERIFY(next.session().checkpoint()->kind == CheckpointKind::Universal);
    }

    void aProblemOpensTheCheckpointWithItsFolders()
    {
        WindowFixture ui;
        const fs::path first = copiedSample("zero3-w4", ui.folder(u"first"_s)).toStdString();
        const fs::path second = ui.folder(u"second"_s).toStdString();
        fs::create_directories(second / "global_step5");
        for (const auto& entry : fs::directory_iterator(first / "global_step5")) {
            const std::string name = entry.path().filename().string();
            if (name.find("pp_rank_3") != std::string::npos)
                fs::rename(entry.path(), second / "global_step5" / name);
        }
        QVERIFY(ui.open(QString::fromStdString(first.string())));
        addFolder(ui, QString::fromStdString(second.string()));
        QVERIFY(ui.checkpoint()->complete);
        const std::string param = ui.checkpoint()->params.front().name;
        ui.window().actionSet()[ActionId::Verify]->trigger();
        const Job* job = ui.window().jobs().jobs().last();
        QTRY_VERIFY_WITH_TIMEOUT(job->state() == JobState::Succeeded, 30'000);
        auto* panel = ui.window().findChild<JobsPanel*>();
        const auto isOfBothFolders
            = [&] { return ui.checkpoint()->complete && ui.window().session().roots().size() == 1; };
        // From another checkpoint, to a file and to a place that is no file.
        QVERIFY(ui.open(samplePath("zero2-w2")));
        Q_EMIT panel->placeRequested(job, Place("latest"));
        QVERIFY(ui.settle());
        QVERIFY(isOfBothFolders());
        QVERIFY(ui.open(samplePath("zero2-w2")));
        Q_EMIT panel->placeRequested(job, ParamAddress{param, {}});
        QVERIFY(ui.settle());
        QVERIFY(isOfBothFolders());
        QTRY_VERIFY(ui.window().selection().current().param != kNoParam);
        QCOMPARE(ui.checkpoint()->params[index(ui.window().selection().current().param)].name, param);
        // From the same tag without the other folder.
        QVERIFY(ui.open(QString::fromStdString(first.string())));
        QVERIFY(!ui.checkpoint()->complete);
        Q_EMIT panel->placeRequested(job, ParamAddress{param, {}});
        QVERIFY(ui.settle());
        QVERIFY(isOfBothFolders());
    }

    void swapFolderWithTheCheckpointOfItsRun()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero3-w4", ui.folder(u"run"_s));
        const fs::path tag = fs::path(run.toStdString()) / "global_step5";
        test::swapOut(tag, {.subgroups = {0, 1}});
        test::makeLive(tag, ui.folder(u"nvme"_s).toStdString());
        QVERIFY(ui.open(ui.folder(u"nvme"_s)));
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Swap);
        QVERIFY(!ui.checkpoint()->supported);
        // Jobs that would fail at once are not offered.
        const QAction* verify = ui.window().actionSet()[ActionId::Verify];
        QVERIFY(!verify->isEnabled());
        QVERIFY2(verify->toolTip().contains(u"swap folder"_s) && !verify->toolTip().contains(u"--"_s),
            qPrintable(verify->toolTip()));
        QVERIFY(!ui.window().actionSet()[ActionId::SaveSkeleton]->isEnabled());
        for (const LinkButton* step : ui.find<QWidget>("nextSteps")->findChildren<LinkButton*>())
            QVERIFY2(!step->text().startsWith(u"Verify"_s), qPrintable(step->text()));
        const QAction* action = ui.window().actionSet()[ActionId::AddFolder];
        QVERIFY(action->text().contains(u"Checkpoint"_s));
        // A folder without a checkpoint is reported and dropped.
        QVERIFY(QDir().mkpath(ui.folder(u"empty"_s)));
        addFolder(ui, ui.folder(u"empty"_s));
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Swap);
        QVERIFY(ui.window().session().roots().empty());
        addFolder(ui, run);
        QCOMPARE(ui.window().session().roots().size(), 1U);
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Zero3);
        QVERIFY(ui.checkpoint()->complete);
        QVERIFY(isMarked(ui.checkpoint()));
        QVERIFY(ui.window().actionSet()[ActionId::Reshard]->isEnabled());
        QVERIFY(verify->isEnabled() && !verify->toolTip().contains(u'<'));
        QVERIFY(!action->text().contains(u"Checkpoint"_s));
        ui.window().actionSet()[ActionId::Close]->trigger();
        while (ui.checkpoint()) {
            ui.window().actionSet()[ActionId::Close]->trigger();
            QVERIFY(ui.settle());
        }
        auto* menu = ui.find<QMenu>("recentMenu");
        Q_EMIT menu->aboutToShow();
        QVERIFY2(menu->actions()[0]->text().contains(u"with swap folder nvme"_s),
            qPrintable(menu->actions()[0]->text()));
        menu->actions()[0]->trigger();
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->kind == CheckpointKind::Zero3);
        QVERIFY(isMarked(ui.checkpoint()));
    }
};

SHARDSCOPE_UI_TEST(TestFurtherFolders, WithDisplay)
#include "tst_further_folders.moc"
