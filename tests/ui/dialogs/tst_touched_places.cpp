// SPDX-License-Identifier: Apache-2.0
// All views mark the same places of a finding.
#include "tests/ui/dialogs/nan_sample.h"
#include "ui/models/file_table_model.h"
#include "ui/models/fragment_table_model.h"
#include "ui/models/model_roles.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/finding_details.h"
#include "ui/pages/parameters_page.h"

#include <QAbstractButton>
#include <QFile>
#include <QLabel>
#include <QScrollArea>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// The finding of NaN; null if there is none.
const DoctorFinding* nanIn(WindowFixture& ui)
{
    auto* model = ui.find<FindingsPage>("findingsPage")->model();
    const auto found = model->findingsAt(model->find({"non-finite", Severity::Error, {}, {}}));
    return found.empty() ? nullptr : found.front();
}

QString detailsText(WindowFixture& ui)
{
    QStringList texts;
    for (const QLabel* label : ui.find<DetailsPanel>("detailsPanel")->findChildren<QLabel*>())
        texts.append(label->text());
    return texts.join(u'\n');
}

} // namespace

class TestTouchedPlaces : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void nanIsMarkedWhereverItIs()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withNan(ui)));
        checkEveryByte(ui);
        const DoctorFinding* found = nanIn(ui);
        QVERIFY(found != nullptr);
        const QString says = u"are not finite"_s;
        const CheckpointPtr checkpoint = ui.checkpoint();
        const ParamId param = *checkpoint->findParam(found->finding.where.param()->name);
        const FileId file = checkpoint->optimFiles[1];

        const ParameterTableModel* params = ui.find<ParametersPage>("parametersPage")->model();
        const QModelIndex row = params->index(params->rowOf(param), static_cast<int>(ParamColumn::Name));
        QCOMPARE(row.data(SeverityRole).toInt(), 2);
        QVERIFY(row.data(Qt::ToolTipRole).toString().contains(u" more"_s)); // with those of its record

        const auto* files = ui.window().findChild<FileTableModel*>();
        QCOMPARE(files->index(files->rowOf(file), FileTableModel::Name).data(SeverityRole).toInt(), 2);
        QVERIFY(files->index(files->rowOf(checkpoint->optimFiles[0]), FileTableModel::Name)
                    .data(SeverityRole)
                    .toInt()
            < 1);

        const ExplorerModel* tree = ui.find<ExplorerPanel>("explorerPanel")->model();
        const auto group = static_cast<uint32_t>(checkpoint->params[index(param)].group);
        for (const auto& [kind, id] :
            {std::pair(ExplorerKind::Param, index(param)), std::pair(ExplorerKind::Rank, 1U),
                std::pair(ExplorerKind::File, index(file)), std::pair(ExplorerKind::Group, group)}) {
            const QModelIndex at = tree->indexOf(kind, id);
            QCOMPARE(at.data(SeverityRole).toInt(), 2);
            QVERIFY2(at.data(Qt::ToolTipRole).toString().contains(says)
                    || at.data(Qt::ToolTipRole).toString().contains(u"more"_s),
                qPrintable(at.data(Qt::ToolTipRole).toString()));
            QCOMPARE(at.parent().data(SeverityRole).toInt(), 2);
        }
        QVERIFY(tree->indexOf(ExplorerKind::Rank, 0).data(SeverityRole).toInt() < 1);

        for (const auto& [rank, isHere] : {std::pair(1U, true), std::pair(0U, false)}) {
            ui.window().selection().selectRank(rank);
            QVERIFY(ui.settle());
            QCOMPARE(detailsText(ui).contains(u"Findings here"_s), isHere);
            QCOMPARE(detailsText(ui).contains(says), isHere);
        }
        SelectedThing unit;
        unit.unit = checkpoint->params[index(param)].unit;
        ui.window().selection().select(unit);
        QVERIFY(ui.settle());
        QVERIFY(detailsText(ui).contains(says));
    }

    /// They have no elements of their own, and lose those of the parameter that they are tied to.
    void tiedNamesAreMarkedWithTheirParameter()
    {
        WindowFixture ui;
        const QString run = copiedSample("zero3-w4", ui.folder(u"lost"_s));
        QVERIFY(QFile::remove(run + u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(run));
        QVERIFY(ui.settle());
        const std::vector<Parameter>& params = ui.checkpoint()->params;
        const ExplorerModel* tree = ui.find<ExplorerPanel>("explorerPanel")->model();
        size_t tied = 0;
        for (uint32_t i = 0; i < params.size(); ++i) {
            if (params[i].sharedWith == kNoParam)
                continue;
            ++tied;
            for (const uint32_t each : {i, index(params[i].sharedWith)})
                QTRY_COMPARE(tree->indexOf(ExplorerKind::Param, each).data(SeverityRole).toInt(), 2);
        }
        QVERIFY(tied > 0);
    }

    /// Each place once, however many lines of it there are.
    void linesAboveCountAFindingOnce()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withNan(ui)));
        const CheckpointPtr checkpoint = ui.checkpoint();
        const auto tree = ExplorerTree::build(checkpoint, {});
        std::vector<Place> parts;
        for (const uint32_t i : {0U, 1U, 2U})
            parts.emplace_back(ParamAddress{checkpoint->params[i].name, "fp32"});
        const Finding both{"non-finite", Severity::Error, "three", parts.front(), {}, {}, parts};
        const auto marks = ExplorerMarks::build(
            std::make_shared<const FindingPlaces>(
                checkpoint, std::make_shared<const std::vector<Finding>>(std::vector<Finding>{both})),
            *tree, {});
        const uint32_t modules = tree->nodes()[tree->find(ExplorerKind::Param, 0)].parent;
        uint32_t section = modules;
        while (tree->nodes()[section].parent != 0)
            section = tree->nodes()[section].parent;
        QCOMPARE(marks->of(section)->below, 1U);
        for (const uint32_t i : {0U, 1U, 2U})
            QCOMPARE(marks->of(tree->find(ExplorerKind::Param, i))->here, 1U);
    }

    void everyParameterOfAFindingIsALink()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        const CheckpointPtr checkpoint = ui.checkpoint();
        const std::string first = checkpoint->params[0].name;
        const std::string second = checkpoint->params[1].name;
        const std::string third = checkpoint->params[2].name;
        const Place where = ParamAddress{first, "fp32"};
        const DoctorFinding made{
            {"model-changed", Severity::Error, "not in the model", where, {first, second}, {},
                {where, ParamAddress{second, "fp32"}, ParamAddress{third, "fp32"}}},
            &diagnosisOf("model-changed"), {}, CheckDepth::Metadata};
        FindingDetails details(ui.theme());
        details.show({&made}, checkpoint);
        const QString text = details.findChild<QTextBrowser*>()->toPlainText();
        QCOMPARE(text.count(u"→"_s), 3);
        for (const std::string& name : {first, second, third})
            QCOMPARE(text.count(QString::fromStdString(name)), 1);
    }

    void theFilterHasWhatDetailsSay()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withNan(ui)));
        checkEveryByte(ui);
        const DoctorFinding* found = nanIn(ui);
        QVERIFY(found != nullptr);
        const ParamId param = *ui.checkpoint()->findParam(found->finding.where.param()->name);
        auto* page = ui.find<ParametersPage>("parametersPage");
        page->setFilter(u"has:finding"_s);
        QVERIFY(ui.settle());
        QVERIFY(page->model()->rowOf(param) >= 0);
        for (int row = 0; row < page->model()->rowCount(); ++row) {
            ui.window().selection().selectParam(page->model()->rowAt(row));
            QVERIFY(ui.settle());
            QVERIFY(detailsText(ui).contains(u"Findings here"_s));
        }
    }

    /// In a window of a small screen, with the fragments below.
    void findingsAreSeenWithoutScrolling()
    {
        WindowFixture ui;
        ui.window().resize(1366, 768);
        const QString lost = copiedSample("zero3-w4", ui.folder(u"lost"_s));
        QVERIFY(QFile::remove(lost + u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(lost));
        ui.window().selection().selectParam(*ui.checkpoint()->findParam("layers.0.mlp.up.weight"));
        QVERIFY(ui.settle());
        const auto* scroll = ui.find<QScrollArea>("detailsScroll");
        const QLabel* title = nullptr;
        for (const QLabel* label : scroll->findChildren<QLabel*>()) {
            if (label->text() == u"The file of rank 1 is missing"_s)
                title = label;
        }
        QVERIFY(title != nullptr);
        const QRect shown(title->mapTo(scroll->viewport(), QPoint(0, 0)), title->size());
        QVERIFY(scroll->viewport()->rect().contains(shown));

        // The fragment of the lost rank says so, whatever the width.
        const auto* table = ui.find<QTableView>("fragmentTable");
        QVERIFY(table->isVisible());
        int missing = 0;
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QModelIndex rank = table->model()->index(row, 0);
            const bool isLost = rank.data().toString().contains(u"missing"_s);
            QCOMPARE(rank.data(SeverityRole).toInt(), isLost ? 2 : -1);
            missing += isLost ? 1 : 0;
        }
        QCOMPARE(missing, 1);
        QVERIFY(!table->isColumnHidden(0));
    }
};

SHARDSCOPE_UI_TEST(TestTouchedPlaces, WithDisplay)
#include "tst_touched_places.moc"
