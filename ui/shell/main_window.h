// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui: the window: its pages, panels and dialogs.
//
// Folder ui/shell: makes pages, docks and actions and connects them. Start with MainWindow; Actions has
// every action.

#include "ui/models/selection_history.h"
#include "ui/session/check_run.h"
#include "ui/session/compare_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/session.h"
#include "ui/session/write_job.h"
#include "ui/shell/actions.h"
#include "ui/shell/window_jobs.h"
#include "ui/style/settings.h"

#include <QMainWindow>

#include <optional>

class QMenu;
class QStackedWidget;

namespace shardscope::ui {

class Breadcrumb;
class CheckpointBar;
class MessageBar;
class MissedList;
class PageFilter;
class PageTabs;
class PageWindow;
class StartPage;
class StatusLine;
class WindowDocks;

/// The window: puts pages, docks and actions together and wires them to session, selection and jobs. What a
/// page shows is decided by the page.
class MainWindow : public QMainWindow
{
    Q_OBJECT
public:
    MainWindow(io::FileSystem& files, Theme& theme, Settings& settings, QWidget* parent = nullptr);
    ~MainWindow() override;

    void openPath(const QString& path, const QString& tag = {});
    void openPlace(OpenedPlace place);
    void showPage(PageId id);
    /// By its name in its PageEntry. False when there is none.
    bool showPage(const QString& name);
    /// As soon as the checkpoint that is being opened is shown, which begins with the first page else.
    void showPageWhenOpen(const QString& name);
    /// Opens what was open in earlier windows, each in a window with a tab for each entry; the last one is
    /// shown. The first of the windows is this one.
    void openAgain(const QList<OpenedEntry>& entries);
    /// One of them, as it was seen.
    void openAgain(const OpenedEntry& entry);
    /// The other checkpoint of the comparison page, which is not shown for it.
    void setPartner(const QString& path);
    /// Unpacks and opens the bundled sample.
    void openSample();
    /// The findings, with the fixes of all errors ticked.
    void showRepair();
    /// Says over the window what a drop of these paths would do; empty: nothing.
    void showDrop(const QStringList& paths);
    /// The panel of jobs, which is hidden until there are some.
    void showJobs();
    /// Selects the place of an address or a parameter's name. False if the checkpoint does not have it.
    bool goToAddress(const QString& address);
    /// The command that opens what is shown now: checkpoint, page, filter, selection, partner of a
    /// comparison.
    [[nodiscard]] QString viewCommand();
    /// The same as soon as the checkpoint that is being opened is shown.
    void selectWhenOpen(const QString& address);
    /// Filters the page that then comes to the front.
    void filterWhenOpen(const QString& text);
    /// Sets the other checkpoint for comparing the open one, or the one being opened; `start`: and compares.
    void compareWith(const QString& path, bool start);
    /// Opens a second view of the page in front in its own window; null if no checkpoint is open.
    PageWindow* openPageWindow();
    /// The windows of OpenedEntry::pages.
    void openPageWindows(const QStringList& pages);
    /// The reshard dialog, or null when the checkpoint cannot be resharded.
    ReshardDialog* showReshardDialog();
    /// The same, with a universal folder chosen.
    ReshardDialog* showConvertDialog();
    /// Shows a card for each job that an earlier process left unfinished.
    void offerUnfinishedJobs() { m_jobs.offerUnfinished(); }
    /// The program that continues jobs in the background, with --headless; else this one.
    void setHeadlessProgram(const QString& path) { m_jobs.setHeadlessProgram(path); }
    /// Another window of this process; it deletes itself when it is closed.
    MainWindow* openNewWindow();
    /// The export dialog, or null if the checkpoint cannot be exported.
    ExportDialog* showExportDialog();
    /// No reading, filtering or drawing runs in the background; jobs do not count.
    [[nodiscard]] bool isSettled() const;

    [[nodiscard]] Session& session() { return m_session; }
    [[nodiscard]] Selection& selection() { return m_session.selection(); }
    [[nodiscard]] JobList& jobs() { return m_jobs.list(); }
    [[nodiscard]] const Actions& actionSet() const { return m_actions; }

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void makePages();
    void makeToolBar();
    void makeMenus();
    void connectActions();
    void connectNavigation();
    void connectView();
    void connectSession();
    void connectPages();
    void connectJobs();
    void connectSwitcher();
    void fillRecentMenu(QMenu* menu);
    void fillOpenMenu(QMenu* menu);

    void showCheckpoint(const CheckpointPtr& checkpoint, bool refined);
    void resetView();
    void showOpenError(const Error& error);
    void showChanges(const DiskChanges& changes);
    void switchTo(int tab);
    void stepOpen(int by);
    /// Closes one of the open checkpoints; if it is the one shown, its neighbour comes, or the start page.
    void closeOpen(int tab);
    void updateSwitcher();
    void updatePageActions();
    /// For a page of the window, and one in a window of its own.
    void connectPage(Page* page);
    /// What is seen now.
    [[nodiscard]] HistoryPlace place();
    void rememberPlace();
    void revisit(const HistoryPlace& place);
    void rememberRecent(const ReadCheckpoint& read, const QDateTime& when);
    /// Also its page and selection, as they were left.
    void openRecent(const OpenedEntry& entry);
    void goToPlace(const Place& where);
    /// A place in the checkpoint that a job has read, which is opened if it is not.
    void goToProblem(const Job* job, const Place& where);
    void openTag(const QByteArray& tag);
    /// A folder of runs was opened.
    void showRuns();
    void openFolder(const QByteArray& folder, bool isOfRun);
    /// The reshard dialog of the checkpoint in this folder, which is opened if it is not.
    void reshardFolder(const QByteArray& folder);
    void askForFolder();
    void askForFile();
    void askForHost();
    /// A path in the clipboard.
    void openPasted();
    /// Says how the connections to the hosts are whose files are shown, being opened or compared.
    void watchHosts();
    /// Reads what could not be read while the connections to these hosts were lost.
    void readAgainFrom(const QStringList& hosts);
    void askForFurtherFolder();
    void showAbout();
    void showSettings();
    [[nodiscard]] QList<OpenedEntry> openedEntries();
    /// Without what is seen of it.
    [[nodiscard]] static OpenedEntry entryToOpen(const ReadCheckpoint& read);
    void openAgainHere(const QList<OpenedEntry>& entries);
    PageWindow* openPageWindow(const PageEntry& entry);
    /// Those of this process that are open, this one first.
    [[nodiscard]] QList<MainWindow*> openWindows();
    [[nodiscard]] QList<OpenedEntry> openedInAllWindows();
    /// Closes all windows, and the next start opens all of them. If one has jobs, it asks what shall become
    /// of them, and until that is done all windows stay open.
    void quit();
    MissedList& missed();
    void fillLayoutMenu(QMenu* menu);
    void fillKindMenu(QMenu* menu);
    void askForLayoutName();
    void focusPane(int step);
    void orderPanes();

    /// For the checkpoint that is being opened.
    struct Wanted {
        QString address; ///< is gone to when it is shown
        QString filter{}; ///< of its page
        QString paramFilter{}; ///< of the parameters
        std::optional<PageId> page; ///< comes to the front when it is shown
        bool replaces = false; ///< it takes the tab of what is shown
        bool reshard = false; ///< the reshard dialog comes when it was read
    };

    Theme& m_theme;
    Settings& m_settings;
    Session m_session;
    SelectionHistory m_history;
    WindowJobs m_jobs;
    CompareRun m_compareRun;
    CheckRun m_checkRun;
    FindingStore m_findingStore;
    Actions m_actions;

    QStackedWidget* m_stack = nullptr;
    StartPage* m_start = nullptr;
    CheckpointBar* m_open = nullptr;
    MessageBar* m_messages = nullptr;
    PageTabs* m_tabs = nullptr;
    WindowDocks* m_docks = nullptr;
    QToolBar* m_toolBar = nullptr;
    Breadcrumb* m_breadcrumb = nullptr;
    PageFilter* m_filter = nullptr;
    StatusLine* m_status = nullptr;
    Wanted m_wanted;
};

} // namespace shardscope::ui
