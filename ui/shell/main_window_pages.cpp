// SPDX-License-Identifier: Apache-2.0
// Pages in windows of their own.
#include "ui/shell/main_window.h"

#include "ui/layoutmap/layout_map_view.h"
#include "ui/shell/page_window.h"
#include "ui/views/files_page.h"
#include "ui/views/map_page.h"
#include "ui/views/overview_page.h"
#include "ui/views/parameters_page.h"
#include "ui/widgets/filter_field.h"

#include <QTabWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageWindow* MainWindow::openPageWindow()
{
    if (!m_session.checkpoint())
        return nullptr;
    auto* window = new PageWindow(m_session, m_theme, this);
    const QString title = m_tabs->tabText(m_tabs->currentIndex());
    const QWidget* current = m_tabs->currentWidget();
    if (current == m_map) {
        auto* page = new MapPage(m_theme, window->selection(), window);
        page->mapView()->setLit(m_map->mapView()->canvas()->mapStyle().lit);
        connect(m_parameters, &ParametersPage::matchesChanged, window, [window, page](const ParamMarks& lit) {
            if (!window->isPinned() || !lit)
                page->mapView()->setLit(lit);
        });
        window->setPage(page, title, [page](const CheckpointPtr& now) { page->setCheckpoint(now); });
    } else if (current == m_parameters) {
        auto* page = new ParametersPage(m_theme, window->selection(), window);
        page->setFilter(m_parameterFilter);
        connect(page, &ParametersPage::filterWanted, window, [this, window, page](const QString& text) {
            window->isPinned() ? page->setFilter(text) : m_filter->setText(text);
        });
        connect(m_parameters, &ParametersPage::filtered, window, [this, window, page] {
            if (!window->isPinned())
                page->setFilter(m_parameterFilter);
        });
        window->setPage(page, title, [page](const CheckpointPtr& now) { page->setCheckpoint(now); });
    } else if (current == m_filesPage) {
        auto* page = new FilesPage(m_session.files(), m_theme, window->selection(), window);
        window->setPage(page, title, [page](const CheckpointPtr& now) { page->setCheckpoint(now); });
    } else {
        auto* page = new OverviewPage(m_theme, window);
        connect(page, &OverviewPage::placeRequested, this, &MainWindow::goToPlace);
        connect(page, &OverviewPage::tagRequested, m_overview, &OverviewPage::tagRequested);
        window->setPage(page, title, [page](const CheckpointPtr& now) { page->setCheckpoint(now); });
    }
    window->show();
    window->activateWindow();
    return window;
}

} // namespace shardscope::ui
