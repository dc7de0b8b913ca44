// SPDX-License-Identifier: Apache-2.0
// User input to the window: actions, keys, drops, closing.
#include "ui/shell/main_window.h"

#include "core/base/build_info.h"
#include "core/far/far_path.h"
#include "ui/controls/breadcrumb.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/host_dialog.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/shortcut_sheet.h"
#include "ui/models/address_selection.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/jobs_panel.h"
#include "ui/pages/start_page.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/find_box.h"
#include "ui/shell/page_filter.h"
#include "ui/shell/status_line.h"
#include "ui/shell/window_docks.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QKeyEvent>
#include <QMessageBox>
#include <QToolBar>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void MainWindow::connectActions()
{
    connect(m_actions[ActionId::Open], &QAction::triggered, this, &MainWindow::askForFolder);
    connect(m_actions[ActionId::OpenFile], &QAction::triggered, this, &MainWindow::askForFile);
    connect(m_actions[ActionId::OpenHost], &QAction::triggered, this, &MainWindow::askForHost);
    connect(m_actions[ActionId::NewWindow], &QAction::triggered, this, &MainWindow::openNewWindow);
    connect(m_actions[ActionId::AddFolder], &QAction::triggered, this, &MainWindow::askForFurtherFolder);
    connect(m_actions[ActionId::Reload], &QAction::triggered, &m_session, &Session::reload);
    connect(
        m_actions[ActionId::Close], &QAction::triggered, this, [this] { closeOpen(m_open->currentIndex()); });
    connect(m_actions[ActionId::Quit], &QAction::triggered, this, &MainWindow::quit);
    for (const Actions::OfPage& each : m_actions.ofPages())
        connect(each.action, &QAction::triggered, this, [this, page = each.page, what = each.what] {
            if (what->comesToFront)
                showPage(page);
            what->run(*m_tabs->filled(page));
        });
    connect(m_actions[ActionId::Reshard], &QAction::triggered, this, &MainWindow::showReshardDialog);
    connect(m_actions[ActionId::Convert], &QAction::triggered, this, &MainWindow::showConvertDialog);
    connect(m_actions[ActionId::Export], &QAction::triggered, this, &MainWindow::showExportDialog);
    connect(m_actions[ActionId::Verify], &QAction::triggered, &m_jobs, &WindowJobs::startVerify);
    connect(m_actions[ActionId::Fingerprint], &QAction::triggered, &m_jobs, &WindowJobs::startFingerprint);
    connect(m_actions[ActionId::SaveSkeleton], &QAction::triggered, &m_jobs, &WindowJobs::askForSkeleton);
    connect(m_actions[ActionId::Clean], &QAction::triggered, &m_jobs, &WindowJobs::showClean);
    connect(m_actions[ActionId::CopyCommand], &QAction::triggered, this, [this] {
        const QString command = viewCommand();
        QApplication::clipboard()->setText(command);
        m_messages->showMessage(Severity::Info, tr("Copied: %1").arg(command));
    });
    connect(m_actions[ActionId::Manual], &QAction::triggered, this, [this] {
        const QString topic = manualTopicOf(QApplication::focusWidget());
        ManualWindow::open(this, topic.isEmpty() ? manualTopicOf(m_tabs->current()) : topic);
    });
    connect(m_actions[ActionId::Shortcuts], &QAction::triggered, this, [this] {
        auto* sheet = new ShortcutSheet(m_actions.all(), this);
        sheet->setAttribute(Qt::WA_DeleteOnClose);
        sheet->open();
    });
    connect(m_actions[ActionId::Settings], &QAction::triggered, this, &MainWindow::showSettings);
    connect(m_actions[ActionId::About], &QAction::triggered, this, &MainWindow::showAbout);
    connectNavigation();
    connectView();
}

void MainWindow::connectNavigation()
{
    connect(m_actions[ActionId::Back], &QAction::triggered, &m_history, &SelectionHistory::back);
    connect(m_actions[ActionId::Forward], &QAction::triggered, &m_history, &SelectionHistory::forward);
    connect(m_actions[ActionId::Find], &QAction::triggered, this, [this] { m_filter->find().open(false); });
    connect(m_actions[ActionId::Palette], &QAction::triggered, this, [this] { m_filter->find().open(true); });
    connect(m_actions[ActionId::PageWindow], &QAction::triggered, this, [this] { openPageWindow(); });
    connect(m_actions[ActionId::NextPane], &QAction::triggered, this, [this] { focusPane(1); });
    connect(m_actions[ActionId::PreviousPane], &QAction::triggered, this, [this] { focusPane(-1); });
    for (qsizetype i = 0; i < m_actions.pages().size(); ++i)
        connect(m_actions.pages()[i], &QAction::triggered, this, [this, i] {
            // Otherwise the tabs pass the focus on themselves, and the focus frame is not shown.
            if (QWidget* former = QApplication::focusWidget())
                former->clearFocus();
            m_tabs->setCurrentIndex(static_cast<int>(i));
            m_tabs->currentWidget()->setFocus(Qt::ShortcutFocusReason);
        });
}

void MainWindow::connectView()
{
    for (qsizetype i = 0; i < m_actions.themes().size(); ++i)
        connect(m_actions.themes()[i], &QAction::triggered, this, [this, i] {
            m_settings.setThemeMode(static_cast<ThemeMode>(i));
            m_theme.setMode(static_cast<ThemeMode>(i));
        });
    m_actions.themes()[static_cast<qsizetype>(m_theme.mode())]->setChecked(true);
    const auto resizeText = [this](int percent) {
        m_settings.setTextSize(percent);
        applyTextSize(percent);
    };
    connect(m_actions[ActionId::LargerText], &QAction::triggered, this,
        [this, resizeText] { resizeText(nextTextSize(m_settings.textSize(), 1)); });
    connect(m_actions[ActionId::SmallerText], &QAction::triggered, this,
        [this, resizeText] { resizeText(nextTextSize(m_settings.textSize(), -1)); });
    connect(m_actions[ActionId::NormalText], &QAction::triggered, this, [resizeText] { resizeText(100); });
    applyTextSize(m_settings.textSize());
    connect(m_actions[ActionId::FullScreen], &QAction::toggled, this, [this](bool on) {
        setWindowState(windowState().setFlag(Qt::WindowFullScreen, on)); // a maximised window stays one
    });
    connect(m_actions[ActionId::ResetLayout], &QAction::triggered, m_docks, &WindowDocks::reset);
}

void MainWindow::connectPages()
{
    connect(m_start, &StartPage::openRequested, this, &MainWindow::askForFolder);
    connect(m_start, &StartPage::recentRequested, this, &MainWindow::openRecent);
    connect(m_start, &StartPage::sampleRequested, this, &MainWindow::openSample);
    connect(m_start, &StartPage::manualRequested, this, [this] { ManualWindow::open(this, {}); });
    connect(m_tabs, &QTabWidget::currentChanged, this, &MainWindow::rememberPlace);
    for (Page* page : m_tabs->pages()) {
        connectPage(page);
        connect(page, &Page::actionsChanged, this, &MainWindow::updatePageActions);
    }
    connect(m_breadcrumb, &Breadcrumb::tagRequested, this, &MainWindow::openTag);
    connect(m_docks->explorer(), &ExplorerPanel::filterRequested, m_filter, &PageFilter::filterParameters);
    m_docks->explorer()->followFindings(m_findingStore);
    m_docks->details()->followFindings(m_findingStore);
}

void MainWindow::connectJobs()
{
    JobsPanel* panel = m_docks->jobs();
    connect(panel, &JobsPanel::openRequested, this, &MainWindow::openPath);
    connect(panel, &JobsPanel::compareRequested, this, [this](const QString& source, const QString& result) {
        const CheckpointPtr& open = m_session.checkpoint();
        if (!open || open->tagFolder != toPath(source))
            openPath(source);
        compareWith(result, true);
    });
    connect(panel, &JobsPanel::placeRequested, this, &MainWindow::goToProblem);
    connect(panel, &JobsPanel::discardRequested, &m_jobs, &WindowJobs::discard);
    connect(panel, &JobsPanel::limitChanged, &m_settings, &Settings::setJobLimit);
    panel->setLimit(m_settings.jobLimit());
    panel->showFarJobs(m_jobs.farJobs());
    connect(&m_jobs, &WindowJobs::readingKnown, this,
        [this](const ReadingJobs& possible) { m_actions.setRead(possible); });
    connect(&m_jobs, &WindowJobs::attention, m_docks, &WindowDocks::showJobs);
    connect(&m_jobs, &WindowJobs::closingFailed, this, &MainWindow::showOpenError);
    connect(&m_jobs, &WindowJobs::repairWanted, this, &MainWindow::showRepair);
    connect(&m_jobs, &WindowJobs::furtherFolderWanted, this, &MainWindow::askForFurtherFolder);
    connect(&m_jobs.list(), &JobList::activeCountChanged, m_status, &StatusLine::setJobs);
}

MainWindow* MainWindow::openNewWindow()
{
    auto* window = new MainWindow(m_session.files(), m_theme, m_settings);
    window->setAttribute(Qt::WA_DeleteOnClose);
    window->resize(size());
    window->show();
    return window;
}

/// Tells the dialog what is known of the values that it copies, also what a check that runs now finds.
static void tellKnown(
    MainWindow& window, PlanDialog* dialog, const FindingStore& store, const CheckpointPtr& source)
{
    const auto tell = [dialog, &store, source] { dialog->setKnown(store.detailed(source)); };
    QObject::connect(&store, &FindingStore::changed, dialog, tell);
    QObject::connect(
        dialog, &PlanDialog::findingsWanted, &window, [&window] { window.showPage(PageId::Findings); });
    tell();
}

ReshardDialog* MainWindow::showReshardDialog()
{
    if (!m_actions[ActionId::Reshard]->isEnabled())
        return nullptr;
    ReshardDialog* dialog = m_jobs.showReshard();
    tellKnown(*this, dialog, m_findingStore, m_session.checkpoint());
    return dialog;
}

ReshardDialog* MainWindow::showConvertDialog()
{
    ReshardDialog* dialog = showReshardDialog();
    if (dialog != nullptr)
        dialog->form()->setUniversal();
    return dialog;
}

ExportDialog* MainWindow::showExportDialog()
{
    if (!m_actions[ActionId::Export]->isEnabled())
        return nullptr;
    ExportDialog* dialog = m_jobs.showExport();
    tellKnown(*this, dialog, m_findingStore, m_session.checkpoint());
    return dialog;
}

void MainWindow::showRepair()
{
    showPage(PageId::Findings);
    m_tabs->filled(PageId::Findings)->prepareRepair();
}

void MainWindow::connectPage(Page* page)
{
    connect(page, &Page::tagRequested, this, &MainWindow::openTag);
    connect(page, &Page::openRequested, this, &MainWindow::openFolder);
    connect(page, &Page::compareRequested, this, [this](const QString& path) { compareWith(path, true); });
    connect(page, &Page::reshardRequested, this, &MainWindow::reshardFolder);
    connect(page, &Page::told, m_messages,
        [this](Severity severity, const QString& text) { m_messages->showMessage(severity, text); });
    connect(page, &Page::placeRequested, this, &MainWindow::goToPlace);
    connect(page, &Page::repairRequested, &m_jobs, &WindowJobs::startRepair);
    connect(page, &Page::undoRequested, &m_jobs, &WindowJobs::startUndo);
    connect(page, &Page::repairWanted, this, &MainWindow::showRepair);
    connect(page, &Page::actionRequested, this, [this](const QString& name) {
        if (auto* action = findChild<QAction*>(name))
            action->trigger();
    });
    connect(page, &Page::filteredPageRequested, this, [this](PageId id, const QString& filter) {
        showPage(id);
        m_filter->field()->setText(filter);
    });
    connect(page, &Page::parameterActivated, this, [this](ParamId param) {
        if (m_session.selection().current().param != param)
            m_session.selection().selectParam(param);
        showPage(PageId::Tensor);
    });
}

void MainWindow::openTag(const QByteArray& tag)
{
    m_messages->hide();
    m_wanted.replaces = true;
    m_session.openTag(tag.toStdString());
}

void MainWindow::openFolder(const QByteArray& folder, bool isOfRun)
{
    m_messages->hide();
    m_wanted.replaces = isOfRun;
    if (isOfRun)
        m_wanted.page = PageId::Runs; // where the next one is chosen
    m_session.open(io::Path(folder.toStdString()));
}

void MainWindow::reshardFolder(const QByteArray& folder)
{
    const io::Path path(folder.toStdString());
    const CheckpointPtr& open = m_session.checkpoint();
    if (open && (open->tagFolder == path || open->runFolder == path)) {
        showReshardDialog();
        return;
    }
    m_wanted.reshard = true;
    openFolder(folder, true);
}

void MainWindow::goToPlace(const Place& where)
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    auto thing = checkpoint ? selectionOf(*checkpoint, where) : std::nullopt;
    if (!thing)
        return;
    const bool isFile = thing->file != kNoFile && thing->param == kNoParam && !thing->rank;
    m_session.selection().select(std::move(*thing));
    showPage(isFile ? PageId::Files : PageId::Map);
}

void MainWindow::goToProblem(const Job* job, const Place& where)
{
    const JobOutcome& outcome = job->outcome();
    const CheckpointPtr& open = m_session.checkpoint();
    const OpenedPlace& shown = m_session.shown().place;
    const OpenedPlace& read = *outcome.readFrom;
    const bool isInFile = !where.file().empty(); // which may be missing
    if (open && open->tagFolder == outcome.checkpoint && shown.roots == read.roots
        && shown.salvage == read.salvage && shown.kind == read.kind) {
        goToPlace(where);
        if (isInFile)
            showPage(PageId::Files);
        return;
    }
    openPlace(read);
    if (where.isEmpty())
        return;
    m_wanted.page = isInFile ? PageId::Files : PageId::Map;
    m_wanted.address = QString::fromStdString(isInFile ? where.file() : where.text());
}

void MainWindow::askForFolder()
{
    askForPath(this, {.name = u"openFolderDialog"_s, .title = tr("Open a Checkpoint Folder")},
        [this](const QString& path) { openPath(path); });
}

void MainWindow::askForFurtherFolder()
{
    const bool isSwap = isSwapKind(m_session.checkpoint()->kind);
    askForPath(this,
        {.name = u"addFolderDialog"_s,
            .title
            = isSwap ? tr("Choose an Earlier Checkpoint of the Run") : tr("Add a Folder to the Checkpoint")},
        [this](const QString& path) {
            m_messages->hide();
            m_session.addFolder(toPath(path));
        });
}

void MainWindow::askForFile()
{
    askForPath(this,
        {.kind = PathQuestion::Kind::File,
            .name = u"openFileDialog"_s,
            .title = tr("Open a Checkpoint File"),
            .filters = tr("State files and skeletons (*.pt *.zip);;All files (*)")},
        [this](const QString& path) { openPath(path); });
}

void MainWindow::askForHost()
{
    QStringList hosts; // those used last first
    for (const RecentEntry& entry : m_settings.recent()) {
        for (const QString& path : QStringList{entry.path} + entry.roots) {
            const auto far = far::farPathOf(toPath(path));
            const bool isObject = !far && far::isElsewhere(toPath(path)); // s3://bucket/key
            const QString host = far ? toText(far->host) : isObject ? path.section(u'/', 0, 2) : QString();
            if (!host.isEmpty() && !hosts.contains(host))
                hosts.append(host);
        }
    }
    auto* dialog = new HostDialog(m_session.files(), m_theme, hosts, this);
    connect(dialog, &HostDialog::pathChosen, this, [this](const io::Path& path) {
        openPlace({path, {}, {}, false});
    });
    dialog->open();
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Paste)) { // no field has the focus
        openPasted();
        return;
    }
    if (event->key() != Qt::Key_Escape) {
        QMainWindow::keyPressEvent(event);
        return;
    }
    // One step per key press: the last term of the filter, then the selection, then full screen.
    if (m_filter->removeTerm())
        return;
    if (!m_session.selection().current().isEmpty())
        m_session.selection().clear();
    else
        m_actions[ActionId::FullScreen]->setChecked(false);
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event)
{
    // The buttons for back and forward work over every widget; views would select what is below them.
    const bool pressed = event->type() == QEvent::MouseButtonPress;
    if (!pressed && event->type() != QEvent::MouseButtonRelease
        && event->type() != QEvent::MouseButtonDblClick)
        return QMainWindow::eventFilter(watched, event);
    const auto button = static_cast<QMouseEvent*>(event)->button();
    const auto* widget = qobject_cast<QWidget*>(watched);
    if ((button != Qt::BackButton && button != Qt::ForwardButton) || widget == nullptr)
        return QMainWindow::eventFilter(watched, event);
    const QWidget* const top = widget->window();
    if (top != this && !(isAncestorOf(top) && qobject_cast<const QDockWidget*>(top) != nullptr))
        return QMainWindow::eventFilter(watched, event);
    if (pressed || event->type() == QEvent::MouseButtonDblClick)
        button == Qt::BackButton ? m_history.back() : m_history.forward();
    return true;
}

void MainWindow::changeEvent(QEvent* event)
{
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::FontChange && m_toolBar != nullptr)
        m_toolBar->setIconSize(QSize(20, 20) * std::clamp(textScale(), 1.0, 1.6));
    if (event->type() == QEvent::ActivationChange && isActiveWindow())
        m_session.checkOnDisk();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (jobs().activeCount() > 0) {
        event->ignore();
        m_jobs.askBeforeClosing([this] { close(); });
        return;
    }
    if (m_jobs.isRemoving()) {
        event->ignore();
        m_messages->showMessage(
            Severity::Warning, tr("Files are being removed. Close the window when that is done."));
        return;
    }
    rememberRecent(m_session.shown(), {});
    m_settings.setOpened(openedInAllWindows());
    if (!m_actions[ActionId::FullScreen]->isChecked())
        m_settings.setWindow(saveGeometry(), m_docks->state());
    QMainWindow::closeEvent(event);
}

void MainWindow::showAbout()
{
    const BuildInfo info = buildInfo();
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Shardscope"),
        tr("Shardscope %1 (%2)\n\nInspects and reshards DeepSpeed checkpoints. It never runs code in a "
           "checkpoint, never changes its input, and re-reads what it writes.\n\nLicence: Apache-2.0. With "
           "Qt %3.")
            .arg(toText(info.version), toText(info.commit), QString::fromLatin1(qVersion())),
        QMessageBox::Close, this);
    box->setObjectName(u"aboutBox"_s);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

} // namespace shardscope::ui
