// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/main_window.h"

#include "core/far/far_path.h"
#include "ui/controls/breadcrumb.h"
#include "ui/controls/host_bar.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/start_page.h"
#include "ui/session/findings/check_text.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/find_box.h"
#include "ui/shell/page_filter.h"
#include "ui/shell/status_line.h"
#include "ui/shell/window_docks.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/focus_ring.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QApplication>
#include <QLoggingCategory>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>

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
    , m_jobs(m_session, theme, settings, this)
    , m_compareRun(files)
    , m_checkRun(files)
    , m_findingStore(m_checkRun)
    , m_actions(theme, this)
{
    setObjectName(u"mainWindow"_s);
    setWindowTitle(tr("Shardscope"));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    resizeWithinScreen(this, {1440, 900});
    makePages();
    m_docks = new WindowDocks(m_session, m_jobs.list(), theme, this);
    makeToolBar();
    makeMenus();
    m_status = new StatusLine(m_session, statusBar());
    connectActions();
    connectSession();
    connectPages();
    connectJobs();
    connectSwitcher();
    QApplication::instance()->installEventFilter(this);
    new FocusRing(m_theme, this);
    // Rebuilt widgets would come last in the tab order.
    connect(m_docks->details(), &DetailsPanel::shown, this, &MainWindow::orderPanes);
    connect(m_tabs->page(PageId::Parameters), &Page::filtered, this, &MainWindow::orderPanes);
    orderPanes();
    m_docks->keepDefault();
    if (const QByteArray geometry = m_settings.geometry(); !geometry.isEmpty())
        restoreGeometry(geometry);
    m_docks->restore(m_settings.docks());
    showCheckpoint(nullptr, false);
}

MainWindow::~MainWindow()
{
    // The field loses the focus when it is destroyed, and the pages are gone by then.
    m_filter->field()->removeEventFilter(&m_filter->find());
}

void MainWindow::connectSession()
{
    connect(&m_session, &Session::checkpointChanged, this, &MainWindow::showCheckpoint);
    connect(&m_session, &Session::openFailed, this, &MainWindow::showOpenError);
    connect(&m_session, &Session::runsFound, this, &MainWindow::showRuns);
    connect(findChild<HostBar*>(), &HostBar::reconnecting, this, &MainWindow::readAgainFrom);
    connect(&m_compareRun, &CompareRun::changed, this, &MainWindow::watchHosts);
    connect(&m_session, &Session::openingChanged, this, [this](bool opening) {
        watchHosts();
        if (!opening)
            rememberRecent(m_session.shown(), QDateTime::currentDateTime());
        m_status->update();
    });
    connect(&m_session, &Session::changedOnDisk, this, &MainWindow::showChanges);
    connect(m_messages, &MessageBar::actionTriggered, &m_session, &Session::reload);
    Selection& shared = m_session.selection();
    connect(&shared, &Selection::changed, this, &MainWindow::rememberPlace);
    connect(&shared, &Selection::pageRequested, this, [this](PageId id) { showPage(id); });
    connect(&m_history, &SelectionHistory::revisit, this, &MainWindow::revisit);
    connect(&m_history, &SelectionHistory::changed, this, [this] {
        m_actions[ActionId::Back]->setEnabled(m_history.canGoBack());
        m_actions[ActionId::Forward]->setEnabled(m_history.canGoForward());
    });
}

void MainWindow::showChanges(const DiskChanges& changes)
{
    if (changes.isEmpty()) // they are again as they were
        return m_messages->hide();
    QStringList what;
    const auto add = [&](const QString& text, uint64_t count, const std::string& first) {
        if (count > 0)
            what.append(text.arg(filesText(count), toText(first) % (count > 1 ? u", …"_s : QString())));
    };
    add(tr("%1 deleted (%2)"), changes.deleted, changes.firstDeleted);
    add(tr("%1 changed (%2)"), changes.changed, changes.firstChanged);
    add(tr("%1 new (%2)"), changes.appeared, changes.firstAppeared);
    if (changes.tags > 0) {
        const QString first = toText(changes.firstTag);
        what.append(changes.tags == 1 ? tr("1 new tag (%1)").arg(first)
                                      : tr("%1 new tags (%2, …)").arg(countText(changes.tags), first));
    }
    m_messages->showMessage(changes.deleted > 0 ? Severity::Warning : Severity::Info,
        tr("On disk, since this checkpoint was read: %1.").arg(what.join(u", "_s)), {tr("Reload")});
}

void MainWindow::openPath(const QString& path, const QString& tag)
{
    openPlace({far::typedPath(path.toStdString()), tag.toStdString(), {}, false});
}

void MainWindow::openPlace(OpenedPlace place)
{
    m_wanted.replaces = false;
    m_messages->hide();
    m_start->showOpening(pathText(place.path));
    m_session.open(std::move(place));
    watchHosts();
}

void MainWindow::readAgainFrom(const QStringList& hosts)
{
    const auto isOne = [&](const io::Path& path) {
        const auto far = far::farPathOf(path);
        return far && hosts.contains(QString::fromStdString(far->host));
    };
    const auto& wish = m_compareRun.wish();
    const bool fails = wish && isOne(wish->other) && m_compareRun.error();
    if (isOne(m_session.path()) || std::ranges::any_of(m_session.roots(), isOne))
        m_session.reload();
    if (fails)
        compareWith(QString::fromStdString(wish->other.native()), true);
}

void MainWindow::watchHosts()
{
    std::vector<io::Path> paths = m_session.roots();
    paths.push_back(m_session.path());
    const auto& wish = m_compareRun.wish();
    if (wish)
        paths.push_back(wish->other);
    findChild<HostBar*>()->watch(paths);
    m_jobs.farJobs().watch(paths);
}

void MainWindow::openRecent(const OpenedEntry& entry)
{
    OpenedEntry seen = entry;
    if (pageNamed(entry.page) == PageId::Compare) // its partner is not kept
        seen.page = seen.selected = QString();
    openAgain(seen);
}

void MainWindow::showCheckpoint(const CheckpointPtr& checkpoint, bool refined)
{
    m_tabs->leaveSession();
    m_compareRun.clear(); // ids of the former checkpoint
    m_findingStore.values().leave(checkpoint);
    if (checkpoint && checkpoint->fullyRead)
        m_checkRun.start(m_session.place(), {defaultCheckDepth(*checkpoint)}, checkpoint);
    else
        m_checkRun.clear();
    const bool isOtherRun = m_tabs->showSession(m_session);
    m_docks->explorer()->setCheckpoint(checkpoint);
    m_docks->details()->setCheckpoint(checkpoint);
    m_breadcrumb->setCheckpoint(checkpoint);
    const bool known = checkpoint && !checkpoint->modelError;
    m_actions.setOpen(checkpoint != nullptr, known && !checkpoint->units.empty(),
        known && !checkpoint->params.empty(), checkpoint && isSwapKind(checkpoint->kind));
    m_jobs.askWhatCanRead();
    updatePageActions();
    const bool isRuns = !checkpoint && m_session.runsFolder();
    m_stack->setCurrentIndex(checkpoint || isRuns ? 1 : 0);
    if (isRuns)
        m_actions.setRunsOpen();
    m_docks->show(checkpoint != nullptr);
    m_history.clear();
    if (!refined) {
        if (isOtherRun && m_wanted.page != PageId::Compare)
            m_tabs->filled(PageId::Compare)->compareWith({}, false); // it was for the former run
        resetView();
    } else if (checkpoint) {
        m_open->refine(m_session.shown());
    }
    if (!checkpoint) {
        m_findingStore.release();
        m_findingStore.values().clear();
        m_start->clearMessages();
        setWindowTitle(tr("Shardscope"));
    } else {
        setWindowTitle(tr("%1 – Shardscope").arg(checkpointName(*checkpoint, m_session.path())));
        rememberPlace();
        if (checkpoint->fullyRead && isVisible())
            qCInfo(windowLog, "shows %s %s", qUtf8Printable(pathText(checkpoint->runFolder.filename())),
                qUtf8Printable(toText(checkpoint->tag)));
    }
    if (checkpoint && checkpoint->fullyRead && !m_wanted.address.isEmpty())
        QTimer::singleShot(0, this, [this, address = std::exchange(m_wanted.address, {})] {
            goToAddress(address); // later: the session's own selection comes first
        });
    if (checkpoint && checkpoint->fullyRead && std::exchange(m_wanted.reshard, false))
        QTimer::singleShot(0, this, &MainWindow::showReshardDialog);
    m_status->update();
    orderPanes();
}

void MainWindow::updatePageActions()
{
    for (const Actions::OfPage& each : m_actions.ofPages())
        each.action->setEnabled(m_session.checkpoint() && m_tabs->page(each.page)->canRun(*each.what));
}

/// The view of a checkpoint that was not shown, or of one that is shown again.
void MainWindow::resetView()
{
    m_filter->clear();
    m_messages->hide();
    m_status->clearPlace();
    showPage(PageId::Overview);
    if (!m_session.checkpoint()) {
        while (m_open->count() > 0)
            m_open->remove(0);
        updateSwitcher();
        if (m_session.runsFolder())
            showPage(PageId::Runs);
        return;
    }
    const auto seen = m_open->take(m_session.shown(), std::exchange(m_wanted.replaces, false));
    if (seen) {
        showPage(seen->page);
        m_filter->setText(seen->filter);
    }
    if (const QString filter = std::exchange(m_wanted.paramFilter, {}); !filter.isEmpty())
        m_filter->filterParameters(filter);
    if (m_wanted.page)
        showPage(*std::exchange(m_wanted.page, {}));
    if (!m_wanted.filter.isEmpty())
        m_filter->field()->setText(std::exchange(m_wanted.filter, {}));
    updateSwitcher();
}

void MainWindow::showOpenError(const Error& error)
{
    m_wanted.replaces = false;
    m_wanted.page.reset(); // they were meant for what could not be opened
    m_wanted.address.clear();
    m_wanted.reshard = false;
    m_wanted.filter.clear();
    m_wanted.paramFilter.clear();
    if (m_session.checkpoint())
        m_messages->showError(error);
    else
        m_start->showError(error);
}

void MainWindow::showRuns()
{
    m_wanted = {};
    m_start->clearMessages();
    m_messages->hide();
    const RunsFolder& runs = *m_session.runsFolder();
    if (!m_session.checkpoint()) {
        m_tabs->leaveSession();
        m_tabs->showSession(m_session);
        m_stack->setCurrentIndex(1);
        m_actions.setRunsOpen();
        m_filter->field()->setEnabled(true);
        setWindowTitle(tr("%1 – Shardscope").arg(pathText(runs.path.filename())));
    }
    showPage(PageId::Runs);
    m_tabs->current()->setFocus(Qt::OtherFocusReason);
    const size_t count = runs.found.paths.size();
    RecentEntry entry;
    entry.path = QString::fromStdString(runs.path.native());
    entry.title = count == 1 ? tr("Folder with 1 run") : tr("Folder with %1 runs").arg(countText(count));
    entry.when = QDateTime::currentDateTime();
    m_settings.remember(entry);
}

bool MainWindow::isSettled() const
{
    return !m_session.isOpening() && !m_tabs->isFilling() && !m_filter->find().isBusy()
        && !m_docks->explorer()->isBusy() && !m_docks->details()->isBusy() && !m_jobs.isAsking()
        && std::none_of(
            m_tabs->pages().begin(), m_tabs->pages().end(), [](const Page* page) { return page->isBusy(); });
}

void MainWindow::showPage(PageId id)
{
    m_tabs->showPage(id);
}

bool MainWindow::showPage(const QString& name)
{
    const auto id = pageNamed(name);
    if (id)
        showPage(*id);
    return id.has_value();
}

HistoryPlace MainWindow::place()
{
    return {m_session.selection().current(), m_tabs->currentId(), m_filter->text()};
}

void MainWindow::rememberPlace()
{
    if (m_session.checkpoint())
        m_history.visit(place());
}

void MainWindow::revisit(const HistoryPlace& former)
{
    showPage(former.page);
    m_filter->setText(former.filter);
    m_session.selection().select(former.thing);
}

void MainWindow::rememberRecent(const ReadCheckpoint& read, const QDateTime& when)
{
    const CheckpointPtr& checkpoint = read.checkpoint;
    if (!checkpoint || read.place.path.empty())
        return;
    RecentEntry entry{entryToOpen(read)};
    entry.title = titleText(*checkpoint);
    entry.bytes = countFiles(*checkpoint).bytes;
    entry.tags = static_cast<int>(checkpoint->tags.size());
    entry.when = when;
    if (checkpoint == m_session.checkpoint()) {
        entry.page = pageEntry(m_tabs->currentId()).name;
        if (const ParamId param = m_session.selection().current().param; param != kNoParam)
            entry.selected = QString::fromStdString(checkpoint->params[index(param)].name);
    }
    m_settings.remember(entry);
}

} // namespace shardscope::ui
