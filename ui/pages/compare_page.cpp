// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/compare_page.h"

#include "ui/controls/filter_bar.h"
#include "ui/controls/table_setup.h"
#include "ui/models/parameters/difference_table_model.h"
#include "ui/pages/compare_bar.h"
#include "ui/pages/compare_maps.h"
#include "ui/pages/verdict_panel.h"
#include "ui/text/text.h"
#include "ui/widgets/command_line.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/window_fit.h"

#include <QAction>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollBar>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr double kMapShare = 0.5; ///< of the height that maps and table have together
constexpr int kLeastRows = 4; ///< of the table, before the maps get room
constexpr const char* kChosen = "shareIsChosen"; ///< property of the splitter: by the user
const QString kNextAction = u"actionNextDifference"_s;
const QString kPreviousAction = u"actionPreviousDifference"_s;

} // namespace

PageEntry ComparePage::entry()
{
    return {PageId::Compare, u"compare"_s, u"actionComparePage"_s, tr("Compare"), tr("&Compare"),
        u"compare"_s, u"comparing"_s, &makePage<ComparePage>,
        {{PageAction::Menu::File, u"actionCompare"_s, tr("Compare &With…"),
             {Qt::CTRL | Qt::SHIFT | Qt::Key_D}, u"compare"_s, true,
             [](Page& page) { page.setFocus(Qt::ShortcutFocusReason); }},
            {PageAction::Menu::Go, kNextAction, tr("Ne&xt Difference"), {Qt::Key_F7}, {}, false,
                [](Page& page) { static_cast<ComparePage&>(page).goToDifference(1); }},
            {PageAction::Menu::Go, kPreviousAction, tr("Previous Diff&erence"), {Qt::SHIFT | Qt::Key_F7}, {},
                false, [](Page& page) { static_cast<ComparePage&>(page).goToDifference(-1); }}}};
}

bool ComparePage::canRun(const PageAction& action) const
{
    return hasRows() || (action.name != kNextAction && action.name != kPreviousAction);
}

ComparePage::ComparePage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_run(context.compareRun)
    , m_bar(new CompareBar(context.theme, context.settings, this))
    , m_messages(new MessageBar(context.theme, this))
    , m_verdict(new VerdictPanel(context.theme, this))
    , m_empty(makeEmpty(u"compareEmpty"_s))
    , m_splitter(new QSplitter(Qt::Vertical, this))
    , m_maps(new CompareMaps(context.theme, context.selection, m_splitter))
    , m_model(new DifferenceTableModel(this))
    , m_command(new CommandLine(context.theme, u"compareCommand"_s, this))
{
    setObjectName(u"comparePage"_s);
    m_messages->setObjectName(u"compareMessages"_s);
    m_splitter->setObjectName(u"compareSplitter"_s);
    m_splitter->addWidget(m_maps);
    m_maps->setMinimumHeight(1); // the page is not scrolled for maps that give way
    m_splitter->addWidget(makeTablePart());
    m_splitter->installEventFilter(this);
    connect(m_splitter, &QSplitter::splitterMoved, this, [this] { m_splitter->setProperty(kChosen, true); });
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(12, 6, 12, 8);
    foot->addWidget(m_command);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_bar);
    rows->addWidget(m_messages);
    rows->addWidget(m_verdict);
    rows->addWidget(m_splitter, 1);
    rows->addWidget(m_empty, 1);
    rows->addLayout(foot);
    handFocusTo(this, m_bar);
    m_maps->followFindings(context.findings);
    connectParts();
    showRun();
}

QWidget* ComparePage::makeTablePart()
{
    auto* part = new QWidget(m_splitter);
    m_table = new QTableView(part);
    prepareTable(m_table, m_context.theme, u"differenceTable"_s, tr("Differences"));
    m_table->setModel(m_model);
    QHeaderView* header = m_table->horizontalHeader();
    header->setSectionsClickable(true);
    header->setSortIndicatorShown(true);
    header->setSortIndicatorClearable(true); // a third click: most important first
    header->setSortIndicator(-1, Qt::AscendingOrder);
    fitColumns(m_table,
        {u"right incomplete"_s, u"layers.0.attention.wq"_s, u"exp_avg_sq"_s, u"5 of 768, 5 NaN/Inf (left)"_s,
            u"0.0e-00"_s, u"0.0e-00"_s, u"0.0000"_s, u"0.0e-00"_s});
    header->setStretchLastSection(false);
    m_table->viewport()->installEventFilter(this);
    m_count = new QLabel(part);
    m_count->setObjectName(u"compareCount"_s);
    m_saveRows = addButton(u"compareSaveRows"_s, tr("Save as CS&V…"),
        tr("The rows as they are shown here, with the columns and numbers of “shardscope diff --json”"));
    m_save = addButton(u"compareSave"_s, tr("Save as &JSON…"),
        tr("The whole comparison, as “shardscope diff --json” prints it"));
    m_showMaps = addButton(u"compareShowMaps"_s, tr("Show &Maps"),
        tr("Both maps have the room of the table, besides its current row"));
    m_showMaps->setCheckable(true);
    auto* line = new QHBoxLayout;
    line->setContentsMargins(12, 4, 12, 4);
    line->addWidget(m_count, 1);
    line->addWidget(m_showMaps);
    line->addWidget(m_saveRows);
    line->addWidget(m_save);
    auto* rows = new QVBoxLayout(part);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(makeFilterBar());
    rows->addWidget(m_table, 1);
    rows->addLayout(line);
    return part;
}

QToolButton* ComparePage::addButton(const QString& name, const QString& text, const QString& tip)
{
    auto* button = new QToolButton(this);
    button->setObjectName(name);
    button->setText(text);
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::StrongFocus);
    return button;
}

void ComparePage::connectParts()
{
    connect(m_bar, &CompareBar::compareRequested, this, &ComparePage::start);
    connect(m_bar, &CompareBar::cancelRequested, &m_run, &CompareRun::cancel);
    connect(m_bar, &CompareBar::cancelRequested, this, [this] {
        m_startWaits = false;
        showRun();
    });
    connect(m_bar, &CompareBar::edited, this, &ComparePage::updateCommand);
    connect(&m_run, &CompareRun::changed, this, &ComparePage::showRun);
    connect(&m_run, &CompareRun::progressChanged, this, [this] { m_verdict->show(m_run); });
    connect(m_table->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this,
        [this](int column, Qt::SortOrder order) {
            m_order.column = column < 0 ? std::nullopt : std::optional(static_cast<DifferenceColumn>(column));
            m_order.descending = order == Qt::DescendingOrder;
            query();
        });
    connect(
        m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &ComparePage::showCurrent);
    connect(m_table, &QTableView::clicked, this, &ComparePage::toggleOptions);
    m_table->installEventFilter(this);
    const auto addWay = [this](const QString& text, PageId page) {
        connect(addViewAction(m_table, text), &QAction::triggered, this, [this, page] {
            showCurrent();
            Q_EMIT m_context.selection.pageRequested(page);
        });
    };
    connect(m_showMaps, &QToolButton::toggled, this, [this] {
        m_splitter->setProperty(kChosen, false);
        shareHeight();
        m_table->scrollTo(m_table->currentIndex());
    });
    addWay(tr("Show on the Partition Map"), PageId::Map);
    addWay(tr("Show Its Values"), PageId::Tensor);
    connect(m_saveRows, &QToolButton::clicked, this,
        [this] { askWhere(tr("CSV (*.csv)"), u"diff.csv"_s, &ComparePage::saveRows); });
    connect(m_save, &QToolButton::clicked, this,
        [this] { askWhere(tr("JSON (*.json)"), u"diff.json"_s, &ComparePage::saveReport); });
}

void ComparePage::showCheckpoint()
{
    const MapLooksPtr& looks = m_context.session.looks();
    m_bar->setCheckpoint(m_checkpoint, looks ? looks->states : std::vector<std::string>{});
    if (m_startWaits)
        start();
    updateCommand();
    updateEmpty();
}

void ComparePage::compareWith(const QString& path, bool andStart)
{
    m_bar->setOther(path);
    if (andStart)
        start();
}

void ComparePage::start()
{
    const auto wish = m_bar->wish();
    m_startWaits = false;
    m_messages->hide();
    if (!wish)
        return m_messages->showMessage(Severity::Error, m_bar->problem());
    if (wish->other.empty())
        return;
    m_startWaits = !m_checkpoint || !m_checkpoint->fullyRead;
    if (!m_startWaits)
        m_run.start({m_checkpoint, m_context.session.place()}, *wish);
    m_bar->setRunning(true);
}

bool ComparePage::isBusy() const
{
    return m_run.isRunning() || m_startWaits || m_querier.isRunning()
        || (m_maps->isVisible() && m_splitter->sizes().front() > 0 && !m_maps->isDrawn());
}

bool ComparePage::hasRows() const
{
    return m_model->rowCount() > 0;
}

void ComparePage::showRun()
{
    m_bar->setRunning(m_run.isRunning() || m_startWaits);
    m_verdict->show(m_run);
    m_maps->setOutcome(m_run.outcome());
    const DifferenceListPtr list = m_run.outcome() ? m_run.outcome()->differences : nullptr;
    m_model->setList(list);
    fitName();
    m_rowsFilter.reset();
    m_saveRows->setEnabled(false);
    m_count->clear();
    if (list)
        query();
    else
        m_querier.cancel();
    updateEmpty();
    Q_EMIT actionsChanged();
}

void ComparePage::setFilter(const QString& filter)
{
    if (filter == m_order.filter)
        return;
    m_order.filter = filter;
    tellFilter({.words = FilterText::split(filter),
        .problem = FilterText::read(filter, differenceTerms()).problem(),
        .count = {}});
    query();
}

void ComparePage::query()
{
    if (!m_model->list())
        return;
    m_querier.run<std::vector<uint32_t>>(
        [list = m_model->list(), order = m_order](
            const std::stop_token& token, const std::function<void(std::vector<uint32_t>)>& deliver) {
            deliver(orderedDifferences(*list, order, token));
        },
        [this](std::vector<uint32_t> rows) { showRows(std::move(rows)); });
}

void ComparePage::showRows(std::vector<uint32_t> rows)
{
    m_filling = true;
    m_model->showRows(std::move(rows), m_order.filter.isEmpty()); // what a filter finds is not hidden
    m_filling = false;
    m_rowsFilter = m_order.filter;
    m_saveRows->setEnabled(true);
    const QString counted = m_model->list()->counted(m_model->differences());
    m_count->setText(counted);
    FilterView view{.words = FilterText::split(m_order.filter),
        .problem = FilterText::read(m_order.filter, differenceTerms()).problem(),
        .count = {}};
    if (!view.words.isEmpty() && !view.problem)
        view.count = counted;
    tellFilter(view);
    updateEmpty();
    Q_EMIT actionsChanged();
}

void ComparePage::showCurrent()
{
    const QModelIndex at = m_table->currentIndex();
    if (m_filling || !at.isValid() || !m_model->list())
        return;
    const uint32_t row = m_model->rowAt(at.row());
    if (const ParamDifference* difference = m_model->list()->param(row))
        m_maps->showParam(difference->param.left, difference->param.right, m_model->list()->state(row));
}

bool ComparePage::toggleOptions(const QModelIndex& at)
{
    if (!m_model->list() || !m_model->isOptionsRow(at.row()))
        return false;
    m_filling = true;
    m_model->setUnfolded(!m_model->isUnfolded());
    m_table->setCurrentIndex(m_model->index(at.row(), at.column()));
    m_filling = false;
    return true;
}

bool ComparePage::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const bool isToggle = key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space;
        if (isToggle && toggleOptions(m_table->currentIndex()))
            return true;
    }
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        fitName();
    if (watched == m_splitter && (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest))
        shareHeight();
    return Page::eventFilter(watched, event);
}

QSize ComparePage::minimumSizeHint() const
{
    return m_verdict->isVisible() ? withWrappedLines(*this) : Page::minimumSizeHint();
}

void ComparePage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    m_verdict->setPageHeight(height());
}

/// Names have what the other columns leave, and are whole on half of the page at least: the table scrolls
/// then. What differs has the room that names do not need.
void ComparePage::fitName()
{
    constexpr auto kName = static_cast<int>(DifferenceColumn::Name);
    constexpr auto kCount = static_cast<int>(DifferenceColumn::Different);
    constexpr const char* kFitted = "fittedCount";
    constexpr int kMargins = 28;
    const int width = m_table->viewport()->width();
    const QFontMetrics metrics = m_table->fontMetrics();
    const DifferenceListPtr& list = m_model->list();
    const int readable = metrics.horizontalAdvance(u"layers.00.attention.weight"_s) + kMargins;
    const int whole
        = std::min(metrics.horizontalAdvance(list ? list->longestName() : QString()) + kMargins, width / 2);
    int others = m_table->horizontalHeader()->length() - m_table->columnWidth(kName);
    const QVariant former = m_table->property(kFitted);
    if (!former.isValid() || former.toInt() == m_table->columnWidth(kCount)) {
        // Cut in the middle it would say something else: usual counts are whole, and the table scrolls.
        const int usual = metrics.horizontalAdvance(u"5 of 768, 5 NaN/Inf (left)"_s) + kMargins;
        const int largest = metrics.horizontalAdvance(u"98,304 of 98,304, 5 NaN/Inf (left)"_s) + kMargins;
        const int wanted = metrics.horizontalAdvance(list ? list->longestCount() : QString()) + kMargins;
        const int least = std::clamp(wanted, usual, largest);
        others -= m_table->columnWidth(kCount);
        const int room = width - others - std::max(readable, whole);
        m_table->setColumnWidth(kCount, std::max(least, std::min(wanted, room)));
        m_table->setProperty(kFitted, m_table->columnWidth(kCount));
        others += m_table->columnWidth(kCount);
    }
    m_table->setColumnWidth(kName, std::max({readable, whole, width - others}));
}

/// The maps have half, and what they need at least, but not the place of the first rows of the table:
/// if too little is left for them, a button shows either. Until the user moves the handle.
void ComparePage::shareHeight()
{
    const int height = m_splitter->height() - m_splitter->handleWidth();
    if (m_splitter->property(kChosen).toBool() || m_table->isHidden() || height <= 0)
        return;
    const auto roomBesides = [&](int rows) {
        m_table->setMinimumHeight(m_table->horizontalHeader()->height()
            + rows * m_table->verticalHeader()->defaultSectionSize()
            + m_table->horizontalScrollBar()->sizeHint().height() + 2 * m_table->frameWidth());
        return height - m_table->parentWidget()->minimumSizeHint().height();
    };
    const int least = m_maps->leastHeight();
    int room = roomBesides(kLeastRows);
    m_showMaps->setHidden(room >= least);
    const bool isChosen = room < least && m_showMaps->isChecked();
    if (isChosen)
        room = roomBesides(1);
    const int wanted = isChosen
        ? room
        : std::max(m_maps->minimumSizeHint().height(), static_cast<int>(height * kMapShare));
    const int maps = room < least && !isChosen ? 0 : std::min(wanted, room);
    m_splitter->setSizes({maps, height - maps});
}

void ComparePage::goToDifference(int step)
{
    const int rows = m_model->rowCount();
    if (rows == 0)
        return;
    const QModelIndex current = m_table->currentIndex();
    const int from = current.isValid() ? current.row() : (step > 0 ? -1 : rows);
    int to = (from + step + rows) % rows;
    if (m_model->isOptionsRow(to)) // it is no difference, and never the only row
        to = (to + step + rows) % rows;
    const QModelIndex next = m_model->index(to, current.isValid() ? current.column() : 0);
    m_table->setCurrentIndex(next);
    m_table->scrollTo(next);
    showCurrent();
}

void ComparePage::updateCommand()
{
    const auto wish = m_bar->wish();
    const bool any = m_checkpoint && wish && !wish->other.empty();
    m_command->setVisible(any);
    if (any)
        m_command->setCommand(compareCommand(sourceWords(*m_checkpoint, m_place), *wish));
}

void ComparePage::updateEmpty()
{
    const bool outcome = m_run.outcome() != nullptr;
    m_splitter->setVisible(outcome);
    m_empty->setVisible(!outcome);
    const bool rows = hasRows() || !m_order.filter.isEmpty();
    const bool appears = rows && m_table->isHidden();
    m_table->setVisible(rows);
    QWidget* part = m_table->parentWidget();
    part->setMaximumHeight(rows ? QWIDGETSIZE_MAX : part->sizeHint().height());
    if (appears)
        shareHeight();
    else if (!rows)
        m_showMaps->hide(); // they have all room
    if (!m_checkpoint)
        m_empty->setText(tr("Open a checkpoint to compare it with another one."));
    else if (m_run.isRunning() || m_run.error())
        m_empty->clear();
    else if (m_startWaits)
        m_empty->setText(tr("The comparison can start when all files of the checkpoint are read."));
    else
        m_empty->setText(tr("Choose a second checkpoint: another tag of this run, a resharded copy, a "
                            "universal folder.\nNumber of GPUs, ZeRO stage and form may differ; every "
                            "parameter, state, step and option is compared."));
}

void ComparePage::askWhere(
    const QString& kind, const QString& fileName, void (ComparePage::*save)(const QString&))
{
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"compareSaveDialog"_s,
            .title = tr("Save the Comparison"),
            .filters = kind,
            .suggested = fileName},
        [this, save](const QString& path) { (this->*save)(path); });
}

ComparisonToSave ComparePage::toSave(const QString& command, const QString& filter) const
{
    ComparisonToSave out{m_run.outcome(), *m_run.wish(), reportHead(command.toStdString())};
    out.head.filter = filter.toStdString();
    return out;
}

void ComparePage::saveReport(const QString& path)
{
    if (!m_run.outcome())
        return;
    const QString command = compareCommand(sourceWords(*m_checkpoint, m_place), *m_run.wish()) % u" --json"_s;
    write(path, [&files = m_context.session.files(), saved = toSave(command, {})](const SaveTarget& target) {
        return writeComparison(files, saved, target);
    });
}

void ComparePage::saveRows(const QString& path)
{
    if (!m_rowsFilter)
        return m_messages->showMessage(Severity::Error, tr("Nothing was saved: the rows are not there yet."));
    QStringList words{u"--against"_s, quotedWord(m_run.wish()->other.native())};
    if (!m_rowsFilter->isEmpty())
        words << u"--filter"_s << quotedWord(*m_rowsFilter);
    const QString command = pageCommand(entry().name, words, sourceWords(*m_checkpoint, m_place));
    write(path,
        [&files = m_context.session.files(), rows = m_model->differences(),
            saved = toSave(command, *m_rowsFilter)](
            const SaveTarget& target) { return writeDifferenceRows(files, saved, rows, target); });
}

void ComparePage::write(const QString& path, std::function<QString(const SaveTarget&)> work)
{
    SaveTarget target{path, readAt(m_place)};
    target.read.push_back(m_run.wish()->other);
    m_saver.save([work = std::move(work), target = std::move(target)] { return work(target); },
        tr("Saved the comparison to %1.").arg(path));
}

} // namespace shardscope::ui
