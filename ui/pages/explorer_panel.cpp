// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/explorer_panel.h"

#include "ui/controls/table_setup.h"
#include "ui/jobs/free_later.h"
#include "ui/session/findings/finding_store.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"

#include <QAction>
#include <QEvent>
#include <QHeaderView>
#include <QTreeView>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

ExplorerPanel::ExplorerPanel(Theme& theme, Selection& selection, QWidget* parent)
    : QWidget(parent)
    , m_selection(selection)
    , m_tree(new QTreeView(this))
    , m_model(new ExplorerModel(this))
{
    setObjectName(u"explorerPanel"_s);
    setMinimumWidth(180); // a smaller width leaves no space for names
    prepareTree(m_tree, theme, u"explorerTree"_s, tr("Explorer: modules, ranks, files, groups"));
    m_tree->setModel(m_model);
    m_tree->header()->setStretchLastSection(false);
    m_tree->setHeaderHidden(true);
    m_tree->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_tree->header()->setSectionResizeMode(1, QHeaderView::Fixed);
    fitSizes();
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->addWidget(m_tree);
    handFocusTo(this, m_tree);

    QAction* filter = addViewAction(m_tree, tr("Show in the Parameter Table"));
    connect(filter, &QAction::triggered, this, [this] { activate(m_tree->currentIndex()); });
    connect(
        m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& now) {
            if (!m_following)
                choose(now);
        });
    connect(m_tree, &QTreeView::activated, this, &ExplorerPanel::activate);
    connect(&selection, &Selection::changed, this, &ExplorerPanel::follow);
}

/// Sizes are whole, or not shown where names would not have room.
void ExplorerPanel::fitSizes()
{
    const QFontMetrics metrics = m_tree->fontMetrics();
    constexpr int kMargins = 18;
    constexpr int kNameLetters = 14;
    const int sizes = metrics.horizontalAdvance(u"1,023.9 MiB"_s) + kMargins;
    m_tree->header()->resizeSection(1, sizes);
    m_tree->setColumnHidden(1, width() < sizes + kNameLetters * metrics.averageCharWidth());
}

void ExplorerPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitSizes();
}

void ExplorerPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        fitSizes();
}

void ExplorerPanel::setCheckpoint(const CheckpointPtr& checkpoint)
{
    rememberExpanded();
    m_checkpoint = checkpoint;
    m_following = true;
    m_model->setTree(nullptr, nullptr);
    m_following = false;
    m_marker.cancel();
    if (m_findings != nullptr)
        m_findings->follow(checkpoint);
    showFindings();
    if (!checkpoint) {
        m_builder.cancel();
        m_expanded.clear();
        return;
    }
    m_builder.run<ExplorerTreePtr>(
        [checkpoint](const std::stop_token& token, const std::function<void(ExplorerTreePtr)>& deliver) {
            if (auto tree = ExplorerTree::build(checkpoint, token))
                deliver(freedOnWorker(std::move(tree)));
        },
        [this](ExplorerTreePtr tree) {
            m_following = true;
            m_model->setTree(m_checkpoint, std::move(tree));
            restoreExpanded();
            m_following = false;
            follow(m_selection.current());
            showFindings();
            Q_EMIT ready();
        });
}

void ExplorerPanel::followFindings(const FindingStore& store)
{
    m_findings = &store.marker();
    connect(m_findings, &FindingMarker::changed, this, &ExplorerPanel::showFindings);
    m_findings->follow(m_checkpoint);
}

bool ExplorerPanel::isBusy() const
{
    return m_builder.isRunning() || m_marker.isRunning() || (m_findings != nullptr && m_findings->isBusy());
}

void ExplorerPanel::showFindings()
{
    const ExplorerTreePtr tree = m_model->tree();
    const FindingPlacesPtr places = m_findings != nullptr ? m_findings->of(m_checkpoint) : nullptr;
    if (!tree || !places || places->findings().empty()) {
        m_marker.cancel();
        m_model->setMarks(nullptr);
        return;
    }
    m_marker.run<ExplorerMarksPtr>(
        [tree, places](const std::stop_token& token, const std::function<void(ExplorerMarksPtr)>& deliver) {
            if (auto marks = ExplorerMarks::build(places, *tree, token))
                deliver(std::move(marks));
        },
        [this](ExplorerMarksPtr marks) {
            m_model->setMarks(std::move(marks));
            m_tree->viewport()->update();
        });
}

void ExplorerPanel::choose(const QModelIndex& at)
{
    const ExplorerNode* node = m_model->nodeAt(at);
    if (node == nullptr)
        return;
    SelectedThing thing;
    switch (node->kind) {
    case ExplorerKind::Param:
        m_selection.selectParam(ParamId{node->id});
        return;
    case ExplorerKind::Rank:
        m_selection.selectRank(node->id);
        return;
    case ExplorerKind::File:
        m_selection.selectFile(FileId{node->id});
        return;
    case ExplorerKind::Unit:
        thing.unit = UnitId{node->id};
        break;
    case ExplorerKind::Group:
        for (const ParamGroup& group : m_checkpoint->groups)
            if (group.index == node->id && !group.units.empty())
                thing.unit = group.units.front();
        break;
    case ExplorerKind::Section:
    case ExplorerKind::Module:
    case ExplorerKind::Fold:
    case ExplorerKind::NoRank:
        return;
    }
    m_selection.select(std::move(thing));
}

void ExplorerPanel::activate(const QModelIndex& at)
{
    const ExplorerNode* node = m_model->nodeAt(at);
    if (node == nullptr)
        return;
    switch (node->kind) {
    case ExplorerKind::Module:
        Q_EMIT filterRequested(m_model->fullName(at) % u".*"_s);
        break;
    case ExplorerKind::Fold:
        Q_EMIT filterRequested(m_model->fullName(at.parent()) % u".*"_s);
        break;
    case ExplorerKind::Group:
        Q_EMIT filterRequested(u"group:%1"_s.arg(node->id));
        break;
    case ExplorerKind::Param:
        Q_EMIT m_selection.pageRequested(PageId::Parameters);
        break;
    case ExplorerKind::File:
    case ExplorerKind::NoRank:
        Q_EMIT m_selection.pageRequested(PageId::Files);
        break;
    case ExplorerKind::Rank:
    case ExplorerKind::Unit:
        Q_EMIT m_selection.pageRequested(PageId::Map);
        break;
    case ExplorerKind::Section:
        break;
    }
}

void ExplorerPanel::follow(const SelectedThing& thing)
{
    QModelIndex at;
    if (thing.param != kNoParam)
        at = m_model->indexOf(ExplorerKind::Param, index(thing.param));
    else if (thing.file != kNoFile)
        at = m_model->indexOf(ExplorerKind::File, index(thing.file));
    else if (thing.rank)
        at = m_model->indexOf(ExplorerKind::Rank, *thing.rank);
    else if (thing.unit != kNoUnit && m_model->nodeAt(m_tree->currentIndex()) != nullptr)
        return; // a unit has no line of its own when its group has only one
    m_following = true;
    if (at.isValid() && at.siblingAtColumn(0) != m_tree->currentIndex().siblingAtColumn(0)) {
        m_tree->setCurrentIndex(at);
        m_tree->scrollTo(at);
    } else if (!at.isValid() && thing.isEmpty()) {
        m_tree->clearSelection();
        m_tree->setCurrentIndex({});
    }
    m_following = false;
}

void ExplorerPanel::rememberExpanded()
{
    if (m_model->rowCount() == 0)
        return;
    m_expanded.clear();
    QList<QModelIndex> open;
    for (int row = 0; row < m_model->rowCount(); ++row)
        open.append(m_model->index(row, 0));
    while (!open.isEmpty()) {
        const QModelIndex at = open.takeLast();
        if (!m_tree->isExpanded(at))
            continue;
        const ExplorerNode* node = m_model->nodeAt(at);
        m_expanded.append(QString::number(static_cast<int>(node->kind)) % u' ' % QString::number(node->id)
            % u' ' % m_model->fullName(at));
        for (int row = 0; row < m_model->rowCount(at); ++row)
            open.append(m_model->index(row, 0, at));
    }
}

void ExplorerPanel::restoreExpanded()
{
    if (m_expanded.isEmpty()) {
        m_tree->expand(m_model->index(0, 0));
        // Open the tree down to its first branch: a single "model" or "module" is not informative.
        QModelIndex at = m_model->index(0, 0);
        while (m_model->rowCount(at) == 1) {
            at = m_model->index(0, 0, at);
            m_tree->expand(at);
        }
        return;
    }
    const QSet<QString> wanted(m_expanded.begin(), m_expanded.end());
    QList<QModelIndex> open;
    for (int row = 0; row < m_model->rowCount(); ++row)
        open.append(m_model->index(row, 0));
    while (!open.isEmpty()) {
        const QModelIndex at = open.takeLast();
        const ExplorerNode* node = m_model->nodeAt(at);
        if (node->childCount == 0
            || !wanted.contains(QString::number(static_cast<int>(node->kind)) % u' '
                % QString::number(node->id) % u' ' % m_model->fullName(at)))
            continue;
        m_tree->expand(at);
        for (int row = 0; row < m_model->rowCount(at); ++row)
            open.append(m_model->index(row, 0, at));
    }
}

} // namespace shardscope::ui
