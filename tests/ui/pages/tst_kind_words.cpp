// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/diagnosis.h"
#include "core/layout/model_dtype.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/detail_facts.h"
#include "ui/models/explorer_model.h"
#include "ui/models/file_table_model.h"
#include "ui/models/parameters/parameter_filter.h"
#include "ui/models/parameters/parameter_table_model.h"
#include "ui/session/findings/check_text.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/window_words.h"
#include "ui/widgets/card.h"
#include "ui/widgets/link_button.h"
#include "ui/widgets/message_bar.h"

#include <QLabel>
#include <QListWidget>
#include <QRegularExpression>
#include <QTest>

#include <filesystem>
#include <map>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

QString dataPath(const char* name)
{
    return QString::fromStdString(sourceFolder() + "/tests/data/") + QString::fromLatin1(name);
}

/// All visible texts of a widget, line by line.
QString textOf(const QWidget* widget)
{
    QStringList out;
    for (const QLabel* label : widget->findChildren<QLabel*>())
        out.append(label->isVisible() ? label->text() : QString());
    for (const LinkButton* link : widget->findChildren<LinkButton*>())
        out.append(link->isVisible() ? link->text() : QString());
    return out.join(u'\n');
}

QString cellText(const ParameterTableModel& model, ParamId param, ParamColumn column)
{
    return model.index(model.rowOf(param), static_cast<int>(column)).data().toString();
}

} // namespace

/// What pages call the things of checkpoints of unusual kinds.
class TestKindWords : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    /// No file is a rank's alone, but what it has of the tensors is known.
    void aRankOfADistributedCheckpoint()
    {
        WindowFixture ui;
        QVERIFY(ui.open(dataPath("dcp/root")));
        for (const auto& [rank, bytes] : {std::pair(0U, 860U), std::pair(2U, 380U)}) {
            SelectedThing thing;
            thing.rank = rank;
            QStringList facts;
            for (const DetailSection& section : detailsOf(*ui.checkpoint(), thing).sections) {
                for (const DetailFact& fact : section.facts)
                    facts.append(section.title % u'/' % fact.name % u'/' % fact.value);
            }
            const QString all = facts.join(u'\n');
            QVERIFY2(facts.contains(u"Files/Metadata/.metadata"_s), qPrintable(all));
            QVERIFY2(facts.contains(u"Tensors/weight/%1"_s.arg(exactBytesText(bytes))), qPrintable(all));
            QVERIFY2(facts.contains(u"In the files/%1/__%2_0.distcp"_s.arg(bytesText(bytes)).arg(rank)),
                qPrintable(all));
        }
    }

    void distributedWeights()
    {
        WindowFixture ui;
        QVERIFY(ui.open(dataPath("dcp/root")));
        const CheckpointPtr dcp = ui.checkpoint();
        const QString parameters = textOf(ui.find<QWidget>("parametersCard"));
        QVERIFY2(
            parameters.contains(u"Weights"_s) && !parameters.contains(u"rozen"_s), qPrintable(parameters));
        QVERIFY2(textOf(ui.find<QWidget>("statesCard")).contains(u"There is no padding."_s),
            qPrintable(textOf(ui.find<QWidget>("statesCard"))));
        FileTableModel files;
        files.setCheckpoint(dcp);
        QStringList roles;
        for (int row = 0; row < files.rowCount(); ++row)
            roles.append(files.index(row, FileTableModel::Role).data().toString());
        QCOMPARE(roles, (QStringList{u"Metadata"_s, u"Tensors"_s, u"Tensors"_s, u"Tensors"_s}));
        files.setFilter(u"role:tensors"_s);
        QCOMPARE(files.rowCount(), 3);
        ParameterTableModel table;
        table.setIndex(ParameterIndex::build(dcp, {}));
        table.setRows({ParamId{0}});
        QCOMPARE(cellText(table, ParamId{0}, ParamColumn::Role), u"weight"_s);
        constexpr int kRole = static_cast<int>(ParamColumn::Role);
        QCOMPARE(table.headerData(kRole, Qt::Horizontal, Qt::DisplayRole).toString(),
            u"Role"_s); // as the command line
        QStringList names; // in the details; "Kind" is what the map colours by
        SelectedThing first;
        first.param = ParamId{0};
        const Details details = detailsOf(*dcp, first, nullptr);
        for (const DetailFact& fact : details.sections.front().facts)
            names.append(fact.name);
        QVERIFY(names.contains(u"Role"_s) && names.contains(u"Kind"_s) && !names.contains(u"Class"_s));
        QCOMPARE(cellText(table, ParamId{0}, ParamColumn::Padding), u"–"_s);
        QVERIFY(ui.window().showPage(u"map"_s));
        QVERIFY(ui.settle());
        const MapSource& section = ui.find<LayoutMapView>("layoutMap")->canvas()->stack()->source(0);
        QCOMPARE(section.ranks(), 3U);
        for (uint32_t row = 0; row < 3; ++row)
            QCOMPARE(MapText::rowName(section, row), u"dp %1"_s.arg(row));
        QCOMPARE(section.total().padding, uint64_t{0});
        QVERIFY(!section.hasPadding(2));
        QCOMPARE(heldUnitText(*dcp, section.unit()), u"tensor split by rows"_s);
        const MapCell last = section.cellAt(2, 20);
        QCOMPARE(last.kind, CellKind::Param);
        QVERIFY(!last.frozen);
        const MapSource::Point outside{2, last.end, 0};
        QCOMPARE(section.cellAt(2, last.end).kind, CellKind::Outside);
        QVERIFY(!MapText::tooltip(section, outside).contains(u"padding"_s));
        QVERIFY(!section.query().looks().sections.front().hasFrozen);
        const QString legend = ui.find<LayoutMapView>("layoutMap")
                                   ->findChild<QWidget*>(u"mapLegend"_s)
                                   ->accessibleDescription();
        QVERIFY2(legend.contains(u"attention"_s) && !legend.contains(u"frozen"_s)
                && !legend.contains(u"padding"_s),
            qPrintable(legend));
        // Steps along a row skip what is outside.
        const auto next = neighbour(section, {2, 0, 0}, MapStep::Forward);
        QVERIFY(next.has_value());
        QCOMPARE(section.cellAt(next->row, next->element).kind, CellKind::Param);
    }

    void nothingOfADistributedCheckpointIsKnownToBeFrozen()
    {
        WindowFixture ui;
        QVERIFY(ui.open(dataPath("dcp/root")));
        const auto index = ParameterIndex::build(ui.checkpoint(), {});
        const auto rows = [&](const QString& filter) {
            return queryRows(*index, ParameterFilter::parse(filter), ParamColumn::Name, false, {})
                .rows.size();
        };
        QCOMPARE(rows(u"frozen:yes"_s), size_t{0});
        QCOMPARE(rows(u"frozen:no"_s), size_t{0});
        QCOMPARE(rows(u"-frozen:yes"_s), size_t{19});
    }

    void theDtypeIsThatOfTheModel_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("dtype");
        QTest::newRow("ZeRO-2") << u"zero2-w2"_s << u"bfloat16"_s;
        QTest::newRow("ZeRO-3") << u"zero3-w4"_s << u"bfloat16"_s;
        QTest::newRow("universal") << u"zero3-universal-w3/global_step3_universal"_s << u"bfloat16"_s;
        QTest::newRow("fp16") << u"stage0-fp16"_s << u"float16"_s;
        QTest::newRow("fp32") << u"stage0-fp32"_s << u"float32"_s;
    }

    void theDtypeIsThatOfTheModel()
    {
        QFETCH(QString, sample);
        QFETCH(QString, dtype);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath(sample.toLatin1().constData())));
        ParameterTableModel model;
        model.setIndex(ParameterIndex::build(ui.checkpoint(), {}));
        const auto& params = ui.checkpoint()->params;
        for (uint32_t i = 0; i < params.size(); ++i) {
            model.setRows({ParamId{i}});
            if (params[i].role == ParamRole::Trainable)
                QCOMPARE(cellText(model, ParamId{i}, ParamColumn::DType), dtype);
            QCOMPARE(cellText(model, ParamId{i}, ParamColumn::DType),
                toText(dtypeName(modelDtype(*ui.checkpoint(), ParamId{i}))));
        }
    }

    void ranksHaveTheFilesThatTheFilesPageGivesThem_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* name : {"zero2-w2", "zero3-w4", "experts-w4", "pipeline-w4", "slices-w4",
                 "zero3-universal-w3/global_step3_universal", "zero2-universal-w2/global_step5_universal",
                 "stage0-fp32"})
            QTest::newRow(name) << samplePath(name);
        QTest::newRow("distributed") << dataPath("dcp/root");
    }

    void ranksHaveTheFilesThatTheFilesPageGivesThem()
    {
        QFETCH(QString, sample);
        WindowFixture ui;
        QVERIFY(ui.open(sample));
        const Checkpoint& checkpoint = *ui.checkpoint();
        std::map<uint32_t, uint64_t> bytes;
        uint64_t ofNoRank = 0;
        for (const CheckpointFile& file : checkpoint.files)
            (rankOfFile(checkpoint, file) ? bytes[rankNumber(checkpoint, *file.rank)] : ofNoRank)
                += file.identity.bytes;
        ExplorerModel model;
        model.setTree(ui.checkpoint(), ExplorerTree::build(ui.checkpoint(), {}));
        const QModelIndex ranks = model.index(1, 0);
        QCOMPARE(model.rowCount(ranks), static_cast<int>(bytes.size()) + (ofNoRank > 0 ? 1 : 0));
        QCOMPARE(model.nodeAt(ranks)->bytes, countFiles(checkpoint).bytes);
        QCOMPARE(model.nodeAt(model.index(2, 0))->bytes, countFiles(checkpoint).bytes);
        if (ofNoRank > 0) {
            const QModelIndex last = model.index(model.rowCount(ranks) - 1, 0, ranks);
            QCOMPARE(last.data().toString(), u"of no rank"_s);
            QCOMPARE(model.nodeAt(last)->bytes, ofNoRank);
        }
        for (const auto& [rank, size] : bytes)
            QCOMPARE(model.nodeAt(model.indexOf(ExplorerKind::Rank, rank))->bytes, size);
    }

    void universalTagsHaveNoRanks()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-universal-w3")));
        const auto* tags = ui.find<QListWidget>("tagList");
        QTRY_COMPARE(tags->count(), 2);
        QStringList lines;
        for (int row = 0; row < tags->count(); ++row)
            lines.append(tags->item(row)->text().split(u'\n').value(1));
        QVERIFY2(lines.filter(u"universal checkpoint"_s).size() == 1, qPrintable(lines.join(u'\n')));
        QVERIFY(!lines.filter(u"universal checkpoint"_s).first().contains(u"rank"_s));
        QVERIFY(lines.filter(u"3 ranks"_s).size() == 1);
        // Tensors that are stored whole are on no rank.
        QVERIFY(ui.open(samplePath("zero3-universal-w3/global_step3_universal")));
        ParameterTableModel model;
        model.setIndex(ParameterIndex::build(ui.checkpoint(), {}));
        const ParamId param = *ui.checkpoint()->findParam("norm.weight");
        model.setRows({param});
        QCOMPARE(cellText(model, param, ParamColumn::Ranks), u"–"_s);
        for (const FlatUnit& unit : ui.checkpoint()->units)
            QCOMPARE(rowOfRank(*ui.checkpoint(), unit, 0).has_value(), unit.kind == UnitKind::Frozen);
        QVERIFY(ui.open(samplePath("zero2-universal-w2/global_step5_universal")));
        QCOMPARE(rankCount(*ui.checkpoint()), 0u);
        for (const CheckpointFile& file : ui.checkpoint()->files)
            QVERIFY(!rankOfFile(*ui.checkpoint(), file));
    }

    void weightsWithoutAnOptimizer()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("ds0184-stage0-bf16")));
        QCOMPARE(titleText(*ui.checkpoint()), u"no ZeRO · weights only · 2 ranks · bf16"_s);
        QVERIFY(ui.open(samplePath("stage0-fp32")));
        QVERIFY(titleText(*ui.checkpoint()).startsWith(u"plain torch optimizer"_s));
    }

    void whatIsNotSupportedIsNotSound()
    {
        WindowFixture ui;
        QVERIFY(ui.open(dataPath("tied_stages/run")));
        const auto* count = ui.find<LinkButton>("findingsCount");
        QVERIFY(count != nullptr);
        QVERIFY2(count->text().startsWith(u"Not supported"_s), qPrintable(count->text()));
        // Its reason is in the message bar and in the finding; other places only say that it is not
        // supported.
        const QString why = toText(ui.checkpoint()->whyNot).left(30);
        for (const char* card : {"identityCard", "nextCard"}) {
            const QString text = textOf(ui.find<QWidget>(card));
            QVERIFY2(text.contains(u"not supported"_s) && !text.contains(why, Qt::CaseInsensitive),
                qPrintable(text));
        }
    }

    void sentencesHaveTheWindowsWords()
    {
        for (const Diagnosis* diagnosis : diagnoses()) {
            const Meaning& means = diagnosis->means;
            for (const std::string_view sentence :
                {diagnosis->remedy, diagnosis->noRemedy, means.loading, means.resuming, means.exporting}) {
                QString text = sentenceText(sentence);
                // An option of DeepSpeed's program, and what prints a list that the window does not have.
                text.remove(u"--inject_missing_state"_s).remove(u"shardscope --version --json"_s);
                QVERIFY2(!text.contains(u"--"_s) && !text.contains(u"shardscope "_s), qPrintable(text));
            }
        }
        const Error error{ErrorCode::Refused, "the lost masters cannot be restored", {},
            "name another checkpoint of the run with --from"};
        QCOMPARE(errorText(error),
            u"The lost masters cannot be restored\nChoose another checkpoint of the run as the donor"_s);
    }

    void buffersAreNoParameters()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        ui.window().compareWith(samplePath("zero2-w2"), true);
        QVERIFY(ui.settle());
        const QString facts = ui.find<QLabel>("compareFacts")->text();
        QVERIFY2(facts.startsWith(u"Compared: 22 parameters · 3 buffers · "_s), qPrintable(facts));
    }

    /// A sentence of core that is changed must not fall back to the words of the command line.
    void coreStillSaysWhatTheWindowReplaces()
    {
        std::string sources;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(sourceFolder() + "/core")) {
            const auto ending = entry.path().extension();
            if (ending == ".cpp" || ending == ".h")
                sources += test::slurp(entry.path());
        }
        static const QRegularExpression joint(u"\"\\s*\n\\s*\""_s); // of a literal on several lines
        const QString text = QString::fromStdString(sources).remove(joint);
        for (const auto& [command, window] : windowFragments()) {
            QString said = QString::fromUtf8(command.data(), static_cast<qsizetype>(command.size()));
            if (said.startsWith(u'`')) // the word in front is a Hint::verb()
                said = said.section(u'`', 2);
            QVERIFY2(text.contains(said), qPrintable(said));
        }
        for (const auto& [command, window] : windowCommands()) {
            QString words = QString::fromUtf8(command.data(), static_cast<qsizetype>(command.size()));
            words.remove(u'`');
            const bool isVerb = !words.startsWith(u"shardscope "_s);
            const QString hint = isVerb ? u"Hint::verb(\""_s : u"Hint::command(\""_s;
            QVERIFY2(text.contains(hint % words.remove(u"shardscope "_s) % u"\")"_s), qPrintable(words));
        }
        for (const auto& [option, field] : windowOptions())
            QVERIFY2(text.contains(toText(option)), qPrintable(toText(option)));
    }

    void optionsAreTheFieldsOfTheWindow()
    {
        QCOMPARE(sentenceText("omit --pp, or give 1"), u"Omit “Parallel ranks”, pp, or give 1"_s);
        QCOMPARE(sentenceText("omit --tp"), u"Omit “Parallel ranks”, tp"_s);
        QCOMPARE(sentenceText("omit --pp-tied, or give the layers of the stages with --pp-layers"),
            u"Omit “Tied layers”, or give the layers of the stages with “Layers of stages”"_s);
        QCOMPARE(sentenceText("`shardscope params` lists their names"),
            u"The page Parameters lists their names"_s);
        QCOMPARE(sentenceText("name a tag, such as `--tag global_step6`"),
            u"Name a tag, such as the tag global_step6"_s);
        QCOMPARE(sentenceText("Stock ds_to_universal needs --inject_missing_state."),
            u"Stock ds_to_universal needs --inject_missing_state."_s);
        QCOMPARE(sentenceText("the folder gpt--tag-x is empty"), u"The folder gpt--tag-x is empty"_s);
    }
};

SHARDSCOPE_UI_TEST(TestKindWords, WithDisplay)
#include "tst_kind_words.moc"
