// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/main_window.h"

#include "ui/controls/breadcrumb.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/parameters/parameter_filter.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/start_page.h"
#include "ui/session/findings/check_text.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/focus_ring.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QApplication>
#include <QDockWidget>
#include <QLabel>
#include <QLoggingCategory>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTimer>
#include <QToolBar>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Logs what is on screen; off unless QT_LOGGING_RULES enables it.
Q_LOGGING_CATEGORY(windowLog, "shardscope.window", QtWarningMsg)

} // namespace

MainWindow::MainWindow(io::FileSystem& files, Theme& theme, Settings& settings, QWidget* parent)
    : QMainWindow(parent)
    , m_theme(theme)
    , m_settings(settings)
    , m_session(files)
    , m_compareRun(files)
    , m_checkRun(files)
    , m_findingStore(m_checkRun)
    , m_actions(makeActions(theme, this))
{
    setObjectName(u"mainWindow"_s);
    setWindowTitle(tr("Shardscope"));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    resizeWithinScreen(this, {1440, 900});
    makePages();
    makeDocks();
    makeToolBar();
    makeMenus();
    makeStatusBar();
    connectActions();
    connectSession();
    connectPages();
    connectJobs();
    connectSwitcher();
    QApplication::instance()->installEventFilter(this);
    m_focusRing = new FocusRing(m_theme, this);
    // Rebuilt widgets would come last in the tab order.
    connect(m_details, &DetailsPanel::shown, this, &MainWindow::orderPanes);
    connect(m_parameters, &ParametersPage::filtered, this, &MainWindow::orderPanes);
    orderPanes();
    m_defaultDocks = saveState(Settings::kFormat);
    restore();
    showCheckpoint(nullptr, false);
}

MainWindow::~MainWindow() = default;

void MainWindow::connectSession()
{
    connect(&m_session, &Session::checkpointChanged, this, &MainWindow::showCheckpoint);
    connect(&m_session, &Session::openFailed, this, &MainWindow::showOpenError);
    connect(&m_session, &Session::openingChanged, this, [this](bool opening) {
        if (!opening)
            rememberRecent(m_session.shown(), QDateTime::currentDateTime());
        updateStatus();
    });
    connect(&m_session, &Session::progressChanged, this, [this](const QString& text) {
        if (!text.isEmpty())
            m_statusTitle->setText(text);
        else
            updateStatus();
    });
    connect(&m_session, &Session::changedOnDisk, this, [this](const DiskChanges& changes) {
        QStringList what;
        if (changes.deleted > 0)
            what.append(tr("%1 deleted").arg(filesText(changes.deleted)));
        if (changes.changed > 0)
            what.append(tr("%1 changed").arg(filesText(changes.changed)));
        if (changes.appeared > 0)
            what.append(tr("%1 new").arg(filesText(changes.appeared)));
        m_messages->showMessage(changes.deleted > 0 ? Severity::Warning : Severity::Info,
            tr("On disk, since this checkpoint was read: %1.").arg(what.join(u", "_s)), {tr("Reload")});
    });
    connect(m_messages, &MessageBar::actionTriggered, &m_session, &Session::reload);
    Selection& shared = m_session.selection();
    connect(&shared, &Selection::changed, this, &MainWindow::rememberPlace);
    connect(&shared, &Selection::hoverTextChanged, m_statusHover, &ElidedLabel::setText);
    connect(&shared, &Selection::sumTextChanged, m_statusSum, &ElidedLabel::setText);
    connect(&shared, &Selection::pageRequested, this,
        [this](const QString& name) { showPage(name.chopped(4)); }); // "mapPage" → "map"
    connect(&m_history, &SelectionHistory::revisit, this, &MainWindow::revisit);
    connect(&m_history, &SelectionHistory::changed, this, [this] {
        m_actions.back->setEnabled(m_history.canGoBack());
        m_actions.forward->setEnabled(m_history.canGoForward());
    });
    connect(&m_jobs, &JobList::added, m_jobsDock, [this] {
        m_jobsDock->show();
        m_jobsDock->raise();
    });
    connect(&m_jobs, &JobList::activeCountChanged, this, &MainWindow::updateJobsLabel);
    connect(&m_jobs, &JobList::activeCountChanged, this, &MainWindow::closeWhenIdle);
    connect(&m_jobs, &JobList::ended, this, [this](const Job* job) {
        tellDesktop(*job);
        if (job->outcome().bytesPerSecond > 0)
            m_settings.setWriteRate(job->outcome().bytesPerSecond);
    });
}

void MainWindow::openPath(const QString& path, const QString& tag)
{
    m_replacesOpen = false;
    m_messages->hide();
    m_start->showOpening(path);
    m_session.open(toPath(path), tag.toStdString());
}

void MainWindow::openRecent(const QString& path, const QString& tag)
{
    openPath(path, tag);
    for (const RecentEntry& entry : m_settings.recent()) {
        if (entry.path != path || entry.tag != tag || entry.page == u"compare"_s)
            continue;
        m_pageWanted = entry.page;
        m_addressWanted = entry.selected;
    }
}

void MainWindow::showCheckpoint(const CheckpointPtr& checkpoint, bool refined)
{
    m_compareRun.clear(); // ids of the former checkpoint
    if (checkpoint && checkpoint->fullyRead)
        m_checkRun.start(m_session.place(), {defaultCheckDepth(*checkpoint)}, checkpoint);
    else
        m_checkRun.clear();
    for (Page* page : m_pages)
        page->showSession(m_session);
    m_explorer->setCheckpoint(checkpoint);
    m_details->setCheckpoint(checkpoint);
    m_breadcrumb->setCheckpoint(checkpoint);
    const bool known = checkpoint && !checkpoint->modelError;
    m_actions.setOpen(checkpoint != nullptr, known && !checkpoint->units.empty(),
        known && !checkpoint->params.empty(), checkpoint && isSwapKind(checkpoint->kind));
    m_stack->setCurrentIndex(checkpoint ? 1 : 0);
    showDocks(checkpoint != nullptr);
    m_filter->setEnabled(checkpoint != nullptr);
    m_history.clear();
    if (!refined) {
        const io::Path run = checkpoint ? checkpoint->runFolder : io::Path();
        if (std::exchange(m_shownRun, run) != run && m_pageWanted != u"compare"_s)
            m_compare->setOther({}); // it was for the former run
        resetView();
    } else if (checkpoint) {
        m_open->refine(m_session.shown());
    }
    if (!checkpoint) {
        m_findingStore.release();
        m_start->clearMessages();
        setWindowTitle(tr("Shardscope"));
    } else {
        setWindowTitle(tr("%1 – Shardscope").arg(checkpointName(*checkpoint, m_session.path())));
        rememberPlace();
        if (checkpoint->fullyRead && isVisible())
            qCInfo(windowLog, "shows %s %s", qUtf8Printable(pathText(checkpoint->runFolder.filename())),
                qUtf8Printable(toText(checkpoint->tag)));
    }
    if (checkpoint && checkpoint->fullyRead && !m_addressWanted.isEmpty())
        QTimer::singleShot(0, this, [this, address = std::exchange(m_addressWanted, {})] {
            goToAddress(address); // later: the session's own selection comes first
        });
    updateStatus();
    orderPanes();
}

/// The view of a checkpoint that was not shown, or of one that is shown again.
void MainWindow::resetView()
{
    m_filters.clear();
    m_filter->clear();
    m_filterCount->clear();
    for (Page* page : m_pages)
        page->setFilter({});
    m_messages->hide();
    m_statusHover->setText({});
    m_statusSum->setText({});
    m_tabs->setCurrentIndex(0);
    if (!m_session.checkpoint()) {
        while (m_open->count() > 0)
            m_open->remove(0);
        updateSwitcher();
        return;
    }
    const auto seen = m_open->take(m_session.shown(), std::exchange(m_replacesOpen, false));
    if (seen) {
        showPage(seen->page.chopped(4));
        if (filteredPage() == m_parameters)
            m_filter->setText(seen->filter);
    }
    if (!m_pageWanted.isEmpty())
        showPage(std::exchange(m_pageWanted, {}));
    updateSwitcher();
}

void MainWindow::showOpenError(const Error& error)
{
    m_replacesOpen = false;
    m_pageWanted.clear(); // they were meant for what could not be opened
    m_addressWanted.clear();
    if (m_session.checkpoint())
        m_messages->showError(error);
    else
        m_start->showError(error);
}

bool MainWindow::isSettled() const
{
    return !m_session.isOpening() && !m_explorer->isBusy() && !m_details->isBusy()
        && std::none_of(m_pages.begin(), m_pages.end(), [](const Page* page) { return page->isBusy(); });
}

bool MainWindow::showPage(const QString& name)
{
    for (qsizetype i = 0; i < m_pages.size(); ++i) {
        if (pageList()[i].name != name)
            continue;
        m_tabs->setCurrentIndex(static_cast<int>(i));
        return true;
    }
    return false;
}

Page* MainWindow::currentPage() const
{
    return m_pages.value(m_tabs->currentIndex());
}

Page* MainWindow::filteredPage() const
{
    Page* page = currentPage();
    return page == nullptr || page->filterHint().isEmpty() ? m_parameters : page;
}

void MainWindow::onPageChanged()
{
    const Page* page = filteredPage();
    m_changingFilter = true;
    m_filter->setText(m_filters.value(page));
    m_filter->setPlaceholderText(page->filterHint());
    m_filter->setTerms(page == m_parameters ? ParameterFilter::terms() : QStringList());
    m_changingFilter = false;
    m_filterCount->setVisible(page == m_parameters);
    rememberPlace();
}

void MainWindow::onFilterTyped(const QString& text)
{
    if (m_changingFilter)
        return;
    Page* page = filteredPage();
    m_filters[page] = text;
    page->setFilter(text);
}

void MainWindow::onFiltered(qulonglong shown, qulonglong total, const QString& problem)
{
    m_filter->setProblem(problem);
    m_filterCount->setText(m_filters.value(m_parameters).trimmed().isEmpty()
            ? QString()
            : tr("%1 of %2").arg(countText(shown), countText(total)));
}

void MainWindow::rememberPlace()
{
    if (!m_session.checkpoint() || m_tabs->currentWidget() == nullptr)
        return;
    m_history.visit({m_session.selection().current(), m_tabs->currentWidget()->objectName(),
        m_filters.value(m_parameters)});
}

void MainWindow::revisit(const HistoryPlace& place)
{
    showPage(place.page.chopped(4));
    if (filteredPage() == m_parameters)
        m_filter->setText(place.filter);
    m_session.selection().select(place.thing);
}

void MainWindow::rememberRecent(const ReadCheckpoint& read, const QDateTime& when)
{
    const CheckpointPtr& checkpoint = read.checkpoint;
    if (!checkpoint || read.place.path.empty())
        return;
    RecentEntry entry;
    const io::Path& run = checkpoint->runFolder.empty() ? read.place.path : checkpoint->runFolder;
    entry.path = QString::fromStdString(run.native());
    if (!checkpoint->latest || *checkpoint->latest != checkpoint->tag)
        entry.tag = QString::fromStdString(checkpoint->tag);
    entry.title = titleText(*checkpoint);
    entry.bytes = countFiles(*checkpoint).bytes;
    entry.tags = static_cast<int>(checkpoint->tags.size());
    entry.when = when;
    if (checkpoint == m_session.checkpoint() && m_tabs->currentWidget() != nullptr) {
        entry.page = m_tabs->currentWidget()->objectName().chopped(4); // "mapPage"
        if (const ParamId param = m_session.selection().current().param; param != kNoParam)
            entry.selected = QString::fromStdString(checkpoint->params[index(param)].name);
    }
    m_settings.remember(entry);
}

void MainWindow::updateStatus()
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    if (!checkpoint) {
        m_statusTitle->setText(
            m_session.isOpening() ? tr("Opening…") : tr("Read-only: nothing here changes files"));
        return;
    }
    QString text = titleText(*checkpoint);
    if (!checkpoint->params.empty())
        text += u" · "_s % parametersText(countParameters(*checkpoint).count);
    text += u" · "_s % bytesText(countFiles(*checkpoint).bytes);
    if (m_session.isOpening())
        text += u" · "_s % tr("still reading…");
    m_statusTitle->setText(text);
}

void MainWindow::updateJobsLabel(int active)
{
    m_statusJobs->setText(active == 0 ? QString()
            : active == 1             ? tr("1 job is running")
                                      : tr("%1 jobs are running").arg(active));
}

} // namespace shardscope::ui
