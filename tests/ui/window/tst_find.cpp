// SPDX-License-Identifier: Apache-2.0
// The find field by keys: everything it finds, filters by, and says about what is wrong.
#include "core/layout/fragments.h"
#include "tests/support/waiting_file_system.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/filter_bar.h"
#include "ui/controls/find_panel.h"
#include "ui/models/find/finder.h"
#include "ui/pages/parameters_page.h"
#include "ui/session/check_run.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_chips.h"
#include "ui/widgets/filter_field.h"

#include <QFile>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>

#include <cstring>
#include <limits>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

FilterField* field(WindowFixture& ui)
{
    return ui.find<FilterField>("filterField");
}

QString page(WindowFixture& ui)
{
    return ui.find<QTabWidget>("pageTabs")->currentWidget()->objectName();
}

QString selectedName(WindowFixture& ui)
{
    const ParamId param = ui.window().selection().current().param;
    return param == kNoParam ? QString() : toText(ui.checkpoint()->params[index(param)].name);
}

bool isListed(WindowFixture& ui)
{
    auto* panel = ui.find<FindPanel>("findPanel");
    return panel != nullptr && panel->isVisible();
}

/// Opens the field by a key, types, and waits for the answer.
bool type(WindowFixture& ui, Qt::Key key, const QString& typed, Qt::KeyboardModifiers more = {})
{
    QTest::keyClick(&ui.window(), key, Qt::ControlModifier | more);
    QTest::keyClicks(field(ui), typed);
    return field(ui)->hasFocus() && ui.settle() && isListed(ui);
}

bool goes(WindowFixture& ui, const QString& typed)
{
    ui.window().selection().clear();
    if (!type(ui, Qt::Key_G, typed))
        return false;
    QTest::keyClick(field(ui), Qt::Key_Return);
    return ui.settle() && !isListed(ui) && !ui.window().selection().current().isEmpty()
        && field(ui)->text().isEmpty();
}

QStringList rows(WindowFixture& ui)
{
    QStringList out;
    auto* list = ui.find<QListWidget>("findRows");
    for (int i = 0; i < list->count(); ++i)
        out.append(list->item(i)->text());
    return out;
}

/// Overwrites one element of a parameter's state in its file.
bool plant(const Checkpoint& checkpoint, const std::string& name, const char* state, float value)
{
    const auto param = checkpoint.findParam(name);
    if (!param)
        return false;
    const auto fragments = fragmentsOf(checkpoint, *param, state, 0, 1);
    if (!fragments || fragments->empty() || fragments->front().file == kNoFile)
        return false;
    QFile file(toText(checkpoint.file(fragments->front().file).path.native()));
    return file.open(QIODevice::ReadWrite) && file.seek(static_cast<qint64>(fragments->front().byteOffset))
        && file.write(reinterpret_cast<const char*>(&value), sizeof value) == sizeof value;
}

constexpr auto kNaN = std::numeric_limits<float>::quiet_NaN();

/// A parameters page without a window and without a check, so that values are read for the filter.
struct OwnPage {
    explicit OwnPage(WindowFixture& ui, io::FileSystem& files)
        : session(files)
        , compareRun(files)
        , checkRun(files)
        , page({session, session.selection(), compareRun, findings, ui.settings(), ui.theme()}, nullptr)
    {
        page.resize(900, 700);
        page.show();
    }
    bool show(const CheckpointPtr& checkpoint)
    {
        session.showAgain({{}, checkpoint, nullptr}, {});
        page.showSession();
        return QTest::qWaitFor([this] { return !page.isBusy(); }, 20'000);
    }
    [[nodiscard]] QString work() { return page.findChild<QLabel*>(u"filterWork"_s)->text(); }
    [[nodiscard]] QPushButton* action() { return page.findChild<QPushButton*>(u"filterWorkAction"_s); }

    Session session;
    CompareRun compareRun;
    CheckRun checkRun;
    FindingStore findings{checkRun};
    ParametersPage page;
};

} // namespace

class TestFind : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theGrammar_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("at"); // of the wrong word; -1: the text is valid
        QTest::addColumn<QString>("says");
        QTest::newRow("words") << u"mlp -bias"_s << -1 << QString();
        QTest::newRow("choices") << u"has:nan,inf"_s << -1 << QString();
        QTest::newRow("ranges") << u"layer:4..7,9 rank<3"_s << -1 << QString();
        QTest::newRow("slices") << u"weight:tp1"_s << -1 << QString();
        QTest::newRow("no such term") << u"mlp colour:red"_s << 4 << u"there is no term “colour”"_s;
        QTest::newRow("no such choice") << u"a b has:nothing"_s << 4 << u"expected nan, inf"_s;
        QTest::newRow("no number") << u"layer:4 size>many"_s << 8 << u"expected a number"_s;
        QTest::newRow("no value") << u"dtype:"_s << 0 << u"a value is missing"_s;
        QTest::newRow("not compared") << u"dtype<bf16"_s << 0 << u"only numbers can be compared"_s;
        QTest::newRow("expression") << u"x /(/"_s << 2 << u"regular expression is not valid"_s;
        QTest::newRow("dtype") << u"w dtype:float99"_s << 2 << u"no such dtype"_s;
    }

    void theGrammar()
    {
        QFETCH(QString, text);
        QFETCH(int, at);
        const ParameterFilter filter = ParameterFilter::parse(text);
        QCOMPARE(filter.problem().has_value(), at >= 0);
        if (at < 0)
            return;
        QFETCH(QString, says);
        QVERIFY2(filter.error().contains(says), qPrintable(filter.error()));
        QCOMPARE(filter.problem()->at, at);
        QCOMPARE(text.mid(at, filter.problem()->length),
            text.section(u' ', filter.problem()->word, filter.problem()->word));
    }

    void unfinishedTermsDoNotFilterYet()
    {
        const std::vector<FilterTerm> terms = ParameterFilter::terms();
        const auto settled = [&](const QString& text) { return FilterText::settled(text, terms).trimmed(); };
        QCOMPARE(settled(u"mlp has:"_s), u"mlp"_s);
        QCOMPARE(settled(u"mlp has:na"_s), u"mlp"_s);
        QCOMPARE(settled(u"mlp has:nan"_s), u"mlp has:nan"_s);
        QCOMPARE(settled(u"has:zero"_s), u"has:zero"_s); // also the beginning of zeros
        QCOMPARE(settled(u"size>"_s), QString());
        QCOMPARE(settled(u"layer:4.."_s), QString());
        QCOMPARE(settled(u"layer:4..7"_s), u"layer:4..7"_s);
        QCOMPARE(settled(u"has:wrong"_s), u"has:wrong"_s);
    }

    void goesToEveryKindOfPlace()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const auto& now = [&]() -> const SelectedThing& { return ui.window().selection().current(); };
        QVERIFY(goes(ui, u"l1 wv"_s));
        QCOMPARE(selectedName(ui), u"layers.1.attention.wv.weight"_s);
        QCOMPARE(page(ui), u"parametersPage"_s);
        QVERIFY(goes(ui, u"rank 3"_s));
        QVERIFY(now().rank == 3U);
        QCOMPARE(page(ui), u"mapPage"_s);
        QVERIFY(goes(ui, u"dp2"_s));
        QVERIFY(now().rank == 2U);
        QVERIFY(goes(ui, u"layer 1"_s));
        QVERIFY(selectedName(ui).startsWith(u"layers.1."_s));
        QVERIFY(goes(ui, u"rank_1_mp_rank_00_model"_s));
        QVERIFY(now().file != kNoFile);
        QCOMPARE(
            toText(ui.checkpoint()->file(now().file).name), u"zero_pp_rank_1_mp_rank_00_model_states.pt"_s);
        QCOMPARE(page(ui), u"filesPage"_s);
        QVERIFY(goes(ui, u"layers.0.attention.wq.weight[1, 2]"_s));
        QCOMPARE(selectedName(ui), u"layers.0.attention.wq.weight"_s);
        const Parameter& wq = ui.checkpoint()->params[index(now().param)];
        QVERIFY(now().element == wq.shape[1] + 2);
        QCOMPARE(page(ui), u"tensorPage"_s);
        QVERIFY(goes(ui, u"l0 wk[1,2]"_s)); // part of a name, too
        QCOMPARE(selectedName(ui), u"layers.0.attention.wk.weight"_s);
        QVERIFY(goes(ui, u"norm.weight#exp_avg[5]"_s));
        QVERIFY(now().element == 5U && now().state == "exp_avg");
        QVERIFY(goes(ui, u"dp2.tp0.pp0/subgroup0+3"_s));
        QVERIFY(now().rank == 2U && now().block && now().block->begin == 3);
        QCOMPARE(page(ui), u"mapPage"_s);
        QVERIFY(goes(ui, u"bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt+512"_s));
        QVERIFY(now().byte == 512U);
    }

    void offsetsCountInWhatIsSelected()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().selection().selectFile(ui.checkpoint()->templateOptim);
        QVERIFY(type(ui, Qt::Key_G, u"0x200"_s));
        QVERIFY2(rows(ui).join(u'|').contains(u"Byte 512 of the selected file"_s),
            qPrintable(rows(ui).join(u'|')));
        QTest::keyClick(field(ui), Qt::Key_Return);
        QVERIFY(ui.window().selection().current().byte == 512U);
        ui.window().selection().selectParam(*ui.checkpoint()->findParam("norm.weight"));
        QVERIFY(type(ui, Qt::Key_G, u"7"_s));
        QVERIFY(rows(ui).contains(u"Element 7 of the selected parameter"_s));
        QTest::keyClick(field(ui), Qt::Key_Return);
        QVERIFY(ui.window().selection().current().element == 7U);
    }

    void theHelpHasALineForEachKind()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(type(ui, Qt::Key_F, {}));
        const auto* note = ui.find<QLabel>("findNote");
        QTRY_VERIFY(note->isVisible());
        for (const QString& example : {u"rank 3"_s, u"name[5,7]"_s, u"has:nan"_s, u"&gt;"_s})
            QVERIFY2(note->text().contains(example), qPrintable(note->text()));
        QVERIFY(note->text().count(u"<tr>"_s) >= 5);
        QVERIFY(note->height() >= note->heightForWidth(note->width()));
    }

    void whatDoesNotExistSaysWhy()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        for (const QString& wrong : {u"no.such.parameter#fp32"_s, u"rank 4"_s, u"dp4"_s, u"layer 99"_s,
                 u"norm.weight[5, 7]"_s, u"dp0.tp0.pp0/group0+3"_s}) {
            QVERIFY(type(ui, Qt::Key_G, wrong));
            QVERIFY2(!ui.find<QLabel>("findNote")->isHidden(), qPrintable(wrong));
            QTest::keyClick(field(ui), Qt::Key_Return);
            QVERIFY2(isListed(ui) && ui.window().selection().current().isEmpty(), qPrintable(wrong));
            QTest::keyClick(field(ui), Qt::Key_Escape);
        }
        QVERIFY(type(ui, Qt::Key_G, u"dp0.tp0.pp0/group0+3"_s)); // which the header calls Group 0
        QVERIFY(ui.find<QLabel>("findNote")->text().contains(u"subgroup0"_s));
    }

    void commandsAreFoundAndRun()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(type(ui, Qt::Key_P, u"pmap"_s, Qt::ShiftModifier));
        QCOMPARE(rows(ui).mid(0, 2), (QStringList{u"Commands"_s, u"Partition Map"_s}));
        QVERIFY(ui.find<QListWidget>("findRows")->item(1)->toolTip().contains(u"Ctrl+2"_s));
        QTest::keyClick(field(ui), Qt::Key_Return);
        QCOMPARE(page(ui), u"mapPage"_s);
        QVERIFY(field(ui)->text().isEmpty());
        // The same without the prefix, next to everything else.
        QVERIFY(type(ui, Qt::Key_F, u"findings"_s));
        QVERIFY(rows(ui).contains(u"Findings"_s));
        QTest::keyClick(field(ui), Qt::Key_Escape);
        field(ui)->clear();
        // Disabled actions are not offered.
        ui.window().session().close();
        QVERIFY(type(ui, Qt::Key_P, u"reshard"_s, Qt::ShiftModifier));
        QVERIFY(!rows(ui).join(u'|').contains(u"Reshard"_s));
        QVERIFY(type(ui, Qt::Key_P, u"manual"_s, Qt::ShiftModifier)); // works without a checkpoint
        QVERIFY(rows(ui).contains(u"Manual"_s));
    }

    void enterBeforeTheAnswerCounts()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QTest::keyClick(&ui.window(), Qt::Key_P, Qt::ControlModifier);
        QTest::keyClicks(field(ui), u"norm.bias"_s);
        QTest::keyClick(field(ui), Qt::Key_Return);
        QTRY_VERIFY(selectedName(ui).endsWith(u"norm.bias"_s));
    }

    void arrowsChoose()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(type(ui, Qt::Key_P, u"weight"_s));
        auto* list = ui.find<QListWidget>("findRows");
        QTest::keyClick(field(ui), Qt::Key_Down);
        const QString second = list->currentItem()->text();
        QCOMPARE(second, rows(ui)[2]); // after the title
        QTest::keyClick(field(ui), Qt::Key_Return);
        QCOMPARE(selectedName(ui), second);
    }

    void shiftEnterFiltersEnterTakesItBack()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(u"parameters"_s);
        auto* parameters = ui.find<ParametersPage>("parametersPage");
        const int all = parameters->model()->rowCount();
        QVERIFY(type(ui, Qt::Key_F, u"bias"_s));
        const int some = parameters->model()->rowCount();
        QVERIFY(some > 0 && some < all);
        QVERIFY(ui.find<QToolButton>("findFilter")->text().contains(u"%1 of %2"_s.arg(some).arg(all)));
        QTest::keyClick(field(ui), Qt::Key_Return); // goes: the filter was only for finding
        QVERIFY(ui.settle());
        QCOMPARE(parameters->model()->rowCount(), all);
        QVERIFY(type(ui, Qt::Key_F, u"bias"_s));
        QTest::keyClick(field(ui), Qt::Key_Return, Qt::ShiftModifier);
        QVERIFY(ui.settle());
        QCOMPARE(parameters->model()->rowCount(), some);
        QVERIFY(!isListed(ui) && !field(ui)->hasFocus());
        QCOMPARE(parameters->findChild<FilterChips*>()->words(), QStringList{u"bias"_s});
        QVERIFY(parameters->findChild<QLabel*>(u"filterCount"_s)->text().contains(u"elements"_s));
        // A place does not disturb it, and Esc closes, then clears.
        QVERIFY(type(ui, Qt::Key_F, u"rank 2"_s));
        QCOMPARE(parameters->model()->rowCount(), some);
        QTest::keyClick(field(ui), Qt::Key_Escape);
        QVERIFY(!isListed(ui));
        QCOMPARE(field(ui)->text(), u"bias"_s);
        QTest::keyClick(field(ui), Qt::Key_Escape);
        QVERIFY(ui.settle());
        QCOMPARE(parameters->model()->rowCount(), all);
        // The line that filters, with the mouse.
        QVERIFY(type(ui, Qt::Key_F, u"layer:1"_s));
        QTest::mouseClick(ui.find<QToolButton>("findFilter"), Qt::LeftButton);
        QVERIFY(ui.settle() && !isListed(ui));
        QCOMPARE(field(ui)->text(), u"layer:1"_s);
    }

    void everyPageShowsItsTermsAndWhatIsWrong()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        const std::tuple<QString, QString, QString> pages[]
            = {{u"parameters"_s, u"parametersPage"_s, u"size>1"_s},
                {u"files"_s, u"filesPage"_s, u"role:optimizer"_s},
                {u"findings"_s, u"findingsPage"_s, u"severity:error"_s}};
        for (const auto& [name, object, term] : pages) {
            QVERIFY(ui.window().showPage(name));
            auto* shown = ui.find<QWidget>(qPrintable(object));
            field(ui)->setText(term % u" state"_s);
            QVERIFY(ui.settle());
            auto* chips = shown->findChild<FilterChips*>();
            QCOMPARE(chips->words(), (QStringList{term, u"state"_s}));
            QVERIFY(chips->isVisible());
            QVERIFY(shown->findChild<QLabel*>(u"filterCount"_s)->text().contains(u" of "_s));
            chips->findChildren<QPushButton*>(u"filterChip"_s).at(1)->click();
            QVERIFY(ui.settle());
            QCOMPARE(field(ui)->text(), term);
            field(ui)->setText(term % u" nonsense:1"_s);
            QVERIFY(ui.settle());
            auto* problem = shown->findChild<QLabel*>(u"filterProblem"_s);
            QVERIFY2(problem->isVisible() && problem->text().contains(u"nonsense:1"_s), qPrintable(name));
            const QRect wrong = field(ui)->problemRect();
            QVERIFY(!wrong.isEmpty() && wrong.left() > field(ui)->fontMetrics().horizontalAdvance(term));
            field(ui)->clear();
            QVERIFY(ui.settle());
            QVERIFY(!problem->isVisible() && !chips->isVisible());
        }
        // The map shows the filter of the parameters.
        QVERIFY(ui.window().showPage(u"map"_s));
        field(ui)->setText(u"layer:1"_s);
        QVERIFY(ui.settle());
        auto* chips = ui.find<QWidget>("mapPage")->findChild<FilterChips*>();
        QVERIFY(chips->isVisible());
        chips->findChild<QPushButton*>(u"filterChip"_s)->click();
        QVERIFY(field(ui)->text().isEmpty());
    }

    void filesAreFilteredByTheirTerms()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"files"_s));
        auto* model = ui.find<QTableView>("fileTable")->model();
        const int all = model->rowCount();
        field(ui)->setText(u"role:optimizer"_s);
        QCOMPARE(model->rowCount(), 4);
        field(ui)->setText(u"role:optimizer rank:1..2"_s);
        QCOMPARE(model->rowCount(), 2);
        field(ui)->setText(u"-optim"_s);
        QCOMPARE(model->rowCount(), all - 4);
        field(ui)->setText(u"status:missing"_s);
        QCOMPARE(model->rowCount(), 0);
    }

    void nanIsFoundByTheCheck()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero3-w4", ui.folder(u"nan"_s));
        QVERIFY(ui.open(copy));
        QVERIFY(plant(*ui.checkpoint(), "layers.1.attention.wv.weight", "exp_avg", kNaN));
        QVERIFY(ui.open(copy)); // small: the check reads every byte
        ui.window().showPage(u"parameters"_s);
        auto* parameters = ui.find<ParametersPage>("parametersPage");
        QVERIFY(type(ui, Qt::Key_F, u"has:nan"_s));
        QTRY_COMPARE(parameters->model()->rowCount(), 1);
        QTest::keyClick(field(ui), Qt::Key_Return); // it names no place
        QVERIFY(ui.settle());
        QCOMPARE(field(ui)->text(), u"has:nan"_s);
        QCOMPARE(ui.checkpoint()->params[index(parameters->model()->rowAt(0))].name,
            "layers.1.attention.wv.weight");
        QVERIFY(parameters->findChild<QLabel*>(u"filterWork"_s)->text().contains(u"all"_s));
        field(ui)->setText(u"has:nan state:exp_avg_sq"_s);
        QVERIFY(ui.settle());
        QCOMPARE(parameters->model()->rowCount(), 0);
        field(ui)->setText(u"has:finding"_s);
        QTRY_VERIFY(parameters->model()->rowCount() >= 1);
    }

    void missingElementsAreFound()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero2-w2", ui.folder(u"torn"_s));
        QVERIFY(QFile::remove(copy % u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        ui.window().showPage(u"parameters"_s);
        auto* parameters = ui.find<ParametersPage>("parametersPage");
        const int all = parameters->model()->rowCount();
        field(ui)->setText(u"has:missing"_s);
        QVERIFY(ui.settle());
        const int missing = parameters->model()->rowCount();
        QVERIFY(missing > 0 && missing < all);
        field(ui)->setText(u"has:missing rank:1"_s);
        QVERIFY(ui.settle());
        QCOMPARE(parameters->model()->rowCount(), missing);
    }

    void valuesAreReadOnDemandAndCancelled()
    {
        WindowFixture ui;
        const QString copy = copiedSample("zero3-w4", ui.folder(u"nan"_s));
        QVERIFY(ui.open(copy));
        QVERIFY(plant(*ui.checkpoint(), "layers.0.attention.wq.weight", "fp32", kNaN));
        QVERIFY(ui.open(copy));
        {
            OwnPage own(ui, io::realFileSystem());
            QVERIFY(own.show(ui.checkpoint()));
            own.page.setFilter(u"has:nan"_s);
            QTRY_COMPARE(own.page.model()->rowCount(), 1);
            QTRY_VERIFY2(own.work().startsWith(u"The values of all"_s), qPrintable(own.work()));
            QVERIFY(!own.action()->isVisible());
            own.page.setFilter({});
            QVERIFY(own.work().isEmpty());
        }
        test::WaitingFileSystem slow(std::chrono::milliseconds(30));
        OwnPage own(ui, slow);
        QVERIFY(own.show(ui.checkpoint()));
        own.page.setFilter(u"has:nan"_s);
        QVERIFY(own.findings.values().isRunning());
        QVERIFY2(own.work().startsWith(u"Reading values"_s), qPrintable(own.work()));
        QCOMPARE(own.action()->text(), u"Cancel"_s);
        QTest::mouseClick(own.action(), Qt::LeftButton);
        QTRY_VERIFY(!own.findings.values().isRunning());
        QVERIFY2(own.work().contains(u"nothing is known of the others"_s), qPrintable(own.work()));
        QCOMPARE(own.action()->text(), u"Read All"_s);
    }

    void theListFitsSmallWindows()
    {
        WindowFixture ui;
        ui.window().resize(900, 600);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(type(ui, Qt::Key_F, u"layer"_s));
        auto* panel = ui.find<FindPanel>("findPanel");
        QVERIFY(ui.window().rect().contains(panel->geometry()));
        QVERIFY(ui.find<QListWidget>("findRows")->currentRow() == 1);
        ui.window().resize(700, 480);
        QVERIFY(ui.window().rect().contains(panel->geometry()));
    }
};

SHARDSCOPE_UI_TEST(TestFind, WithDisplay)
#include "tst_find.moc"
