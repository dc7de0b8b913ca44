// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/parameters_page.h"

#include "ui/controls/table_setup.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_chips.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QStackedLayout>
#include <QTableView>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageEntry ParametersPage::entry()
{
    return {u"parameters"_s, u"actionParameters"_s, tr("Parameters"), tr("&Parameters"), u"table"_s,
        u"concepts"_s, [](const PageContext& context, QWidget* parent) -> Page* {
            return new ParametersPage(context.theme, context.selection, parent);
        }};
}

void ParametersPage::showSession(const Session& session)
{
    setCheckpoint(session.checkpoint());
}

QString ParametersPage::filterHint() const
{
    return tr("Filter parameters (Ctrl+F)");
}

ParametersPage::ParametersPage(Theme& theme, Selection& selection, QWidget* parent)
    : Page(parent)
    , m_selection(selection)
    , m_chips(new FilterChips(theme, this))
    , m_table(new QTableView(this))
    , m_model(new ParameterTableModel(this))
    , m_summary(new QLabel(this))
    , m_empty(new QLabel(this))
{
    setObjectName(u"parametersPage"_s);
    prepareTable(m_table, theme, u"parameterTable"_s, tr("Parameters"));
    m_table->setModel(m_model);
    m_table->setSortingEnabled(false);
    QHeaderView* header = m_table->horizontalHeader();
    header->setSectionsClickable(true);
    header->setSortIndicatorShown(true);
    header->setSortIndicator(0, Qt::AscendingOrder);
    const int widths[] = {236, 86, 78, 84, 66, 112, 52, 80};
    for (int column = 0; column < kParamColumns; ++column)
        m_table->setColumnWidth(column, widths[column]);
    m_summary->setObjectName(u"parameterSummary"_s);
    m_summary->setContentsMargins(12, 6, 12, 6);
    m_empty->setObjectName(u"parametersEmpty"_s);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setMargin(40);

    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_chips);
    rows->addWidget(m_table, 1);
    rows->addWidget(m_empty, 1);
    rows->addWidget(m_summary);

    QAction* show = addViewAction(m_table, tr("Show on the Partition Map"));
    connect(show, &QAction::triggered, this, [this] { Q_EMIT m_selection.pageRequested(u"mapPage"_s); });
    connect(header, &QHeaderView::sortIndicatorChanged, this, [this](int column, Qt::SortOrder order) {
        m_column = static_cast<ParamColumn>(column);
        m_descending = order == Qt::DescendingOrder;
        query();
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (!m_following && now.isValid())
                m_selection.selectParam(m_model->paramAt(now.row()));
        });
    connect(m_table, &QTableView::activated, this,
        [this](const QModelIndex& at) { Q_EMIT parameterActivated(m_model->paramAt(at.row())); });
    connect(&selection, &Selection::changed, this, &ParametersPage::follow);
    connect(m_chips, &FilterChips::wordsWanted, this,
        [this](const QStringList& words) { Q_EMIT filterWanted(words.join(u' ')); });
    setFocusProxy(m_table);
    showEmptyState();
}

void ParametersPage::setCheckpoint(const CheckpointPtr& checkpoint)
{
    m_checkpoint = checkpoint;
    m_index.reset();
    m_model->setIndex(nullptr);
    m_querier.cancel();
    Q_EMIT matchesChanged(nullptr); // ids of the former checkpoint
    if (!checkpoint) {
        m_indexer.cancel();
        showEmptyState();
        return;
    }
    m_summary->setText(tr("Reading names…"));
    m_indexer.run<ParameterIndexPtr>(
        [checkpoint](const std::stop_token& token, const std::function<void(ParameterIndexPtr)>& deliver) {
            if (auto made = ParameterIndex::build(checkpoint, token))
                deliver(std::move(made));
        },
        [this](ParameterIndexPtr made) {
            m_index = std::move(made);
            m_model->setIndex(m_index);
            query();
        });
}

void ParametersPage::setFilter(const QString& text)
{
    if (text == m_filter)
        return;
    m_filter = text;
    m_chips->setWords(ParameterFilter::words(text));
    query();
}

void ParametersPage::sortBy(ParamColumn column, Qt::SortOrder order)
{
    m_table->horizontalHeader()->setSortIndicator(static_cast<int>(column), order);
}

void ParametersPage::query()
{
    if (!m_index)
        return;
    m_querier.run<ParameterRows>(
        [index = m_index, text = m_filter, column = m_column, descending = m_descending](
            const std::stop_token& token, const std::function<void(ParameterRows)>& deliver) {
            deliver(queryRows(*index, ParameterFilter::parse(text), column, descending, token));
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
    m_summary->setText(tr("%1 of %2 parameters · %3 elements · %4")
                           .arg(countText(shown), countText(total), shortCountText(result.elements),
                               bytesText(result.bytes)));
    m_summary->setToolTip(
        tr("%1 elements, %2").arg(countText(result.elements), exactBytesText(result.bytes)));
    showEmptyState();
    follow(m_selection.current());
    Q_EMIT filtered(shown, total, result.error);
    Q_EMIT matchesChanged(result.matches);
}

void ParametersPage::showEmptyState()
{
    const bool empty = m_model->rowCount() == 0;
    m_table->setVisible(!empty);
    m_empty->setVisible(empty);
    m_summary->setVisible(m_checkpoint != nullptr);
    if (!m_checkpoint)
        m_empty->setText(tr("Open a checkpoint to see its parameters."));
    else if (!m_index)
        m_empty->setText(tr("Reading names…"));
    else if (m_index->size() > 0)
        m_empty->setText(tr("No parameter matches the filter. Esc removes the last term."));
    else
        m_empty->setText(m_checkpoint->modelError
                ? tr("The parameters cannot be determined.\n%1").arg(errorText(*m_checkpoint->modelError))
                : tr("This checkpoint holds no parameters."));
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
    if (current.isValid() && m_model->paramAt(current.row()) == thing.param)
        return;
    const int row = m_model->rowOf(thing.param);
    m_following = true;
    m_table->setCurrentIndex(row < 0 ? QModelIndex() : m_model->index(row, 0));
    if (row >= 0)
        m_table->scrollTo(m_model->index(row, 0), QAbstractItemView::PositionAtCenter);
    m_following = false;
}

} // namespace shardscope::ui
