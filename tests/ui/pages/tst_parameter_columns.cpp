// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/explorer_model.h"
#include "ui/models/model_roles.h"
#include "ui/models/parameters/parameter_filter.h"
#include "ui/pages/parameters_page.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>

#include <algorithm>
#include <optional>
#include <set>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

ParameterIndexPtr indexOf(const CheckpointPtr& checkpoint)
{
    return ParameterIndex::build(checkpoint, {});
}

/// The parameters that a filter keeps.
std::set<std::string> found(const ParameterIndexPtr& index, const QString& filter)
{
    std::set<std::string> names;
    for (const ParamId id :
        queryRows(*index, ParameterFilter::parse(filter), ParamColumn::Name, false, {}).rows)
        names.insert(index->checkpoint()->params[shardscope::index(id)].name);
    return names;
}

/// Takes the lines of comment from the beginning.
QString takeComments(QStringList& lines)
{
    QString out;
    while (!lines.isEmpty() && lines.first().startsWith(u'#'))
        out += lines.takeFirst() % u'\n';
    return out;
}

/// The ranks with elements of each parameter of a unit, found piece by piece.
std::vector<std::set<uint32_t>> ranksOf(const FlatUnit& unit)
{
    std::vector<std::set<uint32_t>> ranks(unit.params.size());
    for (uint32_t rank = 0; rank < unit.partition.ranks(); ++rank) {
        unit.partition.forEachPiece(rank, 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
            if (!piece.isPadding())
                ranks[piece.param].insert(rank);
            return true;
        });
    }
    return ranks;
}

} // namespace

class TestParameterColumns : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void placesAndPaddingAreThoseOfThePartition_data()
    {
        QTest::addColumn<int>("stage");
        QTest::addColumn<int>("ranks");
        QTest::newRow("zero2, 3 ranks") << 2 << 3;
        QTest::newRow("zero3, 3 ranks") << 3 << 3;
        QTest::newRow("zero3, 64 ranks") << 3 << 64;
        QTest::newRow("zero1, 64 ranks") << 1 << 64;
    }

    void placesAndPaddingAreThoseOfThePartition()
    {
        QFETCH(int, stage);
        QFETCH(int, ranks);
        const auto checkpoint = test::makeSyntheticCheckpoint(
            {.stage = stage, .ranks = static_cast<uint32_t>(ranks), .params = 40, .hidden = 9, .groups = 2});
        const ParameterIndexPtr index = indexOf(checkpoint);
        for (const FlatUnit& unit : checkpoint->units) {
            uint64_t padding = 0;
            uint64_t all = 0;
            for (uint32_t rank = 0; rank < unit.partition.ranks(); ++rank)
                all += unit.partition.paddingOn(rank);
            const auto held = ranksOf(unit);
            for (size_t i = 0; i < unit.params.size(); ++i) {
                const ParamFacts& facts = index->facts(unit.params[i]);
                padding += facts.padding;
                QCOMPARE(facts.ranks(), static_cast<uint32_t>(held[i].size()));
                QCOMPARE(facts.firstShare, *held[i].begin());
                QCOMPARE(facts.lastShare, *held[i].rbegin());
                QVERIFY(facts.begin >= 0 && facts.begin < facts.end && facts.end <= 1);
            }
            QCOMPARE(padding, all);
        }
    }

    void ranksAndPaddingAreTerms()
    {
        const auto checkpoint = test::makeSyntheticCheckpoint({.stage = 2,
            .ranks = 2,
            .shapes = {{"first.weight", {8}}, {"middle.weight", {9}}, {"last.weight", {6}}}});
        const ParameterIndexPtr index = indexOf(checkpoint); // 23 elements, 12 on a rank
        QCOMPARE(found(index, u"rank:0"_s), (std::set<std::string>{"first.weight", "middle.weight"}));
        QCOMPARE(found(index, u"rank:1"_s), (std::set<std::string>{"last.weight", "middle.weight"}));
        QCOMPARE(found(index, u"rank:0..1"_s).size(), size_t{3});
        QCOMPARE(found(index, u"rank:2..9"_s).size(), size_t{0});
        QCOMPARE(found(index, u"padding:yes"_s), std::set<std::string>{"last.weight"});
        QCOMPARE(found(index, u"padding>=1"_s), std::set<std::string>{"last.weight"});
        QCOMPARE(found(index, u"padding>1"_s).size(), size_t{0});
        QCOMPARE(found(index, u"padding:no"_s), (std::set<std::string>{"first.weight", "middle.weight"}));
    }

    void unknownTermsAreErrors()
    {
        const QString error = ParameterFilter::parse(u"ranks:3"_s).error();
        QVERIFY2(error.contains(u"ranks"_s) && error.contains(u"padding"_s), qPrintable(error));
        QVERIFY(!ParameterFilter::parse(u"colour>3"_s).error().isEmpty());
        QVERIFY(!ParameterFilter::parse(u"rank:some"_s).error().isEmpty());
        QVERIFY(!ParameterFilter::parse(u"padding:some"_s).error().isEmpty());
        // Slices have a colon in their names.
        QCOMPARE(ParameterFilter::parse(u"weight:tp1"_s).error(), QString());
        QCOMPARE(ParameterFilter::parse(u"layers.0.attention"_s).error(), QString());
    }

    void layersAreInOrder()
    {
        const auto checkpoint = test::makeSyntheticCheckpoint({.stage = 3,
            .ranks = 2,
            .shapes = {{"layers.10.w", {4}}, {"layers.2.w", {4}}, {"layers.1.w", {4}}}});
        const ParameterIndexPtr index = indexOf(checkpoint);
        QStringList names;
        for (const uint32_t row : index->order(ParamColumn::Name))
            names.append(QString::fromStdString(checkpoint->params[row].name));
        QCOMPARE(names, (QStringList{u"layers.1.w"_s, u"layers.2.w"_s, u"layers.10.w"_s}));
    }

    void numbersAreNeverElided()
    {
        WindowFixture ui;
        ui.window().resize(900, 600);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        QVERIFY(ui.settle());
        auto* page = ui.find<ParametersPage>("parametersPage");
        QTableView* table = page->table();
        int cells = 0;
        for (const ParamColumn column : {ParamColumn::Shape, ParamColumn::Elements, ParamColumn::Bytes,
                 ParamColumn::Ranks, ParamColumn::Padding, ParamColumn::Group}) {
            const int at = static_cast<int>(column);
            if (table->isColumnHidden(at))
                continue;
            for (int row = 0; row < page->model()->rowCount(); ++row, ++cells) {
                const QString text = page->model()->index(row, at).data().toString();
                QVERIFY2(table->fontMetrics().horizontalAdvance(text) + 16 <= table->columnWidth(at),
                    qPrintable(text));
            }
        }
        QVERIFY(cells > 100);
        // In a wide window names get the rest, and nothing scrolls sideways.
        ui.window().resize(2000, 800);
        QVERIFY(ui.settle());
        int width = 0;
        for (int i = 0; i < kParamColumns; ++i)
            width += table->isColumnHidden(i) ? 0 : table->columnWidth(i);
        QCOMPARE(width, table->viewport()->width());
    }

    void constantColumnsAreHidden()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("slices-w4")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        QVERIFY(ui.settle());
        auto* page = ui.find<ParametersPage>("parametersPage");
        const auto& index = page->model()->parameterIndex();
        int hidden = 0;
        for (int i = 0; i < kParamColumns; ++i) {
            QCOMPARE(page->table()->isColumnHidden(i), index->isConstant(static_cast<ParamColumn>(i)));
            hidden += page->table()->isColumnHidden(i) ? 1 : 0;
        }
        QVERIFY(hidden > 0);
        const QString summary = page->findChild<QLabel*>(u"parameterSummary"_s)->text();
        QVERIFY2(summary.contains(u"all: "_s), qPrintable(summary));
        // The header's menu brings them back.
        int column = 0;
        while (!page->table()->isColumnHidden(column))
            ++column;
        Q_EMIT page->table()->horizontalHeader()->customContextMenuRequested({4, 4});
        auto* menu = page->findChild<QMenu*>(u"parameterColumns"_s);
        QVERIFY(menu != nullptr);
        menu->actions().at(column - 1)->trigger();
        QVERIFY(!page->table()->isColumnHidden(column));
        menu->close();
    }

    void likeLayersFoldAndTheOddOneStays()
    {
        std::vector<std::pair<std::string, Shape>> shapes{{"embed.weight", {8, 4}}};
        for (int layer = 0; layer < 12; ++layer) {
            const std::string prefix = "model.layers." + std::to_string(layer);
            shapes.emplace_back(prefix + ".attn.weight", Shape{4, 4});
            shapes.emplace_back(prefix + ".mlp.weight", layer == 7 ? Shape{4, 9} : Shape{4, 8});
        }
        for (const char* few : {"few.0.w", "few.1.w", "few.2.w"})
            shapes.emplace_back(few, Shape{2});
        const auto checkpoint = test::makeSyntheticCheckpoint({.stage = 3, .ranks = 2, .shapes = shapes});
        const auto tree = ExplorerTree::build(checkpoint, {});
        ExplorerModel model;
        model.setTree(checkpoint, tree);
        const auto childOf = [&](const QModelIndex& parent, const QString& label) {
            for (int row = 0; row < model.rowCount(parent); ++row)
                if (model.index(row, 0, parent).data().toString() == label)
                    return model.index(row, 0, parent);
            return QModelIndex();
        };
        const QModelIndex modules = model.index(0, 0);
        const QModelIndex layers = childOf(childOf(modules, u"model"_s), u"layers"_s);
        QVERIFY(layers.isValid());
        QCOMPARE(model.rowCount(layers), 2);
        const QModelIndex fold = childOf(layers, u"{0–6, 8–11} × 11"_s);
        QVERIFY(fold.isValid());
        QVERIFY(childOf(layers, u"7"_s).isValid());
        QCOMPARE(model.rowCount(fold), 11);
        QCOMPARE(model.index(10, 0, fold).data().toString(), u"11"_s);
        QCOMPARE(model.fullName(fold), u"model.layers.{0–6, 8–11}"_s);
        QCOMPARE(model.rowCount(childOf(modules, u"few"_s)), 3); // too few to fold
        // Every parameter is still found, with its own name.
        uint64_t bytes = 0;
        for (size_t i = 0; i < checkpoint->params.size(); ++i) {
            const QModelIndex at = model.indexOf(ExplorerKind::Param, static_cast<uint32_t>(i));
            QCOMPARE(model.fullName(at), QString::fromStdString(checkpoint->params[i].name));
            QCOMPARE(at.parent().isValid() && at.row() < model.rowCount(at.parent()), true);
            bytes += tree->nodes()[tree->find(ExplorerKind::Param, static_cast<uint32_t>(i))].bytes;
        }
        QCOMPARE(modules.siblingAtColumn(1).data(CopyRole).toULongLong(), bytes);
    }

    void aRowSaysWhereItIs()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        QVERIFY(ui.settle());
        auto* page = ui.find<ParametersPage>("parametersPage");
        const auto param = ui.checkpoint()->findParam("tok_embeddings.weight");
        QVERIFY(param.has_value());
        const QModelIndex at
            = page->model()->index(page->model()->rowOf(*param), static_cast<int>(ParamColumn::Where));
        QCOMPARE(at.data(CopyRole).toString(), u"dp 0 to dp 1, of 2 ranks"_s);
        QCOMPARE(at.data(Qt::AccessibleTextRole).toString(), at.data(CopyRole).toString());
        QCOMPARE(at.data(WhereRole).toList(), QVariantList{QPointF(0, 1)});
        const auto buffer = ui.checkpoint()->findParam("batches_seen");
        QVERIFY(buffer.has_value());
        const QModelIndex whole
            = page->model()->index(page->model()->rowOf(*buffer), static_cast<int>(ParamColumn::Where));
        QVERIFY(!whole.data(WhereRole).isValid());
        QCOMPARE(whole.data(CopyRole).toString(), u"stored whole"_s);
    }

    void aTiedNameIsWhereItsOwnerIs()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        QVERIFY(ui.settle());
        const ParameterTableModel* table = ui.find<ParametersPage>("parametersPage")->model();
        const auto at = [&](const char* name, ParamColumn column) {
            return table->index(table->rowOf(*ui.checkpoint()->findParam(name)), static_cast<int>(column));
        };
        const QModelIndex where = at("lm_head.weight", ParamColumn::Where);
        QCOMPARE(
            where.data(CopyRole).toString(), u"dp 0 to dp 1, of 2 ranks, tied to tok_embeddings.weight"_s);
        QCOMPARE(where.data(WhereRole), at("tok_embeddings.weight", ParamColumn::Where).data(WhereRole));
        QCOMPARE(at("lm_head.weight", ParamColumn::Ranks).data().toString(), u"2"_s);
        QCOMPARE(at("lm_head.weight", ParamColumn::Padding).data().toString(), u"–"_s);
        ui.find<FilterField>("filterField")->setText(u"rank:1 shared:yes"_s);
        QVERIFY(ui.settle());
        QCOMPARE(table->rowCount(), 1);
    }

    /// The last rank has fewer rows of a tensor, not a gap.
    void aDistributedTensorFillsItsBar()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("../dcp/root")));
        QVERIFY(ui.settle());
        ParameterTableModel model;
        const ParameterIndexPtr index = ParameterIndex::build(ui.checkpoint(), {});
        model.setIndex(index);
        int drawn = 0;
        for (uint32_t i = 0; i < index->size(); ++i) {
            model.setRows({ParamId{i}});
            const QVariant where = model.index(0, static_cast<int>(ParamColumn::Where)).data(WhereRole);
            if (where.isValid()) {
                QCOMPARE(where.toList(), QVariantList{QPointF(0, 1)});
                ++drawn;
            }
        }
        QVERIFY(drawn > 0);
    }

    /// The rows on screen, in their order, with exact numbers.
    void theTableIsSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        auto* page = ui.find<ParametersPage>("parametersPage");
        page->sortBy(ParamColumn::Bytes, Qt::DescendingOrder);
        ui.find<FilterField>("filterField")->setText(u"layers weight"_s);
        QVERIFY(ui.settle());
        const int rows = page->model()->rowCount();
        QVERIFY(rows > 2 && rows < static_cast<int>(ui.checkpoint()->params.size()));

        QSignalSpy saved(page, &Page::told);
        page->saveRows(ui.folder(u"rows.csv"_s));
        QVERIFY(saved.wait());
        QCOMPARE(saved.first().at(0).value<Severity>(), Severity::Info);
        QFile csv(ui.folder(u"rows.csv"_s));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QStringList lines = QString::fromUtf8(csv.readAll()).split(u'\n', Qt::SkipEmptyParts);
        // The head, as comments: what it is of, and how to get it again.
        const QString head = takeComments(lines);
        QVERIFY(head.startsWith(u"# Written by: Shardscope "_s));
        QVERIFY(head.contains(u"\n# Time: 20"_s));
        QVERIFY(head.contains(u"\n# Command: shardscope-gui --page parameters --filter 'layers weight' "_s));
        QVERIFY(head.contains(u"\n# Filter: layers weight\n"_s));
        QVERIFY(head.contains(u"\n# Tag: "_s % QString::fromStdString(ui.checkpoint()->tag) % u'\n'));
        QVERIFY(head.contains(u"\n# Kind: ZeRO-"_s) && head.contains(u" bytes\n"_s));
        QCOMPARE(lines.size(), rows + 1);
        QVERIFY(lines.first().startsWith(u"name,shape,elements,bytes,ranks"_s));
        for (int row = 0; row < rows; ++row) {
            const Parameter& param = ui.checkpoint()->params[index(page->model()->rowAt(row))];
            QVERIFY(lines[row + 1].startsWith(QString::fromStdString(param.name) % u','));
            QVERIFY(lines[row + 1].contains(u',' % QString::number(param.elements) % u','));
        }

        page->saveRows(ui.folder(u"rows.json"_s));
        QVERIFY(saved.wait());
        QFile json(ui.folder(u"rows.json"_s));
        QVERIFY(json.open(QIODevice::ReadOnly));
        const QJsonObject answer = QJsonDocument::fromJson(json.readAll()).object();
        QCOMPARE(answer[u"schema"_s].toString(), u"shardscope/params/1"_s);
        QCOMPARE(answer[u"filter"_s].toString(), u"layers weight"_s);
        const QJsonObject report = answer[u"report"_s].toObject();
        QVERIFY(report[u"time"_s].toString().endsWith(u'Z'));
        QVERIFY(head.contains(u"# Command: "_s % report[u"command"_s].toString() % u'\n'));
        const QJsonObject about = report[u"checkpoints"_s].toArray().first().toObject();
        QCOMPARE(about[u"tag"_s].toString(), QString::fromStdString(ui.checkpoint()->tag));
        QCOMPARE(about[u"ranks"_s].toInt(), static_cast<int>(ui.checkpoint()->parallel.ranks()));
        QCOMPARE(answer[u"parameters"_s].toArray().size(), rows);

        page->saveRows(ui.folder(u"no/such/folder/rows.csv"_s));
        QVERIFY(saved.wait());
        QCOMPARE(saved.last().at(0).value<Severity>(), Severity::Error);
        QVERIFY(ui.find<MessageBar>("windowMessages")->text().contains(saved.last().at(1).toString()));
    }

    /// A worker makes the rows: a filter that was just typed did not make those on screen.
    void savedRowsHaveTheFilterThatMadeThem()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        QVERIFY(ui.window().showPage(u"parameters"_s));
        auto* page = ui.find<ParametersPage>("parametersPage");
        page->setFilter(u"layers weight"_s);
        QVERIFY(ui.settle());
        const int rows = page->model()->rowCount();
        QSignalSpy saved(page, &Page::told);
        page->setFilter(u"bias"_s);
        page->saveRows(ui.folder(u"rows.csv"_s));
        QVERIFY(saved.wait());
        QFile csv(ui.folder(u"rows.csv"_s));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QStringList lines = QString::fromUtf8(csv.readAll()).split(u'\n', Qt::SkipEmptyParts);
        QVERIFY(takeComments(lines).contains(u"\n# Filter: layers weight\n"_s));
        QCOMPARE(lines.size(), rows + 1);
        QVERIFY(ui.settle());

        // Before the first rows of a checkpoint are there, nothing can be saved.
        saved.clear();
        const QList<QAction*> actions = page->table()->actions();
        const auto save = std::ranges::find(actions, u"Save Table…"_s, &QAction::text);
        QVERIFY(save != actions.end() && (*save)->isEnabled());
        std::optional<bool> wasEnabled;
        connect(page->model(), &QAbstractItemModel::modelReset, page, [&] {
            if (wasEnabled || !page->model()->parameterIndex())
                return;
            wasEnabled = (*save)->isEnabled();
            page->saveRows(ui.folder(u"none.csv"_s));
        });
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QCOMPARE(wasEnabled, std::optional(false));
        QVERIFY(!saved.isEmpty());
        QCOMPARE(saved.first().at(0).value<Severity>(), Severity::Error);
        QVERIFY(!QFile::exists(ui.folder(u"none.csv"_s)));
        QVERIFY((*save)->isEnabled());
    }

    void termsAreCompleted()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* field = ui.find<FilterField>("filterField");
        field->setFocus();
        QTest::keyClicks(field, u"weight lay"_s);
        QVERIFY(ui.settle());
        QTest::keyClick(field, Qt::Key_Tab);
        QCOMPARE(field->text(), u"weight layer:"_s);
        QVERIFY(field->hasFocus());
        QTest::keyClicks(field, u"1"_s);
        QVERIFY(ui.settle());
        QCOMPARE(field->problem(), QString());
        // Values are completed, too: of what the checkpoint has.
        QTest::keyClicks(field, u" state:exp_avg_"_s);
        QVERIFY(ui.settle());
        QTest::keyClick(field, Qt::Key_Tab);
        QCOMPARE(field->text(), u"weight layer:1 state:exp_avg_sq"_s);
        // The filter of another page has other terms.
        QVERIFY(ui.window().showPage(u"files"_s));
        field->clear();
        field->setFocus();
        QTest::keyClicks(field, u"sta"_s);
        QVERIFY(ui.settle());
        QTest::keyClick(field, Qt::Key_Tab);
        QCOMPARE(field->text(), u"status:"_s);
        for (const FilterTerm& term : ParameterFilter::terms()) { // each is one, once it has a value
            const QString value = term.values == FilterTerm::Values::Choice        ? term.words.first()
                : term.values == FilterTerm::Values::Text && !term.words.isEmpty() ? term.words.first()
                                                                                   : u"1"_s;
            QCOMPARE(ParameterFilter::parse(QString(term.key % u':' % value)).error(), QString());
            QVERIFY(!term.help.isEmpty());
        }
    }

    void filtersAreSaved()
    {
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* field = ui.find<FilterField>("filterField");
        field->setText(u"layers weight"_s);
        QVERIFY(ui.settle());
        QTest::keyClick(field, Qt::Key_Down, Qt::AltModifier);
        QPointer<QMenu> menu = field->findChild<QMenu*>(u"savedFilterMenu"_s);
        QVERIFY(menu && menu->isVisible());
        menu->findChild<QAction*>(u"saveFilter"_s)->trigger();
        menu->close();
        QTRY_VERIFY(menu.isNull());
        QCOMPARE(ui.settings().filters(), QStringList{u"layers weight"_s});
        field->clear();

        // The next window has it.
        MainWindow next(io::realFileSystem(), ui.theme(), ui.settings());
        auto* again = next.findChild<FilterField*>();
        again->showSaved();
        menu = again->findChild<QMenu*>(u"savedFilterMenu"_s);
        QVERIFY(!menu->findChild<QAction*>(u"saveFilter"_s)->isEnabled()); // nothing is typed
        menu->actions().first()->trigger();
        QCOMPARE(again->text(), u"layers weight"_s);
        menu->actions().last()->menu()->actions().first()->trigger(); // Remove
        QCOMPARE(ui.settings().filters(), QStringList());
    }
};

SHARDSCOPE_UI_TEST(TestParameterColumns, WithDisplay)
#include "tst_parameter_columns.moc"
