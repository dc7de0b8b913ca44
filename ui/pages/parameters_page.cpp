// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/parameters_page.h"

#include "core/report/answers/params_report.h"
#include "core/report/summary/report_head.h"
#include "core/report/text/csv_row.h"
#include "ui/controls/filter_bar.h"
#include "ui/controls/table_setup.h"
#include "ui/jobs/free_later.h"
#include "ui/jobs/save_file.h"
#include "ui/models/parameters/parameter_filter.h"
#include "ui/session/shell_words.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QAction>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QStackedLayout>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Values are read for a filter without a question up to this size.
constexpr uint64_t kReadUnasked = uint64_t{2} << 30;

/// The rows of the parameter table, as they are shown.
struct ParameterTable {
    ParameterIndexPtr index;
    std::vector<ParamId> rows; ///< filtered and sorted
    io::Path path; ///< of the checkpoint, as it was opened
    ReportHead head; ///< without the checkpoint
};

constexpr std::array<std::string_view, 13> kColumns{"name", "shape", "elements", "bytes", "ranks",
    "first_rank", "last_rank", "padding", "dtype", "role", "group", "shared_with", "states"};

std::string rankCell(const ParameterIndex& index, ParamId id, uint32_t share)
{
    const Checkpoint& checkpoint = *index.checkpoint();
    const FlatUnit* unit = index.unitOf(id);
    if (unit == nullptr || index.facts(id).ranks() == 0)
        return {};
    return csvText(rankLabel(checkpoint, checkpoint.rankOf(*unit, share)).toStdString());
}

void putRow(const TextSink& sink, const ParameterIndex& table, ParamId id)
{
    const Checkpoint& checkpoint = *table.checkpoint();
    const Parameter& param = checkpoint.params[index(id)];
    const ParamFacts& facts = table.facts(id);
    const bool isAlias = param.sharedWith != kNoParam;
    const std::array<std::string, kColumns.size()> cells{csvText(param.name), csvText(shapeText(param.shape)),
        csvNumber(param.elements), csvNumber(facts.bytes),
        facts.ranks() == 0 ? std::string() : csvNumber(facts.ranks()), rankCell(table, id, facts.firstShare),
        rankCell(table, id, facts.lastShare), csvNumber(facts.padding),
        std::string(facts.dtype == DType::Unknown ? std::string_view() : dtypeName(facts.dtype)),
        std::string(paramRoleName(checkpoint, param)),
        param.group < 0 ? std::string() : csvNumber(param.group),
        isAlias ? csvText(checkpoint.params[index(param.sharedWith)].name) : std::string(),
        csvText(table.stateSets()[facts.states])};
    putCsvLine(sink, cells);
}

/// Writes *.json as the answer of `shardscope params --json` with these parameters, all else as CSV
/// (core/report/text/csv_row.h): the head as comments, a line for each row, numbers exact, fields that do not
/// apply empty. Returns why it could not be written; empty if it was. Slow: for a worker.
QString writeParameterTable(io::FileSystem& files, ParameterTable table, const SaveTarget& target)
{
    table.head.about.push_back(identityOf(files, *table.index->checkpoint(), table.path));
    return saveText(target, [&](const TextSink& sink) {
        if (target.path.endsWith(u".json"_s, Qt::CaseInsensitive)) {
            const AnswerContext context{
                *table.index->checkpoint(), table.path.native(), {}, nullptr, &table.head};
            return writeParamsJson(sink, context, table.rows, table.head.filter);
        }
        putHeadComments(sink, table.head);
        putCsvLine(sink, kColumns);
        for (const ParamId row : table.rows)
            putRow(sink, *table.index, row);
    });
}

} // namespace

PageEntry ParametersPage::entry()
{
    return {PageId::Parameters, u"parameters"_s, u"actionParameters"_s, tr("Parameters"), tr("&Parameters"),
        u"table"_s, u"concepts"_s, &makePage<ParametersPage>};
}

ParametersPage::ParametersPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_table(new QTableView(this))
    , m_model(new ParameterTableModel(this))
    , m_summary(new QLabel(this))
    , m_empty(makeEmpty(u"parametersEmpty"_s))
{
    setObjectName(u"parametersPage"_s);
    prepareTable(m_table, context.theme, u"parameterTable"_s, tr("Parameters"));
    m_table->setModel(m_model);
    m_table->setSortingEnabled(false);
    QHeaderView* header = m_table->horizontalHeader();
    header->setSectionsClickable(true);
    header->setSortIndicatorShown(true);
    header->setSortIndicator(0, Qt::AscendingOrder);
    m_table->viewport()->installEventFilter(this);
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    header->setStretchLastSection(false);
    m_summary->setObjectName(u"parameterSummary"_s);
    m_summary->setContentsMargins(12, 6, 12, 6);
    m_summary->setWordWrap(true); // it must not set the width of the window

    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(makeFilterBar());
    rows->addWidget(m_table, 1);
    rows->addWidget(m_empty, 1);
    rows->addWidget(m_summary);

    keepColumns();
    QAction* show = addViewAction(m_table, tr("Show on the Partition Map"));
    connect(
        show, &QAction::triggered, this, [this] { Q_EMIT m_context.selection.pageRequested(PageId::Map); });
    m_save = addViewAction(m_table, tr("Save Table…"));
    connect(m_save, &QAction::triggered, this, &ParametersPage::askWhereToSave);
    connect(header, &QHeaderView::sortIndicatorChanged, this, [this](int column, Qt::SortOrder order) {
        m_column = static_cast<ParamColumn>(column);
        m_descending = order == Qt::DescendingOrder;
        query();
    });
    connect(header, &QHeaderView::customContextMenuRequested, this, &ParametersPage::showColumnMenu);
    connect(header, &QHeaderView::sectionResized, this, [this] {
        if (m_fitting)
            return;
        m_widthsChosen = true;
        m_storeColumns.start();
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (!m_following && now.isValid())
                m_context.selection.selectParam(m_model->rowAt(now.row()));
        });
    connect(m_table, &QTableView::activated, this,
        [this](const QModelIndex& at) { Q_EMIT parameterActivated(m_model->rowAt(at.row())); });
    connect(&context.selection, &Selection::changed, this, &ParametersPage::follow);
    connect(m_filterBar, &FilterBar::workTriggered, this, &ParametersPage::onValueAction);
    connect(&context.findings.values(), &ValueRun::changed, this, &ParametersPage::showValues);
    connect(&context.findings.values(), &ValueRun::progressChanged, this, &ParametersPage::showValues);
    connect(&context.findings.marker(), &FindingMarker::changed, this, &ParametersPage::showFindings);
    handFocusTo(this, m_table);
    showEmptyState();
}

void ParametersPage::showFindings()
{
    m_model->setFindings(m_context.findings.marker().of(m_checkpoint));
    if (m_filter.contains(u"has"_s))
        query();
}

void ParametersPage::showCheckpoint()
{
    m_index.reset();
    m_model->setIndex(nullptr);
    m_context.findings.marker().follow(m_checkpoint);
    m_model->setFindings(m_context.findings.marker().of(m_checkpoint));
    m_querier.cancel();
    m_rowsFilter.reset();
    m_save->setEnabled(false);
    Q_EMIT matchesChanged(nullptr); // ids of the former checkpoint
    if (!m_checkpoint) {
        m_indexer.cancel();
        showEmptyState();
        return;
    }
    m_summary->setText(tr("Reading names…"));
    m_indexer.run<ParameterIndexPtr>(
        [checkpoint = m_checkpoint](
            const std::stop_token& token, const std::function<void(ParameterIndexPtr)>& deliver) {
            if (auto made = ParameterIndex::build(checkpoint, token))
                deliver(freedOnWorker(std::move(made)));
        },
        [this](ParameterIndexPtr made) {
            m_index = std::move(made);
            m_model->setIndex(m_index);
            fitColumns();
            query();
        });
}

void ParametersPage::setFilter(const QString& text)
{
    if (text == m_filter)
        return;
    m_filter = text;
    showFilter(
        {.words = FilterText::split(text), .problem = ParameterFilter::parse(text).problem(), .count = {}});
    query();
    if (needsValues() && !m_context.findings.values().of(m_checkpoint)
        && ValueRun::bytesOf(*m_checkpoint) <= kReadUnasked
        && !m_context.findings.isReadingValues(*m_checkpoint))
        m_context.findings.values().start({m_checkpoint, m_context.session.place()});
    showValues();
}

void ParametersPage::sortBy(ParamColumn column, Qt::SortOrder order)
{
    m_table->horizontalHeader()->setSortIndicator(static_cast<int>(column), order);
}

void ParametersPage::query()
{
    if (!m_index)
        return;
    m_values = m_context.findings.values().of(m_checkpoint);
    m_querier.run<ParameterRows>(
        [index = m_index, text = m_filter, column = m_column, descending = m_descending,
            knowledge = ParamKnowledge{m_values, m_model->findings()}](
            const std::stop_token& token, const std::function<void(ParameterRows)>& deliver) {
            ParameterFilter filter = ParameterFilter::parse(text);
            filter.setKnowledge(knowledge);
            deliver(queryRows(*index, filter, column, descending, token));
        },
        [this](ParameterRows result) { showRows(std::move(result)); });
}

void ParametersPage::showRows(ParameterRows result)
{
    const auto shown = static_cast<qulonglong>(result.rows.size());
    const auto total = static_cast<qulonglong>(m_index->size());
    m_following = true;
    m_model->setRows(std::move(result.rows));
    m_following = false;
    m_rowsFilter = m_filter;
    m_summary->setText(
        (shown == total ? QString()
                        : QString(tr("%1 of %2 rows").arg(countText(shown), countText(total)) % u" · "_s))
        % parametersText(result.counts) % u" · "_s % bytesText(result.bytes) % constantsText());
    m_summary->setToolTip(
        tr("%1 elements, %2").arg(countText(result.counts.elements), exactBytesText(result.bytes)));
    m_following = true; // a table that appears with the focus makes its first row the current one
    showEmptyState();
    m_following = false;
    follow(m_context.selection.current());
    FilterView view{.words = FilterText::split(m_filter), .problem = result.problem, .count = {}};
    if (!view.words.isEmpty() && !view.problem) {
        view.count = tr("%1 of %2").arg(countText(shown), countText(total));
        if (result.counts.buffers == 0) // whose elements are not counted
            view.count += tr(" · %1 elements").arg(shortCountText(result.counts.elements));
        view.count += u" · "_s % bytesText(result.bytes);
    }
    tellFilter(view);
    Q_EMIT matchesChanged(result.matches);
}

bool ParametersPage::needsValues() const
{
    return m_checkpoint && ParameterFilter::parse(m_filter).needsValues();
}

void ParametersPage::showValues()
{
    const ValueRun& run = m_context.findings.values();
    if (!needsValues())
        return m_filterBar->showWork({}, {});
    const ReadValuesPtr values = run.of(m_checkpoint);
    if (values != m_values)
        query();
    const auto done = static_cast<qulonglong>(values ? values->tensors.size() : 0);
    const auto all = static_cast<qulonglong>(values ? values->all : 0);
    const QString read = tr("%1 of %2 tensors").arg(countText(done), countText(all));
    if (run.isRunning()) {
        const Progress& now = run.progress();
        QString text = tr("Reading values: %1").arg(values ? read : tr("no tensor yet"));
        if (now.bytesTotal > 0)
            text += u" · "_s % tr("%1 of %2").arg(bytesText(now.bytesDone), bytesText(now.bytesTotal));
        m_filterBar->showWork(text % u". "_s % tr("The rows so far are shown."), tr("Cancel"));
    } else if (m_context.findings.isReadingValues(*m_checkpoint)) {
        m_filterBar->showWork(tr("The check is reading the values. The rows follow when it has ended."), {});
    } else if (!values) {
        m_filterBar->showWork(tr("The values were not read, so no row can match: %1 are to be read.")
                                  .arg(bytesText(ValueRun::bytesOf(*m_checkpoint))),
            tr("Read Values"));
    } else if (!values->isWhole()) {
        const QString reason = run.error() ? u" "_s % errorText(*run.error()) : QString();
        m_filterBar->showWork(
            tr("The values of %1 were read; nothing is known of the others.").arg(read) % reason,
            tr("Read All"));
    } else {
        m_filterBar->showWork(tr("The values of all %1 tensors were read.").arg(countText(all)), {});
    }
}

void ParametersPage::onValueAction()
{
    ValueRun& run = m_context.findings.values();
    if (run.isRunning())
        run.stop();
    else if (m_checkpoint)
        run.start({m_checkpoint, m_context.session.place()});
}

void ParametersPage::fitColumns()
{
    m_fitting = true;
    const QFontMetrics metrics = m_table->fontMetrics();
    constexpr int kMargins = 22; // of cells, and for the sort indicator
    for (int i = 0; i < kParamColumns; ++i) {
        const auto column = static_cast<ParamColumn>(i);
        const auto chosen = m_columnsChosen.find(i);
        m_table->setColumnHidden(
            i, chosen != m_columnsChosen.end() ? !chosen->second : m_index->isConstant(column));
        QString widest = column == ParamColumn::Bytes ? u"1,023.9 MiB"_s
            : column == ParamColumn::Where            ? u"00000000000000"_s
            : m_index->size() > 0                     ? m_model->textOf(m_index->widest(column), column)
                                                      : QString();
        if (column == ParamColumn::Role)
            widest = tr("%1, shared").arg(roleText(ParamRole::Trainable));
        const QString title = m_model->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString();
        const int needed = std::max(metrics.horizontalAdvance(widest), metrics.horizontalAdvance(title) + 12);
        if (column != ParamColumn::Name && !m_widthsChosen)
            m_table->setColumnWidth(i, needed + kMargins);
    }
    m_fitting = false;
    fitName();
}

void ParametersPage::fitName()
{
    if (!m_index || m_index->size() == 0 || m_widthsChosen)
        return;
    constexpr int kLeast = 236;
    int others = 0;
    for (int i = 1; i < kParamColumns; ++i)
        others += m_table->isColumnHidden(i) ? 0 : m_table->columnWidth(i);
    m_fitting = true;
    // Whole names where the table is wide enough for the widest; else the table scrolls.
    const int widest = m_table->fontMetrics().horizontalAdvance(
                           m_model->textOf(m_index->widest(ParamColumn::Name), ParamColumn::Name))
        + 24;
    const int whole = std::clamp(widest, kLeast, std::max(kLeast, m_table->viewport()->width() * 4 / 5));
    m_table->setColumnWidth(0, std::max(whole, m_table->viewport()->width() - others));
    m_fitting = false;
}

bool ParametersPage::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        fitName();
    return Page::eventFilter(watched, event);
}

void ParametersPage::showColumnMenu(const QPoint& position)
{
    auto* menu = new QMenu(this);
    menu->setObjectName(u"parameterColumns"_s);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (int i = 1; i < kParamColumns; ++i) {
        QAction* action = menu->addAction(m_model->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString());
        action->setCheckable(true);
        action->setChecked(!m_table->isColumnHidden(i));
        connect(action, &QAction::toggled, this, [this, i](bool shown) {
            m_columnsChosen[i] = shown;
            m_storeColumns.start();
            if (m_index)
                fitColumns();
        });
    }
    menu->popup(m_table->horizontalHeader()->mapToGlobal(position));
}

/// Takes up the columns of an earlier window, and stores those of this one a while after a change.
void ParametersPage::keepColumns()
{
    for (const auto& [column, width] : m_context.settings.columns(u"parameters"_s).asKeyValueRange()) {
        if (column < 0 || column >= kParamColumns)
            continue;
        if (width <= 0 && column > 0)
            m_columnsChosen[column] = width != 0;
        if (width > 0) {
            m_fitting = true;
            m_table->setColumnWidth(column, width);
            m_fitting = false;
            m_widthsChosen = true;
        }
    }
    m_storeColumns.setSingleShot(true);
    m_storeColumns.setInterval(500);
    connect(&m_storeColumns, &QTimer::timeout, this, [this] {
        QMap<int, int> widths;
        for (const auto& [column, isShown] : m_columnsChosen)
            widths[column] = isShown ? -1 : 0;
        for (int i = 0; m_widthsChosen && i < kParamColumns; ++i)
            if (!m_table->isColumnHidden(i))
                widths[i] = m_table->columnWidth(i);
        m_context.settings.setColumns(u"parameters"_s, widths);
    });
}

QString ParametersPage::constantsText() const
{
    QStringList same;
    for (int i = 1; i < kParamColumns; ++i) {
        const auto column = static_cast<ParamColumn>(i);
        const bool isHidden = m_index->isConstant(column) && m_table->isColumnHidden(i);
        if (!isHidden || column == ParamColumn::Elements || column == ParamColumn::Bytes)
            continue;
        const QString title = m_model->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString().toLower();
        if (const QString value = m_model->textOf(ParamId{0}, column); value != u"–"_s)
            same.append(title % u' ' % value);
    }
    return same.isEmpty() ? QString() : QString(u" · "_s % tr("all: %1").arg(same.join(u", "_s)));
}

void ParametersPage::showEmptyState()
{
    const bool empty = m_model->rowCount() == 0;
    m_save->setEnabled(m_rowsFilter.has_value());
    m_table->setVisible(!empty);
    m_empty->setVisible(empty);
    const QString problem = ParameterFilter::parse(m_filter).error();
    m_summary->setVisible(m_checkpoint != nullptr && problem.isEmpty()); // it counts what matches
    if (!m_checkpoint)
        m_empty->setText(tr("Open a checkpoint to see its parameters."));
    else if (!m_index)
        m_empty->setText(tr("Reading names…"));
    else if (!problem.isEmpty())
        m_empty->setText(tr("The filter cannot be applied.\n%1\nEsc removes the last term.").arg(problem));
    else if (m_index->size() > 0)
        m_empty->setText(tr("No parameter matches the filter. Esc removes the last term."));
    else
        m_empty->setText(m_checkpoint->modelError
                ? tr("The parameters cannot be determined.\n%1").arg(errorText(*m_checkpoint->modelError))
                : tr("This checkpoint holds no parameters."));
}

void ParametersPage::askWhereToSave()
{
    if (!m_checkpoint)
        return;
    const QString name = m_checkpoint->tag.empty() ? tr("parameters")
                                                   : QString(toText(m_checkpoint->tag) % u"-parameters"_s);
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"saveTableDialog"_s,
            .title = tr("Save the Rows of the Table"),
            .filters = tr("CSV table (*.csv);;JSON answer (*.json)"),
            .suggested = name % u".csv"_s},
        [this](const QString& path) { saveRows(path); });
}

void ParametersPage::saveRows(const QString& path)
{
    if (!m_rowsFilter)
        return Q_EMIT told(Severity::Error, tr("Nothing was saved: the rows are not there yet."));
    ReportHead head = rowsHead(entry().name, *m_rowsFilter, sourceWords(*m_checkpoint, m_place));
    m_saver.save(
        [&files = m_context.session.files(),
            table = ParameterTable{m_index, m_model->rows(), m_place.path, std::move(head)},
            target = SaveTarget{path, readAt(m_place)}] { return writeParameterTable(files, table, target); },
        tr("Saved the rows to %1.").arg(path));
}

void ParametersPage::follow(const SelectedThing& thing)
{
    if (thing.param == kNoParam || !m_index) {
        m_following = true;
        m_table->clearSelection();
        m_table->setCurrentIndex({});
        m_following = false;
        return;
    }
    const QModelIndex current = m_table->currentIndex();
    if (current.isValid() && m_model->rowAt(current.row()) == thing.param)
        return;
    const int row = m_model->rowOf(thing.param);
    m_following = true;
    m_table->setCurrentIndex(row < 0 ? QModelIndex() : m_model->index(row, 0));
    if (row >= 0)
        m_table->scrollTo(m_model->index(row, 0), QAbstractItemView::PositionAtCenter);
    m_following = false;
}

} // namespace shardscope::ui
