// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/layout/map_query.h"
#include "tests/support/places.h"
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "ui/models/explorer_model.h"
#include "ui/models/file_table_model.h"
#include "ui/models/fragment_table_model.h"
#include "ui/models/parameters/parameter_table_model.h"
#include "ui/models/record_table_model.h"
#include "ui/models/selection_history.h"
#include "ui/models/whole_groups.h"
#include "ui/session/findings/finding_groups.h"
#include "ui/session/session.h"
#include "ui/text/text.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

#include <algorithm>
#include <tuple>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

CheckpointPtr makeCheckpoint(int stage = 3, uint32_t params = 200)
{
    test::SyntheticOptions options;
    options.stage = stage;
    options.params = params;
    return test::makeSyntheticCheckpoint(options);
}

ParameterIndexPtr makeIndex(const CheckpointPtr& checkpoint)
{
    return ParameterIndex::build(checkpoint, {});
}

std::vector<ParamId> rowsFor(const ParameterIndexPtr& index, const QString& filter,
    ParamColumn column = ParamColumn::Name, bool descending = false)
{
    return queryRows(*index, ParameterFilter::parse(filter), column, descending, {}).rows;
}

/// The expected names, filtered by a plain loop.
template <class Keep>
size_t countWhere(const CheckpointPtr& checkpoint, Keep keep)
{
    return static_cast<size_t>(std::count_if(checkpoint->params.begin(), checkpoint->params.end(), keep));
}

} // namespace

class TestModels : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void parameterTable()
    {
        const CheckpointPtr checkpoint = makeCheckpoint();
        const ParameterIndexPtr index = makeIndex(checkpoint);
        ParameterTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        model.setIndex(index);
        model.setRows(rowsFor(index, {}));
        QCOMPARE(model.rowCount(), static_cast<int>(checkpoint->params.size()));
        model.setRows(rowsFor(index, u"mlp"_s));
        QVERIFY(model.rowCount() > 0);
        const ParamId first = model.rowAt(0);
        QCOMPARE(model.rowOf(first), 0);
        QCOMPARE(
            model.index(0, 0).data().toString(), toText(checkpoint->params[shardscope::index(first)].name));
        QCOMPARE(model.index(0, static_cast<int>(ParamColumn::Elements)).data(CopyRole).toULongLong(),
            checkpoint->params[shardscope::index(first)].elements);
        model.setIndex(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void explorer()
    {
        const CheckpointPtr checkpoint = makeCheckpoint();
        ExplorerModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setTree(checkpoint, ExplorerTree::build(checkpoint, {}));
        QCOMPARE(model.rowCount(), 4);
        // Every parameter is in the tree under its own full name, and sums add up to the section's.
        uint64_t bytes = 0;
        for (size_t i = 0; i < checkpoint->params.size(); ++i) {
            const QModelIndex at = model.indexOf(ExplorerKind::Param, static_cast<uint32_t>(i));
            QVERIFY(at.isValid());
            QCOMPARE(model.fullName(at), toText(checkpoint->params[i].name));
            bytes += model.nodeAt(at)->bytes;
        }
        QCOMPARE(model.nodeAt(model.index(0, 0))->bytes, bytes);
        QCOMPARE(model.rowCount(model.index(1, 0)), static_cast<int>(checkpoint->parallel.dp));
        QCOMPARE(model.rowCount(model.index(2, 0)), static_cast<int>(checkpoint->files.size()));
        model.setTree(nullptr, nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void explorerWithHostileNames()
    {
        test::SyntheticOptions options;
        options.shapes
            = {{std::string(100'000, '.'), {2}}, {"", {2}}, {"a..b", {2}}, {"a\xff.\x1b[31m", {2}}};
        const CheckpointPtr checkpoint = test::makeSyntheticCheckpoint(options);
        ExplorerModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setTree(checkpoint, ExplorerTree::build(checkpoint, {}));
        const QModelIndex escape = model.indexOf(ExplorerKind::Param, 3);
        QVERIFY(!escape.data().toString().contains(QChar(0x1B)));
    }

    void fileTable()
    {
        const CheckpointPtr checkpoint = makeCheckpoint();
        FileTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setCheckpoint(checkpoint);
        QCOMPARE(model.rowCount(), static_cast<int>(checkpoint->files.size()));
        model.sort(FileTableModel::Bytes, Qt::DescendingOrder);
        for (int row = 1; row < model.rowCount(); ++row)
            QVERIFY(checkpoint->file(model.rowAt(row - 1)).identity.bytes
                >= checkpoint->file(model.rowAt(row)).identity.bytes);
        model.setFilter(u"OPTIM"_s);
        QCOMPARE(model.rowCount(), static_cast<int>(checkpoint->parallel.dp));
        model.setFilter(u"no such file"_s);
        QCOMPARE(model.rowCount(), 0);
    }

    void recordTable()
    {
        RecordList list;
        list.file = FileId{0};
        for (uint64_t i = 0; i < 5; ++i) {
            RecordLine line;
            line.record.name = "data/" + std::to_string(i);
            line.record.payloadOffset = 64 * i;
            line.record.bytes = 60;
            line.usedBy = i == 3 ? "exp_avg of group 0" : "";
            list.lines.push_back(line);
        }
        list.maxBytes = 60;
        RecordTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setList(list);
        QCOMPARE(model.rowCount(), 5);
        QCOMPARE(model.index(2, RecordTableModel::End).data(CopyRole).toULongLong(), 188ULL);
        model.setFilter(u"exp_avg"_s);
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.rowAt(0), 3U);
        QCOMPARE(model.rowOf(3), 0);
        QCOMPARE(model.rowOf(2), -1);
    }

    void everyReferencedRecordIsNamed_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* name : {"zero1-w2", "zero2-w2", "zero3-w4", "bf16opt-w2", "ds0144-zero2-w2"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    void everyReferencedRecordIsNamed()
    {
        QFETCH(QString, sample);
        JobContext job;
        const std::string path = (sourceFolder() + "/tests/data/samples/") + sample.toStdString();
        const auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
        QVERIFY(opened.has_value());
        const Checkpoint& checkpoint = *opened->checkpoint;
        int steps = 0;
        for (uint32_t i = 0; i < checkpoint.files.size(); ++i) {
            if (checkpoint.files[i].recordCount == 0)
                continue;
            RecordTableModel model;
            model.setList(listRecords(io::realFileSystem(), checkpoint, FileId{i}, {}));
            for (int row = 0; row < model.rowCount(); ++row) {
                const QString record = model.index(row, RecordTableModel::Name).data().toString();
                const QString use = model.index(row, RecordTableModel::UsedBy).data().toString();
                QVERIFY2(use != u"not referenced"_s, qPrintable(record));
                QVERIFY2(!use.startsWith(u"another tensor"_s), qPrintable(record));
                steps += use.endsWith(u".step"_s) ? 1 : 0;
            }
        }
        QVERIFY(steps > 0);
    }

    void equalFindingsAreOne()
    {
        const std::vector<Finding> findings = {
            {"pickle-opaque", Severity::Info, "odd.Thing is not known here", "a.pt", {}},
            {"rank-missing", Severity::Error, "the file of rank 1 is missing", "one.pt", {}},
            {"rank-missing", Severity::Error, "the file of rank 5 is missing", "five.pt", {}},
            {"pickle-opaque", Severity::Info, "odd.Thing is not known here", "b.pt", {}},
            {"pickle-opaque", Severity::Info, "odd.Other is not known here", "b.pt", {}},
            {"file-torn", Severity::Error, "`a_1.pt` is cut off", "a_1.pt", {}},
            {"file-torn", Severity::Error, "`a_2.pt` is cut off", "a_2.pt", {}},
        };
        const std::vector<FindingGroup> groups = groupFindings(findings);
        QCOMPARE(groups.size(), 5U);
        QCOMPARE(groups[0].message, u"The file of rank 1, 5 is missing"_s);
        QCOMPARE(groups[0].findings.size(), 2U);
        QCOMPARE(groups[0].findings[1], &findings[2]);
        // Numbers inside names are names.
        QCOMPARE(groups[1].message, u"“a_1.pt” is cut off"_s);
        QCOMPARE(groups[3].message, u"odd.Thing is not known here"_s);
        QCOMPARE(groups[3].findings.size(), 2U);
        // In one place, names that differ are listed, too; and so are shapes.
        std::vector<Finding> states;
        for (const char* name : {"qmap1", "qmap2", "absmax1"})
            states.push_back({"not-supported", Severity::Info,
                "state `" + std::string(name) + "` has the shape " + (name[0] == 'q' ? "(256,)" : "(13, 2)"),
                {}, {}});
        QCOMPARE(groupFindings(states).size(), 1U);
        QCOMPARE(groupFindings(states)[0].message,
            u"State “qmap1”, “qmap2”, “absmax1” has the shape (256,) or (13, 2)"_s);
        std::vector<Finding> many;
        for (int rank = 0; rank < 50; ++rank)
            many.push_back({"rank-missing", Severity::Error,
                "the file of rank " + std::to_string(rank) + " of 64 is missing", "x", {}});
        QCOMPARE(groupFindings(many).size(), 1U);
        QCOMPARE(groupFindings(many)[0].message, u"The file of rank 0, 1, 2, 3, 4, 5, … of 64 is missing"_s);
    }

    void wholeGroupsAreTheirSubGroupsBackToBack()
    {
        JobContext job;
        const auto opened
            = openCheckpoint(io::realFileSystem(), sourceFolder() + "/tests/data/samples/zero3-w4", {}, job);
        QVERIFY(opened.has_value());
        const CheckpointPtr& parts = opened->checkpoint;
        QVERIFY(hasSubGroups(*parts));
        const CheckpointPtr whole = withWholeGroups(*parts);
        QVERIFY(!hasSubGroups(*whole));
        using Cell = std::tuple<CellKind, uint32_t, uint64_t, uint64_t, uint64_t>;
        for (size_t g = 0; g < parts->groups.size(); ++g) {
            const MapQuery wholeGroup(
                whole, {whole->groups[g].units.front(), MapQuery::Projection::Partitions});
            for (uint32_t rank = 0; rank < parts->parallel.dp; ++rank) {
                std::vector<Cell> wanted;
                uint64_t before = 0;
                for (const UnitId unit : parts->groups[g].units) {
                    const MapQuery query(parts, {unit, MapQuery::Projection::Partitions});
                    query.forEachCell(rank, 0, query.columns(), [&](const MapCell& cell) {
                        wanted.emplace_back(cell.kind, index(cell.param), cell.paramOffset,
                            before + cell.begin, before + cell.end);
                        return true;
                    });
                    before += query.columns();
                }
                QCOMPARE(wholeGroup.columns(), before);
                std::vector<Cell> found;
                wholeGroup.forEachCell(rank, 0, before, [&](const MapCell& cell) {
                    found.emplace_back(cell.kind, index(cell.param), cell.paramOffset, cell.begin, cell.end);
                    return true;
                });
                QVERIFY(found == wanted);
            }
        }
        for (const Parameter& param : whole->params)
            if (param.unit != kNoUnit)
                QVERIFY(whole->units[index(param.unit)].params[param.indexInUnit]
                    == ParamId{static_cast<uint32_t>(&param - whole->params.data())});
    }

    void fragmentTable()
    {
        const CheckpointPtr checkpoint = makeCheckpoint();
        auto fragments = fragmentsOf(*checkpoint, ParamId{0}, "fp32", 0, checkpoint->params[0].elements);
        QVERIFY(fragments.has_value());
        const int expected = static_cast<int>(fragments->size());
        FragmentTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setFragments(checkpoint, std::move(*fragments));
        QCOMPARE(model.rowCount(), expected);
    }

    void filterAgainstPlainLoop()
    {
        const CheckpointPtr checkpoint = makeCheckpoint(2, 500);
        const ParameterIndexPtr index = makeIndex(checkpoint);
        const auto contains = [](const char* part) {
            return [part](const Parameter& param) { return param.name.find(part) != std::string::npos; };
        };
        QCOMPARE(rowsFor(index, u"weight"_s).size(), countWhere(checkpoint, contains("weight")));
        QCOMPARE(rowsFor(index, u"WEIGHT"_s).size(), countWhere(checkpoint, contains("weight")));
        QCOMPARE(rowsFor(index, u"weight mlp"_s).size(), countWhere(checkpoint, [&](const Parameter& param) {
            return contains("weight")(param) && contains("mlp")(param);
        }));
        QCOMPARE(rowsFor(index, u"*.bias"_s).size(),
            countWhere(checkpoint, [](const Parameter& param) { return param.name.ends_with(".bias"); }));
        QCOMPARE(rowsFor(index, u"/^.*bias$/"_s).size(), rowsFor(index, u"*.bias"_s).size());
        QCOMPARE(rowsFor(index, u"elements>1000"_s).size(),
            countWhere(checkpoint, [](const Parameter& param) { return param.elements > 1000; }));
        QCOMPARE(rowsFor(index, u"frozen:yes"_s).size(),
            countWhere(checkpoint, [](const Parameter& param) { return param.role == ParamRole::Frozen; }));
        QCOMPARE(rowsFor(index, u"buffer:no group:0"_s).size(),
            countWhere(checkpoint, [](const Parameter& param) { return param.group == 0; }));
        QCOMPARE(rowsFor(index, u"layer:1..2"_s).size(), countWhere(checkpoint, [](const Parameter& param) {
            return param.name.find(".1.") != std::string::npos || param.name.find(".2.") != std::string::npos;
        }));
        QCOMPARE(rowsFor(index, u"\u0416"_s).size(), size_t{0});
    }

    void filterProblems_data()
    {
        QTest::addColumn<QString>("text");
        QTest::newRow("expression") << u"/(/"_s;
        QTest::newRow("size") << u"size>many"_s;
        QTest::newRow("dtype") << u"dtype:float99"_s;
        QTest::newRow("relation") << u"frozen>yes"_s;
        QTest::newRow("yes or no") << u"frozen:perhaps"_s;
        QTest::newRow("range") << u"layer:4.."_s;
    }

    void filterProblems()
    {
        QFETCH(QString, text);
        const ParameterFilter filter = ParameterFilter::parse(text);
        QVERIFY(!filter.error().isEmpty());
        const ParameterIndexPtr index = makeIndex(makeCheckpoint());
        QVERIFY(queryRows(*index, filter, ParamColumn::Name, false, {}).rows.empty());
    }

    void sortEveryColumn()
    {
        const CheckpointPtr checkpoint = makeCheckpoint(1, 300);
        const ParameterIndexPtr index = makeIndex(checkpoint);
        for (int column = 0; column < kParamColumns; ++column) {
            const auto up = rowsFor(index, {}, static_cast<ParamColumn>(column), false);
            auto down = rowsFor(index, {}, static_cast<ParamColumn>(column), true);
            QCOMPARE(up.size(), checkpoint->params.size());
            std::reverse(down.begin(), down.end());
            QVERIFY(up == down);
        }
        const auto bySize = rowsFor(index, u"weight"_s, ParamColumn::Bytes);
        QVERIFY(std::is_sorted(bySize.begin(), bySize.end(),
            [&](ParamId a, ParamId b) { return index->facts(a).bytes < index->facts(b).bytes; }));
        const auto byName = rowsFor(index, {}, ParamColumn::Name);
        QVERIFY(std::is_sorted(byName.begin(), byName.end(), [&](ParamId a, ParamId b) {
            return compareNaturally(
                       index->lowerName(shardscope::index(a)), index->lowerName(shardscope::index(b)))
                < 0;
        }));
    }

    void manyParameters()
    {
        test::SyntheticOptions options;
        options.params = 300'000;
        options.ranks = 64;
        const CheckpointPtr checkpoint = test::makeSyntheticCheckpoint(options);
        const ParameterIndexPtr index = makeIndex(checkpoint);
        ParameterTableModel model;
        model.setIndex(index);
        model.setRows(rowsFor(index, u"layer:7"_s));
        QVERIFY(model.rowCount() > 0);
        QVERIFY(model.rowCount() < 300'000);
        const ExplorerTreePtr tree = ExplorerTree::build(checkpoint, {});
        QVERIFY(tree->nodes().size() > 300'000);
        const uint32_t node = tree->find(ExplorerKind::Param, 299'999);
        QCOMPARE(tree->fullName(node), checkpoint->params[299'999].name);
    }

    void stoppedWorkGivesNothing()
    {
        std::stop_source stop;
        stop.request_stop();
        const CheckpointPtr checkpoint = makeCheckpoint();
        QVERIFY(ParameterIndex::build(checkpoint, stop.get_token()) == nullptr);
        QVERIFY(ExplorerTree::build(checkpoint, stop.get_token()) == nullptr);
    }

    void history()
    {
        SelectionHistory history;
        QSignalSpy revisited(&history, &SelectionHistory::revisit);
        const auto place = [](uint32_t param) {
            HistoryPlace made;
            made.thing.param = ParamId{param};
            return made;
        };
        history.back();
        QCOMPARE(revisited.count(), 0);
        for (uint32_t param = 0; param < 3; ++param)
            history.visit(place(param));
        history.visit(place(2)); // the same place again is no step
        history.back();
        history.back();
        QVERIFY(!history.canGoBack());
        QCOMPARE(revisited.count(), 2);
        QVERIFY(revisited.last().first().value<HistoryPlace>() == place(0));
        history.forward();
        QVERIFY(revisited.last().first().value<HistoryPlace>() == place(1));
        history.visit(place(9)); // forgets what lay ahead
        QVERIFY(!history.canGoForward());
        for (uint32_t param = 0; param < 1000; ++param)
            history.visit(place(param));
        size_t steps = 0;
        for (; history.canGoBack(); ++steps)
            history.back();
        QCOMPARE(steps, SelectionHistory::kMaxPlaces - 1);
    }

    void selectionIsCarriedOverByName()
    {
        const CheckpointPtr from = makeCheckpoint(3, 50);
        Checkpoint changed = *from;
        std::reverse(changed.files.begin(), changed.files.end());
        SelectedThing thing;
        thing.param = ParamId{7};
        thing.file = FileId{1};
        thing.byte = 99;
        thing.rank = 3;
        const SelectedThing now = translated(thing, *from, changed);
        QVERIFY(now.param == ParamId{7});
        QCOMPARE(changed.file(now.file).name, from->file(FileId{1}).name);
        QVERIFY(now.byte == 99U);
        changed.parallel.dp = 2;
        changed.paramByName.clear();
        changed.files.clear();
        QVERIFY(translated(thing, *from, changed).isEmpty());
    }

    void controlCharactersAreEscaped()
    {
        QCOMPARE(toText("a\nb"), u"a\u240Ab"_s);
        QCOMPARE(toText("\xE2\x80\xAE"
                        "txt"),
            u"\uFFFDtxt"_s);
        QVERIFY(toText("\xFF").contains(QChar(QChar::ReplacementCharacter)));
        QCOMPARE(shortCountText(1'240'000'000), u"1.2 B"_s);
    }
};

SHARDSCOPE_UI_TEST(TestModels, WithDisplay)
#include "tst_models.moc"
