// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/session.h"
#include "ui/style/theme.h"

#include <QObject>

class QDockWidget;
class QMainWindow;
class QMenu;

namespace shardscope::ui {

class DetailsPanel;
class ExplorerPanel;
class JobList;
class JobsPanel;

/// The panels around the pages, and where they are: beside the start page only that of jobs.
class WindowDocks : public QObject
{
    Q_OBJECT
public:
    WindowDocks(Session& session, JobList& jobs, Theme& theme, QMainWindow* window);

    [[nodiscard]] ExplorerPanel* explorer() const { return m_explorer; }
    [[nodiscard]] DetailsPanel* details() const { return m_details; }
    [[nodiscard]] JobsPanel* jobs() const { return m_jobs; }
    void addToggles(QMenu* menu) const;
    void showJobs();
    /// They are as they shall be by default.
    void keepDefault();
    /// Takes up the state() of an earlier window; empty: as they are.
    void restore(const QByteArray& state);
    /// As it is to be stored.
    [[nodiscard]] QByteArray state() const;
    /// Beside an open checkpoint, or beside the start page.
    void show(bool isOpen);
    void reset();
    /// Arranges them as in a stored state().
    void apply(const QByteArray& state);

private:
    void fitWidths();
    QDockWidget* make(const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area);

    QMainWindow* m_window;
    JobList& m_list;
    ExplorerPanel* m_explorer;
    DetailsPanel* m_details;
    JobsPanel* m_jobs;
    QDockWidget* m_explorerDock;
    QDockWidget* m_detailsDock;
    QDockWidget* m_jobsDock;
    bool m_isUsual = false; ///< their widths are not the user's
    QByteArray m_default;
    QByteArray m_open; ///< as they were when the start page came; empty while a checkpoint is open
};

} // namespace shardscope::ui
