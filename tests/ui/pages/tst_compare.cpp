// SPDX-License-Identifier: Apache-2.0
// The comparison of two checkpoints in the window.
#include "tests/ui/pages/compare_fixture.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/model_roles.h"
#include "ui/models/parameters/difference_table_model.h"
#include "ui/pages/compare_maps.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/verdict_panel.h"
#include "ui/shell/page_window.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QComboBox>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QUrl>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

DifferenceTableModel* modelOf(QTableView* table)
{
    return qobject_cast<DifferenceTableModel*>(table->model());
}

void checkReport(const QJsonObject& report)
{
    QVERIFY(report[u"command"_s].toString().startsWith(u"shardscope diff "_s));
    QVERIFY(report[u"command"_s].toString().endsWith(u" --json"_s));
    QCOMPARE(report[u"checkpoints"_s].toArray().size(), 2);
}

/// Takes the comments before the header; they say what was compared.
void checkHead(QStringList& lines)
{
    QString head;
    while (!lines.isEmpty() && lines.first().startsWith(u'#'))
        head += lines.takeFirst() % u'\n';
    QVERIFY(head.contains(u"# Time: 20"_s) && head.contains(u"# Filter: exp_avg\n"_s));
    QVERIFY(head.contains(u"# Command: shardscope-gui --page compare --against "_s));
    QCOMPARE(head.count(u"# Checkpoint: "_s), 2);
    QVERIFY(head.contains(u"# Tag: global_step6\n"_s) && head.contains(u"# Tag: global_step3\n"_s));
}

} // namespace

class TestCompare : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void showsTheVerdict_data()
    {
        QTest::addColumn<QString>("left");
        QTest::addColumn<QString>("right");
        QTest::addColumn<QString>("says");
        QTest::addColumn<bool>("any");
        QTest::newRow("another topology, the same state")
            << u"zero3-universal-w3"_s << u"zero3-universal-w3/global_step3_universal"_s
            << u"The same training state"_s << false;
        QTest::newRow("last bit") << u"bf16opt-w2"_s << u"ds0144-bf16opt-w2"_s << u"last bit"_s << true;
        QTest::newRow("another step")
            << u"zero2-w2"_s << u"zero2-w2/global_step3"_s << u"will train differently"_s << true;
        QTest::newRow("another model")
            << u"zero3-w4"_s << u"zero2-w2"_s << u"not two states of one model"_s << true;
    }

    void showsTheVerdict()
    {
        QFETCH(QString, left);
        QFETCH(QString, right);
        QFETCH(QString, says);
        QFETCH(bool, any);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(left.toLatin1().constData())));
        QVERIFY(compareWith(ui, samplePath(right.toLatin1().constData())));
        const QString verdict = ui.find<VerdictPanel>("verdictPanel")->headline();
        QVERIFY2(verdict.contains(says, Qt::CaseInsensitive), qPrintable(verdict));
        auto* table = ui.find<QTableView>("differenceTable");
        QCOMPARE(table->model()->rowCount() > 0, any);
        QCOMPARE(ui.find<QAction>("actionNextDifference")->isEnabled(), any);
        QVERIFY(!ui.find<QLabel>("compareFacts")->text().isEmpty());
        auto* maps = ui.find<CompareMaps>("compareMaps");
        QVERIFY(maps->left()->canvas()->source() && maps->right()->canvas()->source());
        QCOMPARE(maps->left()->colourMode(), MapColourMode::Difference);
    }

    void patternsMergeSlicesWithoutARecord()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("megatron-w2/global_step2")));
        auto* facts = ui.find<QLabel>("compareFacts");
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        QVERIFY2(facts->text().contains(u"does not record how the slices"_s), qPrintable(facts->text()));
        auto* patterns = ui.find<QLineEdit>("comparePatterns");
        QVERIFY(patterns != nullptr && patterns->isVisible() && !patterns->accessibleName().isEmpty());
        patterns->setText(ui.folder(u"none.json"_s));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        QVERIFY2(facts->text().contains(u"none.json"_s), qPrintable(facts->text()));
        const auto writeRules = [&](const QByteArray& text) {
            QFile file(ui.folder(u"rules.json"_s));
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
        };
        writeRules("[]");
        patterns->setText(ui.folder(u"rules.json"_s));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        QVERIFY2(facts->text().contains(u"not a JSON object"_s), qPrintable(facts->text()));
        writeRules("{}");
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        const QString verdict = ui.find<VerdictPanel>("verdictPanel")->headline();
        QVERIFY2(verdict.contains(u"not two states of one model"_s), qPrintable(verdict));
        const QString command = ui.find<QLineEdit>("compareCommand")->text();
        QVERIFY2(command.contains(u"--patterns "_s % ui.folder(u"rules.json"_s)), qPrintable(command));
    }

    void savesTheRowsAsCsv()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2/global_step3")));
        auto* save = ui.find<QToolButton>("compareSaveRows");
        QVERIFY(save != nullptr && save->isVisible() && save->focusPolicy() != Qt::NoFocus);
        auto* table = ui.find<QTableView>("differenceTable");
        ui.find<ComparePage>("comparePage")->setFilter(u"exp_avg"_s);
        table->horizontalHeader()->setSortIndicator(
            static_cast<int>(DifferenceColumn::MaxAbs), Qt::DescendingOrder);
        QVERIFY(ui.settle());
        const int shown = table->model()->rowCount();
        QVERIFY(shown > 2);
        const QString path = ui.folder(u"rows.csv"_s);
        ui.find<ComparePage>("comparePage")->saveRows(path);
        auto* messages = ui.find<QWidget>("compareMessages");
        QTRY_VERIFY(messages->isVisible());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QStringList lines = QString::fromUtf8(file.readAll()).split(u'\n', Qt::SkipEmptyParts);
        checkHead(lines);
        QCOMPARE(lines.size(), shown + 1); // what the filter leaves, under a header
        const QStringList names = lines.first().split(u',');
        QCOMPARE(names.first(), u"kind"_s);
        // The numbers are those of the JSON result, the order is that of the screen.
        QVERIFY(ui.find<ComparePage>("comparePage") != nullptr);
        const QString json = ui.folder(u"diff.json"_s);
        ui.find<ComparePage>("comparePage")->saveReport(json);
        QTRY_VERIFY(QFile::exists(json));
        QFile answer(json);
        QVERIFY(answer.open(QIODevice::ReadOnly));
        const QJsonObject whole = QJsonDocument::fromJson(answer.readAll()).object();
        checkReport(whole[u"report"_s].toObject());
        const QJsonArray all = whole[u"differences"_s].toArray();
        for (int row = 0; row < shown; ++row) {
            const QStringList cells = lines[row + 1].split(u',');
            QCOMPARE(cells.size(), names.size());
            const auto of = [&](const QString& name) { return cells[names.indexOf(name)]; };
            QCOMPARE(of(u"param"_s), cell(table, row, DifferenceColumn::Name));
            QCOMPARE(of(u"state"_s), cell(table, row, DifferenceColumn::State));
            bool found = false;
            for (const QJsonValue& one : all) {
                const QJsonObject object = one.toObject();
                if (object[u"param"_s].toString() != of(u"param"_s)
                    || object[u"state"_s].toString() != of(u"state"_s))
                    continue;
                found = true;
                QCOMPARE(of(u"kind"_s), object[u"kind"_s].toString());
                for (const QString& number : {u"elements"_s, u"count"_s, u"beyond_tolerance"_s, u"last_bit"_s,
                         u"not_finite"_s, u"first"_s, u"max_abs"_s, u"rel_l2"_s, u"cosine"_s})
                    QCOMPARE(of(number).toDouble(), object[number].toDouble());
            }
            QVERIFY(found);
        }
    }

    void saysWhatCannotBeCompared()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, ui.folder(u"nowhere"_s)));
        QVERIFY(ui.find<QLabel>("compareFacts")->text().contains(u"nowhere"_s));
        QVERIFY(!ui.find<QTableView>("differenceTable")->isVisible());
        ui.find<QLineEdit>("compareRtol")->setText(u"many"_s);
        ui.find<QPushButton>("compareStart")->click();
        QVERIFY(ui.find<QWidget>("compareMessages")->isVisible());
    }

    void walksFromDifferenceToDifference()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        auto* table = ui.find<QTableView>("differenceTable");
        QVERIFY(table->model()->rowCount() > 10);
        QTest::keyClick(&ui.window(), Qt::Key_F7);
        int first = 0;
        while (first < 4 || cell(table, first, DifferenceColumn::Kind) != "values"_L1)
            QTest::keyClick(&ui.window(), Qt::Key_F7), first = table->currentIndex().row();
        QVERIFY(first > 3);
        const QString name = cell(table, first, DifferenceColumn::Name);
        const ParamId param = ui.window().selection().current().param;
        QVERIFY(param != kNoParam);
        QCOMPARE(QString::fromStdString(ui.checkpoint()->params[index(param)].name), name);
        auto* maps = ui.find<CompareMaps>("compareMaps");
        const auto& right = maps->right()->canvas()->source()->checkpoint();
        const ParamId other = maps->right()->canvas()->marks().param;
        QVERIFY(other != kNoParam);
        QCOMPARE(QString::fromStdString(right.params[index(other)].name), name);
        QTest::keyClick(&ui.window(), Qt::Key_F7, Qt::ShiftModifier);
        QCOMPARE(table->currentIndex().row(), first - 1);
        QVERIFY(!cell(table, first, DifferenceColumn::MaxAbs).isEmpty());
        QVERIFY(!cell(table, first, DifferenceColumn::NextStep).isEmpty());
        // The same steps from the map.
        QVERIFY(ui.window().showPage(u"map"_s));
        QTest::keyClick(&ui.window(), Qt::Key_F7);
        QCOMPARE(table->currentIndex().row(), first);
    }

    /// Parameters come first, the largest change first; options and steps are one row, which unfolds.
    void optionsAreFoldedBehindParameters()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        auto* table = ui.find<QTableView>("differenceTable");
        const auto name = [&](int row) { return cell(table, row, DifferenceColumn::Name); };
        const auto kind = [&](int row) { return cell(table, row, DifferenceColumn::Kind); };
        const auto isOption = [&](int row) { return kind(row) == "option"_L1 || kind(row) == "step"_L1; };
        const int folded = table->model()->rowCount();
        int group = -1;
        for (int row = 0; row < folded; ++row) {
            QVERIFY2(!isOption(row), qPrintable(name(row)));
            if (name(row).startsWith(u"▸ "_s))
                group = row;
        }
        QVERIFY(group > 0);
        QVERIFY2(QRegularExpression(u"^▸ (\\d+ options? and )?\\d+ (option|step)s? differs?$"_s)
                     .match(name(group))
                     .hasMatch(),
            qPrintable(name(group)));
        for (int row = 0; row < group; ++row)
            QVERIFY(kind(row) != "scalar"_L1);
        const QString count = ui.find<QLabel>("compareCount")->text();

        const auto click = [&] {
            table->scrollTo(table->model()->index(group, 1));
            QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                table->visualRect(table->model()->index(group, 1)).center());
        };
        click();
        QVERIFY(name(group).startsWith(u"▾ "_s));
        const int unfolded = table->model()->rowCount();
        QVERIFY(unfolded >= folded + 2);
        for (int row = group + 1; row <= group + unfolded - folded; ++row)
            QVERIFY(isOption(row));
        QCOMPARE(ui.find<QLabel>("compareCount")->text(), count); // the row is no difference
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(table->model()->rowCount(), folded);
        // No step to a row that is no difference.
        table->setCurrentIndex(table->model()->index(group - 1, 1));
        QTest::keyClick(&ui.window(), Qt::Key_F7);
        QVERIFY(table->currentIndex().row() != group);
        // A filter finds what is folded, and saved rows have it.
        ui.find<ComparePage>("comparePage")->saveRows(ui.folder(u"all.csv"_s));
        QTRY_VERIFY(QFile::exists(ui.folder(u"all.csv"_s)));
        QFile saved(ui.folder(u"all.csv"_s));
        QVERIFY(saved.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(saved.readAll()).count(u"\noption,"_s) > 0, true);
        ui.find<QLineEdit>("filterField")->setText(u"kind:step"_s);
        QVERIFY(ui.settle());
        QVERIFY(table->model()->rowCount() > 0 && isOption(0));
    }

    void namesAreReadableInANarrowWindow()
    {
        WindowFixture ui;
        ui.window().resize(1000, 700);
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        auto* table = ui.find<QTableView>("differenceTable");
        const int name = table->columnWidth(static_cast<int>(DifferenceColumn::Name));
        QVERIFY(name >= table->fontMetrics().horizontalAdvance(u"layers.0.attention_norm.bias"_s));
        ui.window().resize(1900, 700); // they have the room that is left
        QTRY_VERIFY(table->columnWidth(static_cast<int>(DifferenceColumn::Name)) > name);
        QCOMPARE(table->horizontalHeader()->length(), table->viewport()->width());
    }

    void sortsAndFilters()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2/global_step3")));
        auto* table = ui.find<QTableView>("differenceTable");
        const QAbstractItemModelTester tester(
            table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const int all = table->model()->rowCount();
        const auto column = static_cast<int>(DifferenceColumn::MaxAbs);
        table->horizontalHeader()->setSortIndicator(column, Qt::DescendingOrder);
        QVERIFY(ui.settle());
        QCOMPARE(table->model()->rowCount(), all);
        double former = std::numeric_limits<double>::infinity();
        for (int row = 0; row < all; ++row) {
            const QString exact = table->model()->index(row, column).data(CopyRole).toString();
            if (exact.isEmpty())
                break;
            QVERIFY(exact.toDouble() <= former);
            former = exact.toDouble();
        }
        QVERIFY(former < 1e9);
        ui.find<QLineEdit>("filterField")->setText(u"values exp_avg_sq"_s);
        QVERIFY(ui.settle());
        const int some = table->model()->rowCount();
        QVERIFY(some > 0 && some < all);
        for (int row = 0; row < some; ++row)
            QCOMPARE(cell(table, row, DifferenceColumn::State), u"exp_avg_sq"_s);
        QVERIFY(ui.find<QLabel>("compareCount")->text().contains(u" of "_s));
        // The filter of parameters is separate.
        QVERIFY(ui.window().showPage(u"parameters"_s));
        QVERIFY(ui.find<QLineEdit>("filterField")->text().isEmpty());
    }

    void takesStatesAndTolerances()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("bf16opt-w2")));
        QVERIFY(ui.window().showPage(u"compare"_s));
        auto* states = ui.find<QToolButton>("compareStates");
        for (QAction* state : states->menu()->actions())
            state->setChecked(state->text() == "fp32"_L1);
        ui.find<QLineEdit>("compareAtol")->setText(u"1e-3"_s);
        ui.find<QLineEdit>("compareOther")->setText(samplePath("ds0144-bf16opt-w2"));
        const QString command = ui.find<QLineEdit>("compareCommand")->text();
        QVERIFY2(command.startsWith(u"shardscope diff "_s), qPrintable(command));
        QVERIFY2(command.contains(u"--atol 0.001 --state fp32"_s), qPrintable(command));
        QVERIFY(compareWith(ui, samplePath("ds0144-bf16opt-w2")));
        const auto* table = ui.find<QTableView>("differenceTable");
        for (int row = 0; row < table->model()->rowCount(); ++row)
            QVERIFY(cell(table, row, DifferenceColumn::State) != "exp_avg"_L1);
        // The map marks parameters that were not compared.
        auto* maps = ui.find<CompareMaps>("compareMaps");
        const DifferenceMarksPtr marks = maps->left()->canvas()->mapStyle().differences;
        QVERIFY(marks && marks->ofState("fp32") != nullptr && marks->ofState("exp_avg") == nullptr);
    }

    void paintsTheMapInItsColours()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        auto* map = ui.find<MapPage>("mapPage")->mapView();
        auto* modes = map->findChild<QComboBox*>(u"mapColourMode"_s);
        const int plain = modes->count();
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        QCOMPARE(modes->count(), plain + 1);
        QVERIFY(ui.window().showPage(u"map"_s));
        map->setColourMode(MapColourMode::Difference);
        QVERIFY(ui.settle());
        const DifferenceMarksPtr marks = map->canvas()->mapStyle().differences;
        QVERIFY(marks);
        for (const DifferenceMark mark : *marks->ofState("fp32"))
            QVERIFY(mark == DifferenceMark::Values || mark == DifferenceMark::OtherState
                || mark == DifferenceMark::Equal);
        // Opening another checkpoint clears the comparison.
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QCOMPARE(modes->count(), plain);
        QCOMPARE(map->colourMode(), MapColourMode::Kind);
        QVERIFY(!ui.find<VerdictPanel>("verdictPanel")->isVisible());
        QVERIFY(!ui.find<QAction>("actionNextDifference")->isEnabled());
    }

    void findsParametersOfMergedSlices()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("slices-w4")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        auto* table = ui.find<QTableView>("differenceTable");
        QVERIFY(table->model()->rowCount() > 0);
        const auto* marks
            = ui.find<CompareMaps>("compareMaps")->left()->canvas()->mapStyle().differences->ofState("fp32");
        QVERIFY(marks != nullptr);
        QVERIFY(std::find(marks->begin(), marks->end(), DifferenceMark::OneSide) != marks->end());
    }

    void offersTagsAndWhatWasOpen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"compare"_s));
        auto* choices = ui.find<QMenu>("compareChoices");
        Q_EMIT choices->aboutToShow();
        QAction* tag = nullptr;
        bool recent = false;
        for (QAction* action : choices->actions()) {
            if (action->text() == "global_step3"_L1)
                tag = action;
            recent = recent || action->text().endsWith(u"zero3-w4"_s);
        }
        QVERIFY(tag != nullptr && recent);
        tag->trigger();
        QVERIFY(ui.find<QLineEdit>("compareOther")->text().endsWith(u"zero2-w2/global_step3"_s));
        QVERIFY(ui.find<QPushButton>("compareStart")->isEnabled());
    }

    void twoDroppedFoldersOfferToBeCompared()
    {
        WindowFixture ui;
        QMimeData data;
        data.setUrls(
            {QUrl::fromLocalFile(samplePath("zero1-w2")), QUrl::fromLocalFile(samplePath("zero2-w2"))});
        QDragEnterEvent enter({10, 10}, Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&ui.window(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({10, 10}, Qt::LinkAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&ui.window(), &drop);
        QVERIFY(ui.settle());
        QVERIFY(ui.checkpoint() != nullptr);
        QVERIFY(ui.find<QWidget>("comparePage")->isVisible());
        QVERIFY(ui.find<QLineEdit>("compareOther")->text().endsWith(u"zero2-w2"_s));
        QVERIFY(!ui.find<VerdictPanel>("verdictPanel")->isVisible()); // nothing is read unasked
        QTest::keyClick(ui.find<QLineEdit>("compareOther"), Qt::Key_Return);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<VerdictPanel>("verdictPanel")->isVisible());
    }

    void comparesAsSoonAsItIsOpen()
    {
        WindowFixture ui;
        ui.window().openPath(samplePath("zero1-w2"));
        ui.window().compareWith(samplePath("zero2-w2"), true);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<QWidget>("comparePage")->isVisible());
        QVERIFY(ui.find<QTableView>("differenceTable")->model()->rowCount() > 0);
    }

    void canBeCancelled()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        ui.find<QAction>("actionCompare")->trigger();
        ui.find<QLineEdit>("compareOther")->setText(samplePath("zero2-w2"));
        auto* start = ui.find<QPushButton>("compareStart");
        start->click();
        QCOMPARE(start->text(), u"Cancel"_s);
        QVERIFY(ui.find<QProgressBar>("compareProgress")->isVisible());
        start->click();
        QVERIFY(ui.settle());
        QVERIFY(start->text() != "Cancel"_L1);
        QVERIFY(!ui.find<QTableView>("differenceTable")->isVisible());
    }

    void savesTheAnswer()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        auto* page = ui.find<ComparePage>("comparePage");
        const QString path = ui.folder(u"diff.json"_s);
        page->saveReport(path);
        QTRY_VERIFY(QFile::exists(path));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject answer = QJsonDocument::fromJson(file.readAll()).object();
        QCOMPARE(answer.value(u"schema"_s).toString(), u"shardscope/diff/1"_s);
        QCOMPARE(answer.value(u"verdict"_s).toString(), u"will-train-differently"_s);
    }

    void opensInAWindowOfItsOwn()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero1-w2")));
        QVERIFY(compareWith(ui, samplePath("zero2-w2")));
        PageWindow* window = ui.window().openPageWindow();
        QVERIFY(ui.settle());
        auto* table = window->findChild<QTableView*>(u"differenceTable"_s);
        QTRY_COMPARE(table->model()->rowCount(), modelOf(ui.find<QTableView>("differenceTable"))->rowCount());
        window->close();
    }
};

SHARDSCOPE_UI_TEST(TestCompare, WithDisplay)
#include "tst_compare.moc"
