// SPDX-License-Identifier: Apache-2.0
// User input to the window: actions, keys, drops, closing.
#include "ui/models/address_selection.h"
#include "ui/shell/main_window.h"

#include "core/base/build_info.h"
#include "ui/controls/breadcrumb.h"
#include "ui/dialogs/go_to_dialog.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/shortcut_sheet.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/models/parameters/parameter_filter.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/jobs_panel.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/start_page.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QKeyEvent>
#include <QMessageBox>
#include <QMimeData>
#include <QTabWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void MainWindow::connectActions()
{
    connect(m_actions.open, &QAction::triggered, this, &MainWindow::askForFolder);
    connect(m_actions.openFile, &QAction::triggered, this, &MainWindow::askForFile);
    connect(m_actions.newWindow, &QAction::triggered, this, &MainWindow::openNewWindow);
    connect(m_actions.addFolder, &QAction::triggered, this, &MainWindow::askForFurtherFolder);
    connect(m_actions.reload, &QAction::triggered, &m_session, &Session::reload);
    connect(m_actions.close, &QAction::triggered, this, [this] { closeOpen(m_open->currentIndex()); });
    connect(m_actions.quit, &QAction::triggered, this, &QWidget::close);
    connect(m_actions.check, &QAction::triggered, this, [this] {
        showPage(u"findings"_s);
        m_findings->check();
    });
    connect(m_actions.reshard, &QAction::triggered, this, &MainWindow::showReshardDialog);
    connect(m_actions.exportWeights, &QAction::triggered, this, &MainWindow::showExportDialog);
    connect(m_actions.manual, &QAction::triggered, this, [this] {
        const QString topic = manualTopicOf(QApplication::focusWidget());
        ManualWindow::open(this, topic.isEmpty() ? manualTopicOf(m_tabs->currentWidget()) : topic);
    });
    connect(m_actions.shortcuts, &QAction::triggered, this, [this] {
        auto* sheet = new ShortcutSheet(m_actions.all(), this);
        sheet->setAttribute(Qt::WA_DeleteOnClose);
        sheet->open();
    });
    connect(m_actions.about, &QAction::triggered, this, &MainWindow::showAbout);
    connectNavigation();
    connectView();
}

void MainWindow::connectNavigation()
{
    connect(m_actions.back, &QAction::triggered, &m_history, &SelectionHistory::back);
    connect(m_actions.forward, &QAction::triggered, &m_history, &SelectionHistory::forward);
    connect(m_actions.find, &QAction::triggered, this, [this] {
        m_filter->setFocus(Qt::ShortcutFocusReason);
        m_filter->selectAll();
    });
    connect(m_actions.goTo, &QAction::triggered, this, [this] {
        auto* dialog = new GoToDialog(m_session.checkpoint(), m_session.selection(), this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        // Numbers of parameters and files are those of one snapshot.
        connect(&m_session, &Session::checkpointChanged, dialog, &GoToDialog::setCheckpoint);
        dialog->open();
    });
    connect(m_actions.palette, &QAction::triggered, this, &MainWindow::showCommandPalette);
    connect(m_actions.quickOpen, &QAction::triggered, this, &MainWindow::showQuickOpen);
    connect(m_actions.pageWindow, &QAction::triggered, this, &MainWindow::openPageWindow);
    connect(m_actions.copyMap, &QAction::triggered, this, &MainWindow::copyMapPicture);
    connect(m_actions.saveMap, &QAction::triggered, this, &MainWindow::askForPicture);
    connect(m_actions.compare, &QAction::triggered, this, [this] {
        showPage(u"compare"_s);
        m_compare->setFocus(Qt::ShortcutFocusReason);
    });
    connect(m_actions.nextDifference, &QAction::triggered, this, [this] { m_compare->goToDifference(1); });
    connect(
        m_actions.previousDifference, &QAction::triggered, this, [this] { m_compare->goToDifference(-1); });
    connect(m_actions.nextPane, &QAction::triggered, this, [this] { focusPane(1); });
    connect(m_actions.previousPane, &QAction::triggered, this, [this] { focusPane(-1); });
    for (qsizetype i = 0; i < m_actions.pages.size(); ++i)
        connect(m_actions.pages[i], &QAction::triggered, this, [this, i] {
            // Otherwise the tabs pass the focus on themselves, and the focus frame is not shown.
            if (QWidget* former = QApplication::focusWidget())
                former->clearFocus();
            m_tabs->setCurrentIndex(static_cast<int>(i));
            m_tabs->currentWidget()->setFocus(Qt::ShortcutFocusReason);
        });
}

void MainWindow::connectView()
{
    for (size_t i = 0; i < m_actions.themes.size(); ++i)
        connect(m_actions.themes[i], &QAction::triggered, this, [this, i] {
            m_settings.setThemeMode(static_cast<ThemeMode>(i));
            m_theme.setMode(static_cast<ThemeMode>(i));
        });
    m_actions.themes[static_cast<size_t>(m_theme.mode())]->setChecked(true);
    const auto resizeText = [this](int percent) {
        m_settings.setTextSize(percent);
        applyTextSize(percent);
    };
    connect(m_actions.largerText, &QAction::triggered, this,
        [this, resizeText] { resizeText(nextTextSize(m_settings.textSize(), 1)); });
    connect(m_actions.smallerText, &QAction::triggered, this,
        [this, resizeText] { resizeText(nextTextSize(m_settings.textSize(), -1)); });
    connect(m_actions.normalText, &QAction::triggered, this, [resizeText] { resizeText(100); });
    applyTextSize(m_settings.textSize());
    connect(m_actions.fullScreen, &QAction::toggled, this, [this](bool on) {
        setWindowState(windowState().setFlag(Qt::WindowFullScreen, on)); // a maximised window stays one
    });
    connect(m_actions.resetLayout, &QAction::triggered, this, &MainWindow::resetLayout);
}

void MainWindow::connectPages()
{
    connect(m_start, &StartPage::openRequested, this, &MainWindow::askForFolder);
    connect(m_start, &StartPage::recentRequested, this, &MainWindow::openRecent);
    connect(m_tabs, &QTabWidget::currentChanged, this, &MainWindow::onPageChanged);
    connect(m_filter, &QLineEdit::textChanged, this, &MainWindow::onFilterTyped);
    m_filter->setTerms(ParameterFilter::terms()); // of the first page
    m_filter->setSaved(m_settings.filters());
    connect(m_filter, &FilterField::savedChanged, &m_settings, &Settings::setFilters);
    connect(m_filter, &FilterField::accepted, this, [this] {
        if (currentPage() != filteredPage())
            showPage(u"parameters"_s);
        m_tabs->currentWidget()->setFocus(Qt::OtherFocusReason);
    });
    connect(m_parameters, &ParametersPage::filtered, this, &MainWindow::onFiltered);
    connect(m_parameters, &ParametersPage::filterWanted, m_filter, &QLineEdit::setText);
    connect(m_parameters, &ParametersPage::matchesChanged, m_map->mapView(), &LayoutMapView::setLit);
    for (Page* page : m_pages)
        connectPage(page);
    connect(m_breadcrumb, &Breadcrumb::tagRequested, this, &MainWindow::openTag);
    connect(m_explorer, &ExplorerPanel::filterRequested, this, [this](const QString& filter) {
        showPage(u"parameters"_s);
        m_filter->setText(filter);
    });
    connect(&m_compareRun, &CompareRun::changed, this, [this] {
        const CompareOutcomePtr& outcome = m_compareRun.outcome();
        m_map->mapView()->setDifferences(outcome ? outcome->leftMarks : nullptr);
    });
    connect(m_compare, &ComparePage::differencesChanged, this,
        [this] { m_actions.setDifferences(m_compare->hasDifferences()); });
    connect(&m_findingStore, &FindingStore::changed, this, &MainWindow::updateFindingsTab);
    m_explorer->followFindings(m_findingStore);
    m_details->followFindings(m_findingStore);
}

void MainWindow::connectPage(Page* page)
{
    connect(page, &Page::tagRequested, this, &MainWindow::openTag);
    connect(page, &Page::saved, this, [this](const QString& path, const QString& problem) {
        m_messages->showMessage(problem.isEmpty() ? Severity::Info : Severity::Error,
            problem.isEmpty() ? tr("Saved the rows to %1.").arg(path) : problem);
    });
    connect(page, &Page::placeRequested, this, &MainWindow::goToPlace);
    connect(page, &Page::repairRequested, this, &MainWindow::startRepair);
    connect(page, &Page::undoRequested, this, &MainWindow::startUndo);
    connect(page, &Page::repairWanted, this, &MainWindow::showRepair);
    connect(page, &Page::parameterActivated, this, [this](ParamId param) {
        if (m_session.selection().current().param != param)
            m_session.selection().selectParam(param);
        showPage(u"tensor"_s);
    });
}

void MainWindow::openTag(const QString& tag)
{
    m_messages->hide();
    m_replacesOpen = true;
    m_session.openTag(tag.toStdString());
}

void MainWindow::goToPlace(const Place& where)
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    auto thing = checkpoint ? selectionOf(*checkpoint, where) : std::nullopt;
    if (!thing)
        return;
    const bool isFile = thing->file != kNoFile && thing->param == kNoParam && !thing->rank;
    m_session.selection().select(std::move(*thing));
    showPage(isFile ? u"files"_s : u"map"_s);
}

void MainWindow::askForFolder()
{
    auto* dialog = new QFileDialog(this, tr("Open a Checkpoint Folder"));
    dialog->setObjectName(u"openFolderDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) { openPath(path); });
    dialog->open();
}

void MainWindow::askForFurtherFolder()
{
    const bool isSwap = isSwapKind(m_session.checkpoint()->kind);
    auto* dialog = new QFileDialog(
        this, isSwap ? tr("Choose an Earlier Checkpoint of the Run") : tr("Add a Folder to the Checkpoint"));
    dialog->setObjectName(u"addFolderDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        m_messages->hide();
        m_session.addFolder(toPath(path));
    });
    dialog->open();
}

void MainWindow::askForFile()
{
    auto* dialog = new QFileDialog(
        this, tr("Open a Checkpoint File"), {}, tr("State files and skeletons (*.pt *.zip);;All files (*)"));
    dialog->setObjectName(u"openFileDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) { openPath(path); });
    dialog->open();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.isEmpty() || urls.size() > 2 || !urls.first().isLocalFile() || !urls.last().isLocalFile())
        return;
    event->setDropAction(Qt::LinkAction);
    event->accept();
    m_start->setDropTarget(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* /*event*/)
{
    m_start->setDropTarget(false);
}

void MainWindow::dropEvent(QDropEvent* event)
{
    m_start->setDropTarget(false);
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.isEmpty() || !urls.first().isLocalFile())
        return;
    openPath(urls.first().toLocalFile());
    if (urls.size() == 2) // two paths prepare a comparison; the user starts it
        compareWith(urls.last().toLocalFile(), false);
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() != Qt::Key_Escape) {
        QMainWindow::keyPressEvent(event);
        return;
    }
    // One step per key press: the last term of the filter, then the selection, then full screen.
    QStringList words = ParameterFilter::words(m_filter->text());
    if (!words.isEmpty()) {
        words.removeLast();
        m_filter->setText(words.join(u' '));
    } else if (!m_session.selection().current().isEmpty()) {
        m_session.selection().clear();
    } else {
        m_actions.fullScreen->setChecked(false);
    }
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
    if (event->type() == QEvent::ActivationChange && isActiveWindow())
        m_session.checkOnDisk();
}

void MainWindow::restore()
{
    const QByteArray geometry = m_settings.geometry();
    if (!geometry.isEmpty())
        restoreGeometry(geometry);
    const QByteArray docks = m_settings.docks();
    if (!docks.isEmpty())
        restoreState(docks, Settings::kFormat);
    m_jobsDock->setVisible(m_jobs.activeCount() > 0);
}

void MainWindow::showDocks(bool show)
{
    if (show == m_openDocks.isEmpty())
        return;
    if (!show) {
        m_openDocks = saveState(Settings::kFormat);
        m_explorerDock->hide();
        m_detailsDock->hide();
        return;
    }
    const bool jobs = m_jobsDock->isVisible();
    restoreState(std::exchange(m_openDocks, {}), Settings::kFormat);
    m_jobsDock->setVisible(jobs);
}

void MainWindow::resetLayout()
{
    if (!m_openDocks.isEmpty()) {
        m_openDocks = m_defaultDocks;
        return;
    }
    restoreState(m_defaultDocks, Settings::kFormat);
    m_jobsDock->setVisible(!m_jobs.jobs().isEmpty());
}

void MainWindow::showAbout()
{
    const BuildInfo info = buildInfo();
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Shardscope"),
        tr("Shardscope %1 (%2)\n\nInspects and reshards DeepSpeed checkpoints. It never runs code in a "
           "checkpoint, never changes its input, and re-reads what it writes.\n\nQt %3 · Apache-2.0")
            .arg(toText(info.version), toText(info.commit), QString::fromLatin1(qVersion())),
        QMessageBox::Close, this);
    box->setObjectName(u"aboutBox"_s);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

} // namespace shardscope::ui
