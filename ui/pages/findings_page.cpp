// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/findings_page.h"

#include "core/far/far_path.h"
#include "core/plan/repair/repair.h"
#include "ui/controls/filter_bar.h"
#include "ui/controls/table_setup.h"
#include "ui/pages/change_set_panel.h"
#include "ui/pages/check_bar.h"
#include "ui/pages/finding_details.h"
#include "ui/session/findings/check_text.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/plans/repair_preview.h"
#include "ui/session/shell_words.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/window_fit.h"

#include <QHash>
#include <QHeaderView>
#include <QInputDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QSplitter>
#include <QTreeView>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kWhereWidth = 120;
constexpr int kLeastRows = 4; ///< of the list; the page is scrolled then
/// Of the width that list and explanation have together.
constexpr int kListShare = 5000;
constexpr int kDetailsShare = 4000;

} // namespace

PageEntry FindingsPage::entry()
{
    return {PageId::Findings, u"findings"_s, u"actionFindings"_s, tr("Findings"), tr("Fin&dings"), u"check"_s,
        u"repairing"_s, &makePage<FindingsPage>,
        {{PageAction::Menu::Checkpoint, u"actionCheck"_s, tr("Chec&k"), {Qt::Key_F8}, u"check"_s, true,
            [](Page& page) { static_cast<FindingsPage&>(page).check(); }}}};
}

Page::Tab FindingsPage::tab() const
{
    const auto [infos, warnings, errors] = m_found ? countBySeverity(*m_found) : std::array<size_t, 3>{};
    QStringList counts;
    if (errors > 0)
        counts.append(errors == 1 ? tr("1 error") : tr("%1 errors").arg(countText(errors)));
    if (warnings > 0)
        counts.append(warnings == 1 ? tr("1 warning") : tr("%1 warnings").arg(countText(warnings)));
    const size_t worst = errors > 0 ? errors : warnings;
    return {worst > 0 ? tr("Findings (%1)").arg(countText(worst)) : tr("Findings"), counts.join(u", "_s),
        errors > 0         ? themedIcon(m_context.theme, u"error"_s, ThemeRole::Error)
            : warnings > 0 ? themedIcon(m_context.theme, u"warning"_s, ThemeRole::Warning)
                           : themedIcon(m_context.theme, u"check"_s, ThemeRole::MutedText)};
}

QString FindingsPage::filterHint() const
{
    return tr("Filter findings (Ctrl+F)");
}

FindingsPage::FindingsPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_run(context.findings.run())
    , m_bar(new CheckBar(context.theme, this))
    , m_messages(new MessageBar(context.theme, this))
    , m_splitter(new QSplitter(Qt::Horizontal, this))
    , m_model(new FindingTreeModel(context.theme, this))
    , m_tree(new QTreeView(m_splitter))
    , m_details(new FindingDetails(context.theme, m_splitter))
    , m_changeSet(new ChangeSetPanel(context.session.files(), context.theme, this))
    , m_empty(makeEmpty(u"findingsEmpty"_s))
{
    setObjectName(u"findingsPage"_s);
    m_messages->setObjectName(u"findingsMessages"_s);
    prepareTree(m_tree, context.theme, u"findingTree"_s, tr("Findings by kind"));
    m_tree->setModel(m_model);
    m_tree->header()->setStretchLastSection(false);
    m_tree->header()->setSectionResizeMode(FindingTreeModel::What, QHeaderView::Stretch);
    shareWidth(m_tree, FindingTreeModel::Where, kWhereWidth);
    keepRows(m_tree, kLeastRows);
    m_splitter->setObjectName(u"findingsSplitter"_s);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->addWidget(m_tree);
    m_splitter->addWidget(m_details);
    m_splitter->setSizes({kListShare, kDetailsShare});
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_bar);
    rows->addWidget(m_messages);
    rows->addWidget(makeFilterBar());
    rows->addWidget(m_splitter, 3);
    rows->addWidget(m_changeSet, 2);
    rows->addWidget(m_empty, 1);
    connectParts();
    showRun();
}

void FindingsPage::connectParts()
{
    connect(m_bar, &CheckBar::checkRequested, this, &FindingsPage::check);
    connect(m_bar, &CheckBar::stopRequested, &m_run, &CheckRun::stop);
    connect(m_bar, &CheckBar::saveRequested, this, &FindingsPage::askWhere);
    connect(m_bar, &CheckBar::shownChanged, this, [this](Severity severity, bool shown) {
        refill([this, severity, shown] { m_model->setShown(severity, shown); });
    });
    connect(&m_context.findings, &FindingStore::changed, this, &FindingsPage::showRun);
    connect(&m_run, &CheckRun::progressChanged, this, [this] { m_bar->showProgress(m_run); });
    connect(m_tree->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &FindingsPage::choose);
    connect(m_tree, &QTreeView::collapsed, this, [this](const QModelIndex& at) { rememberFolded(at, true); });
    connect(m_tree, &QTreeView::expanded, this, [this](const QModelIndex& at) { rememberFolded(at, false); });
    connect(m_model, &QAbstractItemModel::dataChanged, this, &FindingsPage::spanRows);
    connect(m_changeSet, &ChangeSetPanel::applyRequested, this, &FindingsPage::repairRequested);
    connect(m_changeSet, &ChangeSetPanel::planChanged, m_model, &FindingTreeModel::setPlanned);
    connect(m_messages, &MessageBar::actionTriggered, this, &FindingsPage::askForUndo);
    connect(m_details, &FindingDetails::tickChanged, this, &FindingsPage::setTicked);
    const auto go = [this](const FindingWay& way) {
        m_context.selection.select(way.thing);
        Q_EMIT m_context.selection.pageRequested(way.page);
    };
    connect(m_details, &FindingDetails::wayChosen, this, go);
    // Enter goes to the place of a finding.
    connect(m_tree, &QTreeView::activated, this, [this, go](const QModelIndex& at) {
        const auto findings = m_model->findingsAt(at);
        const bool hasPlace = findings.size() == 1 || at.parent().isValid(); // those of a row have one
        if (!hasPlace || findings.empty() || !m_checkpoint)
            return;
        const std::vector<FindingWay> ways = waysTo(*m_checkpoint, findings.front()->finding.where);
        if (!ways.empty())
            go(ways.front());
    });
}

void FindingsPage::showCheckpoint()
{
    m_chosen = false;
    m_repairWanted = false;
    m_folded.clear();
    if (m_checkpoint)
        m_bar->setDepth(defaultCheckDepth(*m_checkpoint));
    m_changeSet->setPlace(m_place);
    m_each.of.reset();
    m_each.planner.cancel();
    m_model->setOutlook({});
    untickAll();
    m_messages->hide();
    showRun();
    lookForRepair();
}

void FindingsPage::lookForRepair()
{
    m_repairFinder.cancel();
    if (!m_checkpoint || m_checkpoint->tagFolder.empty())
        return;
    m_repairFinder.run<bool>(
        [&files = m_context.session.files(), folder = m_checkpoint->tagFolder](
            const std::stop_token&, const std::function<void(bool)>& deliver) {
            deliver(files.stat(folder / kRepairName).has_value());
        },
        [this](bool isRepaired) {
            if (isRepaired && !m_run.error())
                m_messages->showMessage(Severity::Info,
                    tr("This checkpoint is a repaired copy. While its source exists, the source's files can "
                       "be "
                       "written again, bit for bit, with a new manifest (shardscope.json)."),
                    {tr("&Undo Repair…")});
        });
}

void FindingsPage::askForUndo()
{
    auto* dialog = new QInputDialog(this);
    dialog->setObjectName(u"undoFolderDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Undo Repair"));
    dialog->setLabelText(tr("Write the checkpoint as it was before the repair into this run folder:"));
    dialog->setTextValue(QString::fromStdString(m_checkpoint->runFolder.native()) % u"-unrepaired"_s);
    dialog->setMinimumWidth(560);
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& folder) {
        if (!folder.trimmed().isEmpty())
            Q_EMIT undoRequested(folder.trimmed());
    });
    dialog->open();
}

void FindingsPage::check()
{
    if (!m_checkpoint || m_run.isRunning())
        return;
    m_chosen = false;
    m_folded.clear();
    m_messages->hide(); // about the findings so far
    lookForRepair();
    m_run.start(m_place, {m_bar->depth(), m_bar->skipped(), m_bar->target()});
    m_tree->setFocus(Qt::OtherFocusReason); // findings appear here, and Esc stops the check
}

bool FindingsPage::isBusy() const
{
    return m_run.isRunning() || m_saver.isRunning() || m_changeSet->isBusy() || m_each.planner.isRunning();
}

/// A row that has nothing in the second column has the room of it.
void FindingsPage::spanRows()
{
    constexpr int kMost = 100; // rows of a kind
    const auto span = [this](int row, const QModelIndex& parent) {
        const QModelIndex where = m_model->index(row, FindingTreeModel::Where, parent);
        m_tree->setFirstColumnSpanned(row, parent, where.data().toString().isEmpty());
    };
    for (int kind = 0; kind < m_model->rowCount(); ++kind) {
        span(kind, {});
        const QModelIndex parent = m_model->index(kind, 0);
        for (int row = 0; row < std::min(m_model->rowCount(parent), kMost); ++row)
            span(row, parent);
    }
}

void FindingsPage::refill(const std::function<void()>& change)
{
    m_filling = true;
    change();
    spanRows();
    m_tree->expandAll();
    // What the user folded stays folded while findings arrive.
    for (const FindingTreeModel::Key& key : m_folded)
        m_tree->collapse(m_model->find(key));
    const QModelIndex again = m_chosen ? m_model->find(m_current) : QModelIndex();
    if (again.isValid())
        m_tree->setCurrentIndex(again);
    else if (m_model->rowCount() > 0)
        m_tree->setCurrentIndex(m_model->index(0, 0)); // the worst ones are on top
    m_filling = false;
    showCurrent();
    updateEmpty();
    showFilterState();
}

void FindingsPage::showRun()
{
    static const std::vector<DoctorFinding> kNone;
    m_found = m_checkpoint ? m_context.findings.detailed(m_checkpoint) : nullptr;
    const std::vector<DoctorFinding>& found = m_found ? *m_found : kNone;
    m_bar->show(m_run, m_checkpoint, countBySeverity(found));
    if (m_run.error())
        m_messages->showError(*m_run.error());
    refill([this, &found] { m_model->setFindings(found); });
    if (m_repairWanted && m_run.result()) {
        m_repairWanted = false;
        tickErrors();
    }
    planEach();
    Q_EMIT tabChanged();
}

void FindingsPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    planEach();
}

void FindingsPage::planEach()
{
    const auto& result = m_run.result();
    // A plan reads the checkpoint again, which nobody asked for: not from another host.
    if (!m_checkpoint || !result || !isVisible() || m_each.of == result
        || !m_context.findings.isChecked(*m_checkpoint) || far::isElsewhere(m_place.path))
        return;
    m_each.of = result;
    m_model->setOutlook({});
    std::set<std::string> codes;
    for (const DoctorFinding& made : *m_found) {
        if (repairs(*made.diagnosis, made.finding))
            codes.emplace(made.finding.code);
    }
    if (codes.empty())
        return m_each.planner.cancel();
    using Outlook = std::map<std::string, RepairOutlook>;
    const CheckDepth most = defaultCheckDepth(*m_checkpoint); // every byte of small ones
    m_each.planner.run<Outlook>(
        [&files = m_context.session.files(), place = m_place, codes, most](
            const std::stop_token& token, const std::function<void(Outlook)>& deliver) {
            Outlook known;
            for (const std::string& code : codes) {
                if (token.stop_requested())
                    return;
                if (auto outlook = outlookOf(files, place, code, most, token))
                    known.emplace(code, std::move(*outlook));
                deliver(known);
            }
        },
        [this](const Outlook& known) {
            m_model->setOutlook(known);
            showCurrent();
        });
}

void FindingsPage::prepareRepair()
{
    m_repairWanted = m_checkpoint != nullptr;
    if (m_run.result())
        showRun();
    else
        check();
}

void FindingsPage::tickErrors()
{
    if (!m_found)
        return;
    for (const DoctorFinding& found : *m_found) {
        if (found.finding.severity == Severity::Error && repairs(*found.diagnosis, found.finding))
            m_ticked.emplace(found.finding.code);
    }
    applyTicks();
    showCurrent();
    if (m_ticked.empty() && m_messages->isHidden()) // else the offer to undo, or an error
        m_messages->showMessage(Severity::Info, nothingToRepairText(*m_found));
}

void FindingsPage::setFilter(const QString& text)
{
    m_filter = text;
    refill([this, &text] { m_model->setFilter(text); });
}

void FindingsPage::showFilterState()
{
    FilterView view{.words = FilterText::split(m_filter), .problem = m_model->problem(), .count = {}};
    if (!view.words.isEmpty() && !view.problem)
        view.count = tr("%1 of %2 findings")
                         .arg(countText(m_model->shownCount()), countText(m_found ? m_found->size() : 0));
    tellFilter(view);
}

void FindingsPage::choose()
{
    if (!m_filling && m_tree->currentIndex().isValid()) {
        m_chosen = true;
        m_current = m_model->keyOf(m_tree->currentIndex());
    }
    showCurrent();
}

void FindingsPage::rememberFolded(const QModelIndex& at, bool folded)
{
    if (m_filling)
        return;
    const FindingTreeModel::Key key = m_model->keyOf(at);
    std::erase(m_folded, key);
    if (folded)
        m_folded.push_back(key);
}

void FindingsPage::showCurrent()
{
    if (m_filling)
        return;
    const QModelIndex at = m_tree->currentIndex();
    m_details->show(m_model->findingsAt(at), m_checkpoint);
    m_details->setTicked(m_ticked.contains(m_details->code()));
    const auto planned = m_model->outlook().find(m_details->code());
    m_details->setOutlook(planned == m_model->outlook().end() ? RepairOutlook() : planned->second);
}

void FindingsPage::setTicked(const std::string& code, bool ticked)
{
    if (ticked)
        m_ticked.insert(code);
    else
        m_ticked.erase(code);
    applyTicks();
}

void FindingsPage::applyTicks()
{
    m_model->setTicked(m_ticked);
    m_changeSet->setFixes(m_ticked);
}

void FindingsPage::untickAll()
{
    m_ticked.clear();
    applyTicks();
}

void FindingsPage::updateEmpty()
{
    const bool any = m_model->rowCount() > 0;
    m_splitter->setVisible(any);
    m_empty->setVisible(!any);
    if (any)
        return;
    if (!m_checkpoint)
        m_empty->setText(tr("Open a checkpoint to check it."));
    else if (m_found && !m_found->empty())
        m_empty->setText(m_model->problem()
                ? tr("The filter cannot be applied. Esc removes the last term.")
                : tr("No finding matches the filter. Esc removes the last term."));
    else if (m_run.isRunning())
        m_empty->setText(tr("No problems found so far."));
    else if (!m_run.result())
        m_empty->setText(tr("Choose what to read and press Check."));
    else if (m_run.result()->stopped)
        m_empty->setText(tr("No problems found before the check was stopped."));
    else if (!m_run.skipped().empty())
        m_empty->setText(
            tr("No problems found by %1. The others did not look.").arg(checkedText(m_run, *m_checkpoint)));
    else if (m_run.depth() == CheckDepth::Bytes)
        m_empty->setText(tr("No problems found. Every byte was read."));
    else
        m_empty->setText(tr("No problems found.\nChecked: %1. %2. “Every byte” reads them.")
                             .arg(depthText(m_run.depth()), checkedText(m_run, *m_checkpoint)));
}

void FindingsPage::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && m_run.isRunning())
        m_run.stop();
    else
        QWidget::keyPressEvent(event);
}

QSize FindingsPage::minimumSizeHint() const
{
    return m_changeSet->isVisible() ? withWrappedLines(*this) : Page::minimumSizeHint();
}

void FindingsPage::resizeEvent(QResizeEvent* event)
{
    constexpr int kNarrow = 90; // characters
    const bool isNarrow = width() < kNarrow * fontMetrics().averageCharWidth();
    const auto wanted = isNarrow ? Qt::Vertical : Qt::Horizontal;
    if (m_splitter->orientation() != wanted) {
        m_splitter->setOrientation(wanted);
        m_splitter->setSizes({kListShare, kDetailsShare});
    }
    Page::resizeEvent(event);
    updateGeometry(); // its least height depends on its width
}

void FindingsPage::askWhere(CheckReport form)
{
    const QString ending = form == CheckReport::Html ? u"html"_s
        : form == CheckReport::Markdown              ? u"md"_s
        : form == CheckReport::Sarif                 ? u"sarif"_s
                                                     : u"json"_s;
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"findingsSaveDialog"_s,
            .title = tr("Save the Findings"),
            .filters = u"%1 (*.%2)"_s.arg(ending.toUpper(), ending),
            .suggested = u"findings."_s % ending},
        [this, form](const QString& path) { saveReport(form, path); });
}

void FindingsPage::saveReport(CheckReport form, const QString& path)
{
    if (!m_run.result())
        return;
    static const QHash<CheckReport, QString> kOptions{{CheckReport::Html, u"--html"_s},
        {CheckReport::Markdown, u"--markdown"_s}, {CheckReport::Sarif, u"--sarif"_s}};
    ShellCommand command(u"check"_s, sourceWords(m_run.place()));
    command.option(u"--depth"_s, std::string(checkDepthName(m_run.depth())));
    for (const std::string& code : m_run.skipped())
        command.option(u"--skip"_s, code);
    command.optionIfAny(u"--for"_s, checkTargetWord(m_run.result()->target));
    if (form == CheckReport::Json)
        command.flag(u"--json"_s, true);
    else
        command.option(kOptions[form], path);
    m_saver.save([&files = m_context.session.files(), form,
                     check = CheckToSave{m_run.result(), m_run.depth(), command.text()},
                     target = SaveTarget{path,
                         readAt(m_run.place())}] { return writeCheckReport(files, check, form, target); },
        tr("Saved the findings to %1.").arg(path));
}

} // namespace shardscope::ui
