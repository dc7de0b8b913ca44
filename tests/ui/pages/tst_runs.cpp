// SPDX-License-Identifier: Apache-2.0
// The page Runs: a folder of runs as a table, and the tags of a run over time, by mouse and keyboard.
#include "tests/support/faulting_file_system.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/timeline.h"

#include <QAccessible>
#include <QAction>
#include <QFileDialog>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include <semaphore>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;
namespace fs = std::filesystem;

namespace {

fs::path pathOf(const QString& text)
{
    return text.toStdString();
}

/// A folder of three runs; run-b has lost the files of a rank, and a link leads out of the folder.
QString folderOfRuns(const WindowFixture& ui)
{
    const QString folder = ui.folder(u"experiments"_s);
    fs::create_directories(pathOf(folder + u"/sweep"_s));
    copiedSample("zero2-w2", folder + u"/run-a"_s);
    copiedSample("zero3-w4", folder + u"/run-b"_s);
    copiedSample("zero1-w2", folder + u"/sweep/run-c"_s);
    const fs::path tag = pathOf(folder + u"/run-b/global_step5"_s);
    for (const fs::directory_entry& entry : fs::directory_iterator(tag))
        if (entry.path().filename().string().starts_with("zero_pp_rank_1"))
            fs::remove(entry.path());
    fs::create_directory_symlink(ui.folder({}).toStdString(), pathOf(folder + u"/away"_s));
    return folder;
}

/// Two numbered checkpoints of Trainer.
QString outputOfTrainer(const WindowFixture& ui)
{
    const QString folder = ui.folder(u"output"_s);
    fs::create_directories(folder.toStdString());
    for (const QString& name : {u"/checkpoint-100"_s, u"/checkpoint-200"_s}) {
        copiedSample("zero2-w2", folder + name);
        QFile state(folder + name + u"/trainer_state.json"_s);
        if (state.open(QFile::WriteOnly))
            state.write("{}");
    }
    return folder;
}

/// Folders that hold `part` in their path fail, or wait until they are released.
class OddFolders : public io::FaultingFileSystem
{
public:
    OddFolders(std::string part, bool waits)
        : io::FaultingFileSystem(io::realFileSystem())
        , m_part(std::move(part))
        , m_waits(waits)
    {
    }
    ~OddFolders() override { release(); }
    void release() { m_released.release(100'000); }

    Result<std::vector<io::DirectoryEntry>> list(const io::Path& path) override
    {
        const bool isOdd = isActive && path.native().find(m_part) != std::string::npos;
        if (isOdd && !m_waits)
            return fail(ErrorCode::Unreadable, "cannot list the folder: Input/output error", path.native());
        if (isOdd)
            m_released.acquire();
        return io::FaultingFileSystem::list(path);
    }
    std::atomic<bool> isActive{true};

private:
    std::string m_part;
    bool m_waits;
    std::counting_semaphore<> m_released{0};
};

QString cell(const QTableView* table, int row, int column)
{
    return table->model()->index(row, column).data().toString();
}

/// The row whose first column begins with this; -1.
int rowOf(const QTableView* table, const QString& name)
{
    for (int row = 0; row < table->model()->rowCount(); ++row)
        if (cell(table, row, 0).startsWith(name))
            return row;
    return -1;
}

QString pageOf(WindowFixture& ui)
{
    return ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName();
}

} // namespace

class TestRuns : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void aFolderOfRunsIsATable()
    {
        WindowFixture ui;
        QVERIFY(ui.open(folderOfRuns(ui)));
        QCOMPARE(ui.checkpoint(), nullptr);
        QCOMPARE(pageOf(ui), u"runsPage"_s);
        auto* table = ui.find<QTableView>("runTable");
        QVERIFY(table->isVisible());
        QCOMPARE(table->model()->rowCount(), 3);
        QCOMPARE(cell(table, 0, 0), u"run-a"_s);
        QVERIFY(cell(table, 0, 1).startsWith(u"global_step6"_s));
        QCOMPARE(cell(table, 0, 2), u"6"_s);
        QCOMPARE(cell(table, 0, 3), u"ZeRO-2"_s);
        QCOMPARE(cell(table, 0, 4), u"2"_s);
        QCOMPARE(cell(table, 0, 7), u"2"_s);
        QCOMPARE(cell(table, 1, 1), u"none"_s);
        QVERIFY2(cell(table, 1, 8).contains(u"rank 1"_s), qPrintable(cell(table, 1, 8)));
        QCOMPARE(cell(table, 2, 0), u"sweep/run-c"_s);
        const QString note = ui.find<QLabel>("runsNote")->text();
        QVERIFY2(note.contains(u"1 link was not followed"_s) && note.contains(u"Values"_s), qPrintable(note));
        for (int tab = 0; tab < ui.find<QTabWidget>("pageTabs")->count(); ++tab)
            QCOMPARE(ui.find<QTabWidget>("pageTabs")->isTabEnabled(tab), tab == int(PageId::Runs));
        QVERIFY(ui.window().windowTitle().startsWith(u"experiments"_s));
        QCOMPARE(ui.settings().recent().first().title, u"Folder with 3 runs"_s);
    }

    void enterOpensTheNewestCompleteTagAndTheListStays()
    {
        WindowFixture ui;
        QVERIFY(ui.open(folderOfRuns(ui)));
        auto* table = ui.find<QTableView>("runTable");
        QVERIFY(table->hasFocus());
        QTest::keyClick(table, Qt::Key_Down);
        QTest::keyClick(table, Qt::Key_Up);
        QTest::keyClick(table, Qt::Key_Return);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step6"));
        QCOMPARE(pageOf(ui), u"overviewPage"_s);
        // Back to the list, to another run.
        QVERIFY(ui.window().showPage(u"runs"_s));
        QVERIFY(ui.settle());
        QVERIFY(ui.find<Timeline>("tagTimeline")->isVisible());
        QTest::mouseClick(ui.find<QToolButton>("runsOther"), Qt::LeftButton);
        QVERIFY(table->isVisible());
        table->setFocus();
        table->setCurrentIndex(table->model()->index(rowOf(table, u"sweep"_s), 0));
        QTest::keyClick(table, Qt::Key_Return);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step7"));
        // Closing leads to the list, and then to the start page.
        for (int open = 0; open < 2; ++open)
            QTest::keyClick(&ui.window(), Qt::Key_W, Qt::ControlModifier);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint(), nullptr);
        QVERIFY(table->isVisible());
        QTest::keyClick(&ui.window(), Qt::Key_W, Qt::ControlModifier);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QWidget>("startPage")->isVisible());
    }

    void aDoubleClickOpensARunWithoutACompleteTag()
    {
        WindowFixture ui;
        QVERIFY(ui.open(folderOfRuns(ui)));
        auto* table = ui.find<QTableView>("runTable");
        const QPoint at = table->visualRect(table->model()->index(1, 0)).center();
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, at);
        QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, at);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step5"));
    }

    void theTableIsSortedAndFiltered()
    {
        WindowFixture ui;
        QVERIFY(ui.open(folderOfRuns(ui)));
        auto* table = ui.find<QTableView>("runTable");
        QHeaderView* header = table->horizontalHeader();
        const QPoint step(header->sectionViewportPosition(2) + 10, header->height() / 2);
        QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, step);
        QCOMPARE(cell(table, 0, 2), u"5"_s);
        QCOMPARE(cell(table, 2, 2), u"7"_s);
        QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, step);
        QCOMPARE(cell(table, 0, 2), u"7"_s);
        QTest::keyClick(&ui.window(), Qt::Key_F, Qt::ControlModifier);
        auto* field = ui.find<FilterField>("filterField");
        QVERIFY(field->hasFocus());
        QTest::keyClicks(field, u"zero-2"_s);
        QCOMPARE(table->model()->rowCount(), 1);
        QCOMPARE(cell(table, 0, 0), u"run-a"_s);
        QVERIFY(ui.find<QLabel>("runsNote")->text().startsWith(u"The filter shows 1 of 3 runs"_s));
        field->clear();
        QCOMPARE(table->model()->rowCount(), 3);
    }

    /// The rows that are shown, with what makes them again.
    void theTablesAreSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(folderOfRuns(ui)));
        const auto save = [&](const char* action, const QString& name) {
            ui.find<QAction>(action)->trigger();
            auto* dialog = ui.find<QFileDialog>("saveRunsDialog");
            if (dialog == nullptr)
                return QByteArray();
            Q_EMIT dialog->fileSelected(ui.folder(name));
            dialog->close();
            QFile file(ui.folder(name));
            return ui.settle() && file.open(QFile::ReadOnly) ? file.readAll() : QByteArray();
        };
        QVERIFY(ui.find<QAction>("runsSave") != nullptr);
        const QByteArray runs = save("runsSave", u"runs.csv"_s);
        QVERIFY2(runs.startsWith("# Written by: Shardscope "), runs.constData());
        QVERIFY2(runs.contains("# Command: shardscope-gui --page runs "), runs.constData());
        QVERIFY2(runs.contains("\nrun-a,global_step6,6,"), runs.constData());
        QVERIFY2(runs.contains("\nrun-b,,5,"), runs.constData());
        QCOMPARE(runs.mid(runs.indexOf("\nrun,newest_complete,") + 1).count('\n'), 4);
        ui.find<FilterField>("filterField")->setText(u"run-a"_s);
        QVERIFY(ui.settle());
        const QJsonObject filtered = QJsonDocument::fromJson(save("runsSave", u"runs.json"_s)).object();
        QCOMPARE(filtered[u"runs"_s].toArray().size(), 1);
        QCOMPARE(filtered[u"report"_s][u"filter"_s].toString(), u"run-a"_s);

        QVERIFY(ui.open(ui.folder(u"experiments/run-a"_s)));
        QTest::keyClick(&ui.window(), Qt::Key_8, Qt::ControlModifier);
        QVERIFY(ui.settle());
        const QByteArray tags = save("tagsSave", u"tags.csv"_s);
        QVERIFY2(tags.contains("\ntag,step,modified,bytes,kind,ranks,latest,complete,warnings,why\n"),
            tags.constData());
        QVERIFY2(
            tags.contains("\nglobal_step6,6,") && tags.contains(",zero2,2,true,true,"), tags.constData());
        QVERIFY2(tags.indexOf("\nglobal_step6,") < tags.indexOf("\nglobal_step3,"),
            tags.constData()); // as it is shown
        const QJsonObject answer = QJsonDocument::fromJson(save("tagsSave", u"tags.json"_s)).object();
        QCOMPARE(answer[u"tags"_s].toArray().size(), 2);
        QVERIFY(answer[u"newest_complete"_s].toString().endsWith(u"global_step6"_s));
    }

    void aFolderThatCannotBeListedIsNamed()
    {
        OddFolders files("sweep", false);
        WindowFixture ui(ThemeMode::Light, files);
        QVERIFY(ui.open(folderOfRuns(ui)));
        QCOMPARE(ui.find<QTableView>("runTable")->model()->rowCount(), 2);
        auto* bar = ui.find<QWidget>("runsMessages");
        QVERIFY(bar->isVisible());
        QString text;
        for (const QLabel* label : bar->findChildren<QLabel*>())
            text += label->text();
        QVERIFY2(text.contains(u"sweep"_s) && text.contains(u"Input/output error"_s), qPrintable(text));
        QVERIFY(ui.find<QLabel>("runsNote")->text().contains(u"there may be more runs"_s));
    }

    void aRunThatCannotBeReadIsNamed()
    {
        OddFolders files("run-b/global_step5", false);
        WindowFixture ui(ThemeMode::Light, files);
        QVERIFY(ui.open(folderOfRuns(ui)));
        auto* table = ui.find<QTableView>("runTable");
        QCOMPARE(table->model()->rowCount(), 3);
        QVERIFY2(cell(table, 1, 8).contains(u"cannot be read"_s), qPrintable(cell(table, 1, 8)));
        QVERIFY(cell(table, 0, 1).startsWith(u"global_step6"_s));
    }

    /// A folder on a disk that does not answer holds up nothing but its own row.
    void aSlowRunDoesNotBlockTheWindow()
    {
        OddFolders files("run-b/global_step5", true);
        files.isActive = false;
        WindowFixture ui(ThemeMode::Light, files);
        QVERIFY(ui.open(folderOfRuns(ui)));
        auto* table = ui.find<QTableView>("runTable");
        files.isActive = true;
        QTest::mouseClick(ui.find<QToolButton>("runsAgain"), Qt::LeftButton);
        // Finding the runs waits, and the former table is still there and can be used.
        QTest::qWait(50);
        QVERIFY(table->isVisible());
        QTest::keyClick(table, Qt::Key_Down);
        QCOMPARE(table->currentIndex().row(), 1);
        files.isActive = false;
        files.release();
        QVERIFY(ui.settle());
        QCOMPARE(table->model()->rowCount(), 3);
    }

    void tagsAreATimelineAndATable()
    {
        WindowFixture ui;
        QVERIFY(ui.open(copiedSample("zero2-w2", ui.folder(u"run"_s))));
        QTest::keyClick(&ui.window(), Qt::Key_8, Qt::ControlModifier);
        QVERIFY(ui.settle());
        QCOMPARE(pageOf(ui), u"runsPage"_s);
        auto* timeline = ui.find<Timeline>("tagTimeline");
        auto* table = ui.find<QTableView>("tagTable");
        QCOMPARE(timeline->points().size(), 2);
        const QString height = timeline->heightText();
        QVERIFY2(height.startsWith(u"Size, up to "_s) && height.endsWith(u"iB"_s), qPrintable(height));
        QCOMPARE(timeline->current(), 1); // what is open
        QVERIFY(timeline->points()[1].isOpen);
        QCOMPARE(timeline->points()[0].state, TimelinePoint::Whole);
        QCOMPARE(cell(table, 0, 0), u"global_step6  · latest  · open"_s); // newest first
        QCOMPARE(cell(table, 0, 2), u"3"_s);
        QVERIFY(!ui.find<QToolButton>("tagOpenButton")->isEnabled());

        timeline->setFocus();
        QTest::keyClick(timeline, Qt::Key_Left);
        QCOMPARE(table->currentIndex().row(), 1);
        QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(timeline);
        QCOMPARE(spoken->text(QAccessible::Name), u"Tags over time"_s);
        const QString text = spoken->text(QAccessible::Description);
        QVERIFY2(text.startsWith(u"1 of 2: global_step3 · step 3"_s), qPrintable(text));
        QTest::keyClick(timeline, Qt::Key_End);
        QTest::keyClick(timeline, Qt::Key_Home);
        QTest::keyClick(timeline, Qt::Key_Return);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step3"));
        QCOMPARE(pageOf(ui), u"runsPage"_s);
        QCOMPARE(timeline->current(), 0);
        QVERIFY(timeline->points()[0].isOpen);
        QVERIFY(timeline->points()[1].state == TimelinePoint::Whole); // nothing was forgotten

        QTest::mouseClick(timeline, Qt::LeftButton, {}, timeline->column(1).center());
        QCOMPARE(table->currentIndex().row(), 0);
        QTest::mouseDClick(timeline, Qt::LeftButton, {}, timeline->column(1).center());
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step6"));
    }

    void anIncompleteTagAndAChangeAreSeen()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero2-w2", ui.folder(u"run"_s));
        fs::copy(pathOf(samplePath("zero3-w4") + u"/global_step5"_s), pathOf(run + u"/global_step5"_s),
            fs::copy_options::recursive);
        QVERIFY(QFile::remove(run + u"/global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(run));
        QVERIFY(ui.window().showPage(u"runs"_s));
        QVERIFY(ui.settle());
        const QList<TimelinePoint> points = ui.find<Timeline>("tagTimeline")->points();
        QCOMPARE(points.size(), 3);
        QCOMPARE(points[0].state, TimelinePoint::Broken);
        QVERIFY2(points[0].description.contains(u"rank 1"_s), qPrintable(points[0].description));
        QCOMPARE(points[1].change, u"ZeRO-2 → ZeRO-3 · 2 → 4 ranks"_s);
        QCOMPARE(points[2].change, u"ZeRO-3 → ZeRO-2 · 4 → 2 ranks"_s);
        auto* table = ui.find<QTableView>("tagTable");
        QCOMPARE(cell(table, 2, 7), u"1 error"_s);
        QCOMPARE(cell(table, 1, 8), points[1].change);
        const QString summary = ui.find<QLabel>("tagSummary")->text();
        QVERIFY2(summary.contains(u"1 is not complete"_s), qPrintable(summary));
    }

    void aTagIsComparedAndResharded()
    {
        WindowFixture ui;
        QVERIFY(ui.open(copiedSample("zero2-w2", ui.folder(u"run"_s))));
        QVERIFY(ui.window().showPage(u"runs"_s));
        QVERIFY(ui.settle());
        auto* timeline = ui.find<Timeline>("tagTimeline");
        timeline->setFocus();
        QTest::keyClick(timeline, Qt::Key_Home);
        QTest::mouseClick(ui.find<QToolButton>("tagCompareButton"), Qt::LeftButton);
        QVERIFY(ui.settle());
        QCOMPARE(pageOf(ui), u"comparePage"_s);
        QVERIFY(ui.find<QLineEdit>("compareOther")->text().endsWith(u"run/global_step3"_s));

        QVERIFY(ui.window().showPage(u"runs"_s));
        QCOMPARE(timeline->current(), 0);
        auto* reshard = ui.find<QToolButton>("tagReshardButton");
        reshard->setFocus();
        QTest::keyClick(reshard, Qt::Key_Space);
        QVERIFY(ui.settle());
        QTRY_VERIFY(ui.window().findChild<ReshardDialog*>());
        QCOMPARE(ui.checkpoint()->tag, std::string("global_step3"));
        ui.window().findChild<ReshardDialog*>()->close();
    }

    void theTagMenuSaysWhatEachHolds()
    {
        WindowFixture ui;
        QVERIFY(ui.open(copiedSample("zero2-w2", ui.folder(u"run"_s))));
        QMenu* menu = ui.find<QToolButton>("breadcrumbTag")->menu();
        QCOMPARE(menu->actions().size(), 2);
        QVERIFY(!menu->actions().first()->text().contains(u"step 6"_s)); // nothing is read before it opens
        menu->popup(ui.window().mapToGlobal(QPoint(200, 60)));
        QVERIFY(ui.settle());
        const QString text = menu->actions().first()->text();
        for (const QString& part :
            {u"global_step6 (latest)"_s, u"step 6"_s, u"KiB"_s, QString::number(QDate::currentDate().year())})
            QVERIFY2(text.contains(part), qPrintable(text));
        menu->close();
    }

    void numberedCheckpointsAreOneRun()
    {
        WindowFixture ui;
        QVERIFY(ui.open(outputOfTrainer(ui)));
        QVERIFY(ui.window().showPage(u"runs"_s));
        QVERIFY(ui.settle());
        auto* timeline = ui.find<Timeline>("tagTimeline");
        QCOMPARE(timeline->points().size(), 2);
        QCOMPARE(timeline->points()[0].name, u"checkpoint-100"_s);
        QVERIFY(timeline->column(1).x() - timeline->column(0).x() > 4); // both are of step 6
        QCOMPARE(timeline->current(), 1);
        timeline->setFocus();
        QTest::keyClick(timeline, Qt::Key_Home);
        QTest::keyClick(timeline, Qt::Key_Return);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->runFolder.filename().string(), std::string("checkpoint-100"));
        QCOMPARE(timeline->points().size(), 2);
        QCOMPARE(timeline->current(), 0);
        // From the menu of tags, too.
        QVERIFY(ui.open(ui.folder(u"output"_s)));
        QCOMPARE(ui.checkpoint()->runFolder.filename().string(), std::string("checkpoint-200"));
        for (QAction* action : ui.find<QToolButton>("breadcrumbTag")->menu()->actions())
            if (action->text().startsWith(u"checkpoint-100"_s))
                action->trigger();
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->runFolder.filename().string(), std::string("checkpoint-100"));
    }

    void withoutARunThePageSaysSo()
    {
        WindowFixture ui;
        const QString file = ui.folder(u"weights.pt"_s);
        QVERIFY(QFile::copy(samplePath("zero2-w2") + u"/global_step6/mp_rank_00_model_states.pt"_s, file));
        QVERIFY(ui.open(file));
        QVERIFY(ui.checkpoint());
        QVERIFY(ui.window().showPage(u"runs"_s));
        QVERIFY(ui.settle());
        auto* empty = ui.find<QLabel>("runsEmpty");
        QVERIFY(empty->isVisible());
        QVERIFY2(empty->text().contains(u"no tag of a run"_s), qPrintable(empty->text()));
        QVERIFY(ui.window().openPageWindow() != nullptr);
    }

    void whatIsOpenStaysWhenAFolderOfRunsIsOpened()
    {
        WindowFixture ui;
        const QString folder = folderOfRuns(ui);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const CheckpointPtr before = ui.checkpoint();
        QVERIFY(ui.open(folder));
        QCOMPARE(ui.checkpoint(), before);
        QCOMPARE(pageOf(ui), u"runsPage"_s);
        QVERIFY(ui.find<QTableView>("runTable")->isVisible());
        QTest::mouseClick(ui.find<QToolButton>("runsOther"), Qt::LeftButton);
        QVERIFY(ui.find<Timeline>("tagTimeline")->isVisible());
        QVERIFY(ui.settle());
    }
};

SHARDSCOPE_UI_TEST(TestRuns, WithDisplay)
#include "tst_runs.moc"
