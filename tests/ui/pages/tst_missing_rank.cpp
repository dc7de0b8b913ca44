// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/detail_facts.h"
#include "ui/models/difference_list.h"
#include "ui/models/explorer_model.h"
#include "ui/models/model_roles.h"
#include "ui/models/parameters/parameter_table_model.h"
#include "ui/pages/change_set_panel.h"
#include "ui/pages/compare_maps.h"
#include "ui/text/text.h"
#include "ui/widgets/link_button.h"
#include "ui/widgets/message_bar.h"

#include <QAbstractButton>
#include <QFile>
#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// zero3-w4 without the optimizer file of rank 1: it has a quarter of each large parameter.
QString withoutRank(const WindowFixture& ui)
{
    const QString copy = copiedSample("zero3-w4", ui.folder(u"lost"_s));
    const QString file = u"/global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s;
    return QFile::remove(copy + file) ? copy : QString();
}

constexpr const char* kName = "layers.0.mlp.up.weight"; // its elements are a multiple of four

QModelIndex cell(const ParameterTableModel& model, ParamId param, ParamColumn column)
{
    return model.index(model.rowOf(param), static_cast<int>(column));
}

} // namespace

/// What the pages say of a checkpoint that lost a rank's optimizer file.
class TestMissingRank : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theTableOfParameters()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withoutRank(ui)));
        const CheckpointPtr lost = ui.checkpoint();
        const ParamId param = *lost->findParam(kName);
        const uint64_t all = lost->params[index(param)].elements * 3 * 4; // three states of four bytes
        ParameterTableModel model;
        model.setIndex(ParameterIndex::build(lost, {}));
        model.setRows({param});
        QCOMPARE(cell(model, param, ParamColumn::Bytes).data().toString(), bytesText(all / 4 * 3));
        QVERIFY(cell(model, param, ParamColumn::Bytes)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(exactBytesText(all / 4) + u" more is missing"_s));
        QCOMPARE(cell(model, param, ParamColumn::Name).data(SeverityRole).toInt(), 2);
        QCOMPARE(cell(model, param, ParamColumn::Where).data(WhereRole).toList(),
            (QVariantList{QPointF(0, 1), QPointF(0.25, 0.5)}));
    }

    void everythingIsThereOtherwise()
    {
        WindowFixture ui;
        for (const char* sample :
            {"zero3-w4", "zero2-w2", "experts-w4", "slices-w4", "pipeline-w4", "muon-w3", "roundrobin-w3",
                "stage0-fp16", "zenflow-w2", "elastic-w3", "zero3-universal-w3/global_step3_universal"}) {
            QVERIFY2(ui.open(samplePath(sample)), sample);
            const ParameterIndexPtr index = ParameterIndex::build(ui.checkpoint(), {});
            for (uint32_t i = 0; i < index->size(); ++i)
                QVERIFY2(index->facts(ParamId{i}).lostBytes == 0,
                    (sample + (": " + ui.checkpoint()->params[i].name)).c_str());
            QVERIFY2(ui.find<LinkButton>("missingBytes") == nullptr, sample);
        }
    }

    void modulesAndGroups()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ExplorerModel sound;
        sound.setTree(ui.checkpoint(), ExplorerTree::build(ui.checkpoint(), {}));
        QVERIFY(ui.open(withoutRank(ui)));
        const CheckpointPtr lost = ui.checkpoint();
        ExplorerModel model;
        model.setTree(lost, ExplorerTree::build(lost, {}));
        const uint32_t param = index(*lost->findParam(kName));
        for (const auto& [kind, id] :
            {std::pair(ExplorerKind::Param, param), std::pair(ExplorerKind::Group, 0U)}) {
            const QModelIndex at = model.indexOf(kind, id);
            const uint64_t all = sound.nodeAt(sound.indexOf(kind, id))->bytes;
            QVERIFY(at.isValid() && all > 0);
            QCOMPARE(model.nodeAt(at)->bytes, all / 4 * 3);
            QCOMPARE(at.data(SeverityRole).toInt(), 2);
            QVERIFY(at.data(Qt::ToolTipRole).toString().contains(u"of it is missing"_s));
            QCOMPARE(at.parent().data(SeverityRole).toInt(), 2);
        }
    }

    void theOverview()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withoutRank(ui)));
        const auto* missing = ui.find<LinkButton>("missingBytes");
        QVERIFY(missing != nullptr && missing->text().endsWith(u" more is missing."_s));
    }

    void theDetailsOfAParameter()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withoutRank(ui)));
        const CheckpointPtr lost = ui.checkpoint();
        SelectedThing thing;
        thing.param = *lost->findParam(kName);
        const FindingPlaces found(lost, std::make_shared<const std::vector<Finding>>(lost->findings));
        QStringList facts;
        for (const DetailSection& section : detailsOf(*lost, thing, &found).sections)
            for (const auto& fact : section.facts)
                facts.append(section.title % u'/' % fact.name % u'/' % fact.value);
        const uint64_t all = lost->params[index(thing.param)].elements * 3 * 4;
        QVERIFY2(facts.contains(u"States/Missing/"_s + bytesText(all / 4)), qPrintable(facts.join(u'\n')));
        QVERIFY2(facts.contains(u"Findings here/Error/The file of rank 1 is missing"_s),
            qPrintable(facts.join(u'\n')));
    }

    void anExportLeadsToTheRepair()
    {
        WindowFixture ui;
        QVERIFY(ui.open(withoutRank(ui)));
        ExportDialog* dialog = ui.window().showExportDialog();
        QVERIFY(dialog != nullptr);
        QSignalSpy shown(dialog, &PlanDialog::previewShown);
        QVERIFY(shown.wait(30'000));
        QVERIFY(!dialog->preview().plan);
        QStringList buttons;
        QAbstractButton* repair = nullptr;
        for (QAbstractButton* button : dialog->findChild<MessageBar*>()->findChildren<QAbstractButton*>()) {
            buttons.append(button->text());
            if (button->text() == u"&Repair…"_s)
                repair = button;
        }
        QVERIFY2(repair != nullptr && buttons.contains(u"&Add Folder…"_s), qPrintable(buttons.join(u' ')));
        QTest::mouseClick(repair, Qt::LeftButton);
        QVERIFY(ui.settle());
        QVERIFY(ui.find<ChangeSetPanel>("changeSet")->isVisible());
    }

    void aComparison()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().compareWith(withoutRank(ui), true);
        QVERIFY(ui.settle());
        const QString causes = ui.find<QLabel>("compareCauses")->text();
        QVERIFY2(causes.contains(u"right checkpoint is not complete: states of "_s)
                && !causes.contains(u"only left"_s) && !causes.contains(u"right: "_s),
            qPrintable(causes));
        const auto* model = ui.find<QTableView>("differenceTable")->model();
        QVERIFY(model->rowCount() > 0);
        for (int row = 0; row < model->rowCount(); ++row) {
            const auto text = [&](DifferenceColumn column) {
                return model->index(row, static_cast<int>(column)).data().toString();
            };
            QCOMPARE(text(DifferenceColumn::Kind), u"right incomplete"_s);
            QVERIFY(text(DifferenceColumn::Different).endsWith(u" not compared"_s));
            QVERIFY(!text(DifferenceColumn::State).isEmpty());
        }
        // The legend explains both maps.
        const QString legend = ui.find<QWidget>("compareLegend")->accessibleDescription();
        QVERIFY2(legend.contains(u"missing (○)"_s) && legend.contains(u"not compared"_s), qPrintable(legend));
        // Nothing of it is marked as equal.
        const auto marks = ui.find<CompareMaps>("compareMaps")->left()->canvas()->mapStyle().differences;
        const auto* ofState = marks->ofState("exp_avg");
        QVERIFY(ofState != nullptr);
        QCOMPARE((*ofState)[index(*ui.checkpoint()->findParam("layers.0.attention.wq.weight"))],
            DifferenceMark::NotCompared);
    }
};

SHARDSCOPE_UI_TEST(TestMissingRank, WithDisplay)
#include "tst_missing_rank.moc"
