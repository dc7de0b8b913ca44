// SPDX-License-Identifier: Apache-2.0
// Overview, Files and Parameters by mouse and keyboard, and their texts for files that cannot be read.
#include "core/layout/counts.h"
#include "tests/support/faulting_file_system.h"
#include "tests/ui/pages/broken_sample.h"
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/pages/tensor_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/difference_list.h"
#include "ui/models/file_table_model.h"
#include "ui/pages/files_page.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/session/findings/check_text.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"

#include <QComboBox>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include <atomic>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// Files whose path holds a given part cannot be opened, as without permission.
class DeniedFiles : public io::FaultingFileSystem
{
public:
    explicit DeniedFiles(std::string part)
        : io::FaultingFileSystem(io::realFileSystem())
        , m_part(std::move(part))
    {
    }
    std::atomic<bool> denies{true};

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override
    {
        if (denies && path.native().find(m_part) != std::string::npos)
            return fail(ErrorCode::Unreadable, "cannot open the file: Permission denied", path.native());
        return io::FaultingFileSystem::openRead(path);
    }

private:
    std::string m_part;
};

void clickCell(QTableView* table, int row, int column)
{
    const QModelIndex at = table->model()->index(row, column);
    table->scrollTo(at);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(at).center());
}

QTabWidget* tabs(WindowFixture& ui)
{
    return ui.find<QTabWidget>("pageTabs");
}

} // namespace

class TestPages : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void overviewCountsWhatTheFindingsTabCounts()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        const QString count = ui.find<QAbstractButton>("findingsCount")->text();
        const size_t errors = ui.find<FindingsPage>("findingsPage")->model()->shownCount();
        QVERIFY(errors > 0);
        QVERIFY2(count.contains(u"error"_s), qPrintable(count));
        const QString tab = tabs(ui)->tabText(6);
        const QString number = tab.section(u'(', 1).section(u')', 0, 0);
        QVERIFY2(count.startsWith(number % u' '), qPrintable(QString(count % u" / "_s % tab)));
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY2(ui.find<QAbstractButton>("findingsCount")->text().startsWith(u"No problems found"_s),
            qPrintable(ui.find<QAbstractButton>("findingsCount")->text()));
        // Below 2 GiB every byte is read.
        QVERIFY(ui.find<QLabel>("findingsState")->text().startsWith(u"Read every byte at "_s));
    }

    void overviewCountsTheFilesThatAreThere()
    {
        WindowFixture ui;
        const QString run = brokenSample(ui);
        QVERIFY(ui.open(run));
        QCOMPARE(ui.find<QAbstractButton>("fileCount")->text(),
            u"%1 files"_s.arg(countFiles(*ui.checkpoint()).count));
        QCOMPARE(ui.find<QAbstractButton>("fileCount")->text(),
            u"%1 files"_s.arg(QDir(run + u"/global_step6"_s).entryList(QDir::Files).size()));
    }

    void factsAreNotSentences()
    {
        QCOMPARE(factText("lm head.bias"), u"lm head.bias"_s);
        QCOMPARE(factText("`lm head.bias` is tied"), u"\u201Clm head.bias\u201D is tied"_s);
        QCOMPARE(sentenceText("lm head"), u"Lm head"_s);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QStringList lines;
        for (const QLabel* label : ui.window().findChildren<QLabel*>(u"cardText"_s))
            lines += label->text();
        for (const std::string& fact : ui.checkpoint()->evidence)
            QVERIFY2(lines.contains(factText(fact)), fact.c_str());
    }

    void aFilterThatIsNotUnderstoodSaysSo()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        auto* field = ui.find<FilterField>("filterField");
        auto* empty = ui.find<QLabel>("parametersEmpty");
        field->setText(u"has:nonsense"_s);
        QVERIFY(ui.settle());
        QVERIFY2(empty->text().contains(u"cannot be applied"_s) && empty->text().contains(u"has:nonsense"_s),
            qPrintable(empty->text()));
        QVERIFY(!ui.find<QWidget>("parameterSummary")->isVisible());
        field->setText(u"nowhere"_s);
        QVERIFY(ui.settle());
        QVERIFY2(empty->text().contains(u"No parameter matches"_s), qPrintable(empty->text()));
        QVERIFY(ui.find<QWidget>("parameterSummary")->isVisible());
    }

    void overviewLeadsToAFile()
    {
        WindowFixture ui;
        QVERIFY(ui.open(brokenSample(ui)));
        auto* mark = ui.find<QToolButton>("findingMark");
        QVERIFY(mark != nullptr && mark->isVisible());
        QTest::mouseClick(mark, Qt::LeftButton);
        QCOMPARE(tabs(ui)->currentWidget()->objectName(), u"filesPage"_s);
        QVERIFY(ui.window().selection().current().file != kNoFile);
    }

    void overviewOpensTagsByKey()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const std::string before = ui.checkpoint()->tag;
        auto* list = ui.find<QListWidget>("tagList");
        QVERIFY(list->count() > 1);
        list->setFocus();
        int other = 0;
        while (list->item(other)->data(Qt::UserRole).toString().toStdString() == before)
            ++other;
        list->setCurrentRow(other == 0 ? 1 : other - 1);
        QTest::keyClick(list, other == 0 ? Qt::Key_Up : Qt::Key_Down);
        QCOMPARE(list->currentRow(), other);
        QTest::keyClick(list, Qt::Key_Return);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint()->tag != before);
    }

    void overviewOpensATagThatIsNotUtf8()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero2-w2", ui.folder(u"run"_s));
        const std::filesystem::path folder(run.toStdString());
        std::filesystem::rename(folder / "global_step3", folder / "step\xff");
        QVERIFY(ui.open(run));
        auto* list = ui.find<QListWidget>("tagList");
        QCOMPARE(list->count(), 2);
        list->setFocus();
        list->setCurrentRow(list->item(0)->text().startsWith(u"step"_s) ? 0 : 1);
        QTest::keyClick(list, Qt::Key_Return);
        QVERIFY(ui.settle());
        QCOMPARE(ui.checkpoint()->tag, std::string("step\xff"));
    }

    /// Each with what it holds, and whether it is complete.
    void overviewDescribesTags()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero2-w2", ui.folder(u"run"_s));
        QVERIFY(ui.open(run));
        auto* list = ui.find<QListWidget>("tagList");
        QVERIFY(list->count() > 1);
        const auto lineOf = [&](bool shown) {
            for (int row = 0; row < list->count(); ++row)
                if ((list->item(row)->data(Qt::UserRole).toString().toStdString() == ui.checkpoint()->tag)
                    == shown)
                    return list->item(row)->text();
            return QString();
        };
        const QString shown = lineOf(true);
        for (const QString& part : {u"latest"_s, u"open"_s, u"step 6"_s, u"ZeRO-2"_s, u"2 ranks"_s, u"KiB"_s,
                 QString::number(QDate::currentDate().year()), u"complete"_s})
            QVERIFY2(shown.contains(part), qPrintable(shown));
        // Another tag that lost a file.
        const QString other = lineOf(false).section(u' ', 0, 0).section(u'\n', 0, 0);
        QVERIFY(QFile::remove(run % u'/' % other % u"/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        ui.window().session().reload();
        QVERIFY(ui.settle());
        QVERIFY2(lineOf(false).contains(u"1 error"_s), qPrintable(lineOf(false)));
        QVERIFY(lineOf(true).contains(u"complete"_s));
    }

    void filesAreSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* page = ui.find<FilesPage>("filesPage");
        page->setFilter(u"role:optim"_s);
        QVERIFY(ui.settle());
        const int rows = page->fileTable()->model()->rowCount();
        QVERIFY(rows > 0 && rows < static_cast<int>(ui.checkpoint()->files.size()));
        QSignalSpy saved(page, &Page::told);
        page->saveRows(ui.folder(u"files.csv"_s));
        QVERIFY(saved.wait());
        QFile csv(ui.folder(u"files.csv"_s));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(csv.readAll());
        QVERIFY(text.startsWith(u"# Written by: Shardscope "_s));
        QVERIFY(text.contains(u"\n# Command: shardscope-gui --page files --filter role:optim "_s));
        const QString table = text.mid(text.indexOf(u"\npath,role,rank,bytes,records,status\n"_s) + 1);
        QCOMPARE(table.count(u'\n'), rows + 1);
        page->saveRows(ui.folder(u"files.json"_s));
        QVERIFY(saved.wait());
        QFile json(ui.folder(u"files.json"_s));
        QVERIFY(json.open(QIODevice::ReadOnly));
        const QJsonObject answer = QJsonDocument::fromJson(json.readAll()).object();
        QCOMPARE(answer[u"files"_s].toArray().size(), rows);
        QCOMPARE(answer[u"report"_s].toObject()[u"filter"_s].toString(), u"role:optim"_s);
        for (int row = 0; row < rows; ++row) {
            const QJsonObject file = answer[u"files"_s].toArray()[row].toObject();
            QCOMPARE(file[u"path"_s].toString(), page->fileTable()->model()->index(row, 0).data().toString());
            QVERIFY(table.contains(u'\n' % file[u"path"_s].toString() % u",optim"_s));
        }
    }

    void filesShowTheirRecords()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QTest::keyClick(&ui.window(), Qt::Key_5, Qt::ControlModifier);
        QCOMPARE(tabs(ui)->currentWidget()->objectName(), u"filesPage"_s);
        auto* files = ui.find<QTableView>("fileTable");
        auto* records = ui.find<QTableView>("recordTable");
        clickCell(files, 0, 0);
        QVERIFY(ui.settle());
        QVERIFY(records->model()->rowCount() > 0);
        const FileId first = ui.window().selection().current().file;
        QTest::keyClick(files, Qt::Key_Down);
        QVERIFY(ui.settle());
        QVERIFY(ui.window().selection().current().file != first);
        QVERIFY(records->model()->rowCount() > 0);
        clickCell(records, 1, 0);
        QCOMPARE(ui.window().selection().current().record, std::optional<uint32_t>(1));
        // A click on the head sorts by it.
        const QString before = files->model()->index(0, FileTableModel::Bytes).data().toString();
        QHeaderView* head = files->horizontalHeader();
        const int middle = head->sectionViewportPosition(FileTableModel::Bytes)
            + head->sectionSize(FileTableModel::Bytes) / 2;
        for (int twice = 0; twice < 2; ++twice)
            QTest::mouseClick(head->viewport(), Qt::LeftButton, {}, QPoint(middle, head->height() / 2));
        QVERIFY(ui.settle());
        QCOMPARE(head->sortIndicatorSection(), int{FileTableModel::Bytes});
        QVERIFY(files->model()->rowCount() > 1);
    }

    void parametersLeadToTheirValues()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QTest::keyClick(&ui.window(), Qt::Key_3, Qt::ControlModifier);
        if (tabs(ui)->currentWidget()->objectName() != "parametersPage"_L1)
            QVERIFY(ui.window().showPage(u"parameters"_s));
        auto* table = ui.find<QTableView>("parameterTable");
        clickCell(table, 2, 0);
        QVERIFY(ui.settle());
        const ParamId param = ui.window().selection().current().param;
        QVERIFY(param != kNoParam);
        QTest::keyClick(table, Qt::Key_Return);
        QVERIFY(ui.settle());
        QCOMPARE(tabs(ui)->currentWidget()->objectName(), u"tensorPage"_s);
        QVERIFY(ui.window().selection().current().param == param);
    }

    void aShallowCheckSaysWhatWasNotRead()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"findings"_s));
        auto* depth = ui.find<QComboBox>("checkDepth");
        QCOMPARE(depth->currentIndex(), static_cast<int>(CheckDepth::Bytes));
        depth->setCurrentIndex(static_cast<int>(CheckDepth::Metadata));
        ui.find<QAbstractButton>("checkStart")->click();
        QVERIFY(ui.settle());
        const QString facts = ui.find<ElidedLabel>("checkFacts")->text();
        QVERIFY2(facts.contains(u"Values not read ("_s), qPrintable(facts));
        QVERIFY(ui.find<QLabel>("findingsState")->text().startsWith(u"Values not read ("_s));
        Checkpoint large;
        large.files.resize(1);
        large.files[0].identity.bytes = uint64_t{2} << 30;
        QCOMPARE(defaultCheckDepth(large), CheckDepth::Metadata);
        large.files[0].identity.bytes -= 1;
        QCOMPARE(defaultCheckDepth(large), CheckDepth::Bytes);
    }

    void whatCannotBeOpenedIsUnreadable()
    {
        DeniedFiles files("zero_pp_rank_1_mp_rank_00_optim_states");
        WindowFixture ui(ThemeMode::Light, files);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const Checkpoint& checkpoint = *ui.checkpoint();
        FileId denied = kNoFile;
        for (uint32_t i = 0; i < checkpoint.files.size(); ++i)
            if (checkpoint.files[i].name.find("rank_1_mp_rank_00_optim_states") != std::string::npos)
                denied = FileId{i};
        QVERIFY(denied != kNoFile);
        QVERIFY(isUnreadable(checkpoint, denied));
        QCOMPARE(fileStatusText(checkpoint, denied), u"unreadable"_s);
        const FlatUnit& unit = checkpoint.units.front();
        QVERIFY(isUnreadable(checkpoint, unit, 1));
        QVERIFY(!isUnreadable(checkpoint, unit, 0));
        // Missing files are still shown as missing.
        WindowFixture other;
        QVERIFY(other.open(brokenSample(other)));
        QVERIFY(!isUnreadable(*other.checkpoint(), other.checkpoint()->units.front(), 1));
    }

    void valuesThatCannotBeReadAreUnreadable()
    {
        DeniedFiles files("optim_states.pt");
        files.denies = false;
        WindowFixture ui(ThemeMode::Light, files);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        files.denies = true;
        const std::string name
            = ui.checkpoint()->params[index(ui.checkpoint()->units.front().params.front())].name;
        QVERIFY(showTensor(ui, name.c_str(), "fp32"));
        QVERIFY(ui.find<ElidedLabel>("tensorValue") != nullptr);
        const QString value = ui.find<ElidedLabel>("tensorValue")->text();
        QVERIFY2(value.contains(u"unreadable"_s), qPrintable(value));
    }

    void aNotANumberIsTheWorstDifference()
    {
        auto judged = std::make_shared<JudgedDiff>();
        const auto add = [&](const char* name, uint64_t notFinite, double apart) {
            ParamDifference difference;
            difference.param.name = name;
            difference.param.left = difference.param.right = ParamId{0};
            difference.update = UpdateDifference{apart, apart, 0};
            StateDifference state;
            state.state.left = state.state.right = "fp32";
            state.values.elements = 8;
            state.values.different = 1;
            state.values.notFinite = state.values.notFiniteRight = notFinite;
            state.values.maxAbsolute = apart;
            state.values.squaredDifference = apart * apart;
            state.values.squaredLeft = state.values.squaredRight = 1;
            state.values.product = 1 - apart;
            difference.states.push_back(state);
            judged->diff.params.push_back(difference);
        };
        add("small", 0, 0.001);
        add("nan", 1, 0);
        add("large", 0, 0.5);
        const DifferenceList list(judged);
        for (const DifferenceColumn column : {DifferenceColumn::MaxAbs, DifferenceColumn::RelativeL2,
                 DifferenceColumn::Cosine, DifferenceColumn::NextStep}) {
            QCOMPARE(list.text(1, column), u"–"_s);
            QCOMPARE(list.text(1, column, true), u"nan"_s);
            QVERIFY(list.text(0, column) != u"–"_s);
            const bool lowIsBad = column == DifferenceColumn::Cosine;
            const auto worstFirst = orderedDifferences(list, {column, !lowIsBad, {}}, {});
            QCOMPARE(worstFirst, (std::vector<uint32_t>{1, 2, 0}));
            const auto worstLast = orderedDifferences(list, {column, lowIsBad, {}}, {});
            QCOMPARE(worstLast, (std::vector<uint32_t>{0, 2, 1}));
        }
        QCOMPARE(list.text(1, DifferenceColumn::Different), u"1 of 8, 1 NaN/Inf (right)"_s);
    }
};

SHARDSCOPE_UI_TEST(TestPages, WithDisplay)
#include "tst_pages.moc"
