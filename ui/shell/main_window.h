// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui: the window: its pages, panels and dialogs.
//
// Folder ui/shell: makes pages, docks and actions and connects them. Start with MainWindow; makeActions() has
// every action.

#include "ui/jobs/job.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/selection_history.h"
#include "ui/session/check_run.h"
#include "ui/session/compare_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/session.h"
#include "ui/session/write_job.h"
#include "ui/shell/actions.h"
#include "ui/shell/desktop_notifier.h"
#include "ui/style/settings.h"

#include <QHash>
#include <QMainWindow>
#include <QSet>

#include <optional>

class QLabel;
class QMenu;
class QStackedWidget;
class QTabWidget;

namespace shardscope {
struct WritePlan;
}

namespace shardscope::ui {

class Breadcrumb;
class CheckpointBar;
class ComparePage;
class DetailsPanel;
class ElidedLabel;
class ExplorerPanel;
class ExportDialog;
class FilterField;
class FindingsPage;
class FocusRing;
class JobsPanel;
class MapPage;
class MessageBar;
struct MapPicture;
class Page;
class PageWindow;
class ParametersPage;
class ReshardDialog;
class StartPage;

/// The window: puts pages, docks and actions together and wires them to session, selection and jobs. What a
/// page shows is decided by the page.
class MainWindow : public QMainWindow
{
    Q_OBJECT
public:
    MainWindow(io::FileSystem& files, Theme& theme, Settings& settings, QWidget* parent = nullptr);
    ~MainWindow() override;

    void openPath(const QString& path, const QString& tag = {});
    /// By object name without "Page": "overview", "map", "parameters", "tensor", "files", "compare",
    /// "findings". False
    /// when there is none.
    bool showPage(const QString& name);
    /// As soon as the checkpoint that is being opened is shown, which begins with the first page else.
    void showPageWhenOpen(const QString& name);
    /// Selects the place of an address or a parameter's name. False if the checkpoint does not have it.
    bool goToAddress(const QString& address);
    /// The same as soon as the checkpoint that is being opened is shown.
    void selectWhenOpen(const QString& address);
    /// Sets the other checkpoint for comparing the open one, or the one being opened; `start`: and compares.
    void compareWith(const QString& path, bool start);
    /// Opens a second view of the page in front in its own window; null if no checkpoint is open.
    PageWindow* openPageWindow();
    /// Writes the map's picture to a PNG or SVG file; a message reports the result.
    void saveMapPicture(const QString& path);
    /// Puts the map's picture on the clipboard.
    void copyMapPicture();
    /// The reshard dialog, or null when the checkpoint cannot be resharded.
    ReshardDialog* showReshardDialog();
    /// Shows a card for each job that an earlier process left unfinished.
    void offerUnfinishedJobs();
    /// The program that continues jobs in the background, with --headless; else this one.
    void setHeadlessProgram(const QString& path) { m_headlessProgram = path; }
    /// Another window of this process; it deletes itself when it is closed.
    MainWindow* openNewWindow();
    /// The export dialog, or null if the checkpoint cannot be exported.
    ExportDialog* showExportDialog();
    /// No reading, filtering or drawing runs in the background; jobs do not count.
    [[nodiscard]] bool isSettled() const;

    [[nodiscard]] Session& session() { return m_session; }
    [[nodiscard]] Selection& selection() { return m_session.selection(); }
    [[nodiscard]] JobList& jobs() { return m_jobs; }
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
    void makeDocks();
    void makeToolBar();
    void makeMenus();
    void makeStatusBar();
    void connectActions();
    void connectNavigation();
    void connectView();
    void connectSession();
    void connectPages();
    void connectJobs();
    void connectSwitcher();
    [[nodiscard]] StoredJobs storedJobs() const;
    [[nodiscard]] std::shared_ptr<const JobStore> storeOf(std::function<SavedPlan()> plan) const;
    /// Starts a job that writes to `target`, and remembers where.
    void startWriting(Job* job, const Checkpoint& source, const io::Path& target);
    void tellDesktop(const Job& job);
    /// Removes what a job has finished, and its card.
    void discardJob(Job* job);
    void fillRecentMenu();
    void restore();
    void resetLayout();
    void showDocks(bool show);

    void showCheckpoint(const CheckpointPtr& checkpoint, bool refined);
    void resetView();
    void showOpenError(const Error& error);
    void switchTo(int tab);
    void stepOpen(int by);
    /// Closes one of the open checkpoints; if it is the one shown, its neighbour comes, or the start page.
    void closeOpen(int tab);
    void updateSwitcher();
    void updateStatus();
    void updateJobsLabel(int active);
    void onPageChanged();
    void onFilterTyped(const QString& text);
    void onFiltered(qulonglong shown, qulonglong total, const QString& problem);
    [[nodiscard]] Page* currentPage() const;
    /// The page that the filter field filters: the one in front, or the parameters if that has no filter.
    [[nodiscard]] Page* filteredPage() const;
    /// For a page of the window, and one in a window of its own.
    void connectPage(Page* page);
    void rememberPlace();
    void revisit(const HistoryPlace& place);
    void rememberRecent(const ReadCheckpoint& read, const QDateTime& when);
    /// Also its page and selection, as they were left.
    void openRecent(const QString& path, const QString& tag);
    void updateFindingsTab();
    void startRepair(const WritePlanPtr& plan, const QString& folder);
    void startUndo(const QString& folder);
    void goToPlace(const Place& where);
    void openTag(const QString& tag);
    void askForFolder();
    void askForFile();
    void askForFurtherFolder();
    /// The findings, with the fixes of all errors ticked.
    void showRepair();
    void askAboutJobs();
    void closeWhenIdle();
    void continueDetached();
    void showAbout();
    void showCommandPalette();
    void showQuickOpen();
    void focusPane(int step);
    void orderPanes();
    void askForPicture();
    /// Of the visible map; a message says why if there is none.
    [[nodiscard]] std::optional<MapPicture> mapPicture();

    Theme& m_theme;
    Settings& m_settings;
    Session m_session;
    SelectionHistory m_history;
    JobList m_jobs;
    DesktopNotifier m_notifier;
    CompareRun m_compareRun;
    CheckRun m_checkRun;
    FindingStore m_findingStore;
    Actions m_actions;

    QStackedWidget* m_stack = nullptr;
    StartPage* m_start = nullptr;
    CheckpointBar* m_open = nullptr;
    MessageBar* m_messages = nullptr;
    QTabWidget* m_tabs = nullptr;
    QList<Page*> m_pages; ///< in the order of the tabs
    MapPage* m_map = nullptr;
    ParametersPage* m_parameters = nullptr;
    ComparePage* m_compare = nullptr;
    FindingsPage* m_findings = nullptr;
    ExplorerPanel* m_explorer = nullptr;
    DetailsPanel* m_details = nullptr;
    JobsPanel* m_jobsPanel = nullptr;
    QDockWidget* m_explorerDock = nullptr;
    QDockWidget* m_detailsDock = nullptr;
    QDockWidget* m_jobsDock = nullptr;
    QToolBar* m_toolBar = nullptr;
    Breadcrumb* m_breadcrumb = nullptr;
    FilterField* m_filter = nullptr;
    QLabel* m_filterCount = nullptr;
    ElidedLabel* m_statusTitle = nullptr;
    ElidedLabel* m_statusHover = nullptr;
    ElidedLabel* m_statusSum = nullptr;
    ElidedLabel* m_statusJobs = nullptr;
    QByteArray m_defaultDocks;
    QByteArray m_openDocks; ///< as they were when the start page came; empty while a checkpoint is open
    QHash<const Page*, QString> m_filters; ///< of the pages with one of their own
    io::Path m_shownRun; ///< the run folder of what is shown
    QString m_addressWanted; ///< is gone to when the checkpoint being opened is shown
    QString m_pageWanted; ///< comes to the front when the checkpoint being opened is shown
    bool m_replacesOpen = false; ///< what is being opened takes the tab of what is shown
    bool m_changingFilter = false;
    /// The choice when the window was closed while jobs were running.
    enum class Closing : uint8_t { No, WhenDone, Detach, Now };
    Closing m_closing = Closing::No;
    QString m_headlessProgram;
    QStringList m_detached; ///< records of the jobs that go on without the window
    QSet<const Job*> m_seenFailures; ///< when it was chosen; only compared, never followed
    QMenu* m_recentMenu = nullptr;
    LatestOnly m_pictureWriter{WorkLength::Long};
    LatestOnly m_jobFinder{WorkLength::Long};
    LatestOnly m_jobCleaner{WorkLength::Long};
    FocusRing* m_focusRing = nullptr;
};

} // namespace shardscope::ui
