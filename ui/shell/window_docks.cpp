// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/window_docks.h"

#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/jobs_panel.h"
#include "ui/style/settings.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>

#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

WindowDocks::WindowDocks(Session& session, JobList& jobs, Theme& theme, QMainWindow* window)
    : QObject(window)
    , m_window(window)
    , m_list(jobs)
    , m_explorer(new ExplorerPanel(theme, session.selection(), window))
    , m_details(new DetailsPanel(theme, session.selection(), window))
    , m_jobs(new JobsPanel(theme, jobs, window))
    , m_explorerDock(make(u"explorerDock"_s, tr("Explorer"), m_explorer, Qt::LeftDockWidgetArea))
    , m_detailsDock(make(u"detailsDock"_s, tr("Details"), m_details, Qt::RightDockWidgetArea))
    , m_jobsDock(make(u"jobsDock"_s, tr("Jobs"), m_jobs, Qt::BottomDockWidgetArea))
{
    window->setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    window->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    fitWidths();
    window->resizeDocks({m_jobsDock}, {150}, Qt::Vertical);
    m_jobsDock->hide();
    connect(&jobs, &JobList::added, this, &WindowDocks::showJobs);
}

/// More for larger text, less in a window where the page needs the room.
void WindowDocks::fitWidths()
{
    constexpr double kUsualLine = 16;
    const double scale = std::max(m_window->fontMetrics().height() / kUsualLine, 1.0);
    const auto width = [&](int usual, double share) {
        return static_cast<int>(std::min(usual * scale, m_window->width() * share));
    };
    m_window->resizeDocks(
        {m_explorerDock, m_detailsDock}, {width(290, 0.27), width(330, 0.18)}, Qt::Horizontal);
}

QDockWidget* WindowDocks::make(
    const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area)
{
    auto* dock = new QDockWidget(title, m_window);
    dock->setObjectName(name);
    dock->setWidget(content);
    m_window->addDockWidget(area, dock);
    return dock;
}

void WindowDocks::addToggles(QMenu* menu) const
{
    for (QDockWidget* dock : {m_explorerDock, m_detailsDock, m_jobsDock})
        menu->addAction(dock->toggleViewAction());
}

void WindowDocks::showJobs()
{
    m_jobsDock->show();
    m_jobsDock->raise();
}

void WindowDocks::keepDefault()
{
    m_default = m_window->saveState(Settings::kFormat);
}

void WindowDocks::restore(const QByteArray& state)
{
    if (!state.isEmpty())
        m_window->restoreState(state, Settings::kFormat);
    m_isUsual = state.isEmpty();
    m_jobsDock->setVisible(m_list.activeCount() > 0);
}

QByteArray WindowDocks::state() const
{
    return m_open.isEmpty() ? m_window->saveState(Settings::kFormat) : m_open;
}

void WindowDocks::show(bool isOpen)
{
    if (isOpen == m_open.isEmpty())
        return;
    if (!isOpen) {
        m_open = m_window->saveState(Settings::kFormat);
        m_explorerDock->hide();
        m_detailsDock->hide();
        return;
    }
    const bool jobs = m_jobsDock->isVisible();
    m_window->restoreState(std::exchange(m_open, {}), Settings::kFormat);
    if (std::exchange(m_isUsual, false))
        fitWidths(); // of the size that the window has by now
    m_jobsDock->setVisible(jobs);
}

void WindowDocks::reset()
{
    apply(m_default);
    if (m_open.isEmpty())
        fitWidths();
    else
        m_isUsual = true;
}

void WindowDocks::apply(const QByteArray& state)
{
    if (!m_open.isEmpty()) {
        m_open = state;
        return;
    }
    m_window->restoreState(state, Settings::kFormat);
    m_jobsDock->setVisible(!m_list.jobs().isEmpty());
}

} // namespace shardscope::ui
