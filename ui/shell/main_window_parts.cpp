// SPDX-License-Identifier: Apache-2.0
// How the window is put together: pages, docks, tool bar, menus, status bar.
#include "ui/shell/main_window.h"
#include "ui/text/text.h"

#include "ui/controls/breadcrumb.h"
#include "ui/dialogs/manual_window.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/jobs_panel.h"
#include "ui/pages/map_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/start_page.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/style/icons.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QLabel>
#include <QMenuBar>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void MainWindow::makePages()
{
    m_stack = new QStackedWidget(this);
    m_stack->setObjectName(u"centre"_s);
    m_start = new StartPage(m_theme, m_settings, m_stack);
    auto* centre = new QWidget(m_stack);
    centre->setObjectName(u"pages"_s);
    m_open = new CheckpointBar(m_theme, centre);
    m_messages = new MessageBar(m_theme, centre);
    m_messages->setObjectName(u"windowMessages"_s);
    m_tabs = new QTabWidget(centre);
    m_tabs->setObjectName(u"pageTabs"_s);
    m_tabs->setDocumentMode(true);
    m_tabs->tabBar()->setAccessibleName(tr("Pages"));
    const PageContext context{
        m_session, m_session.selection(), m_compareRun, m_findingStore, m_settings, m_theme};
    for (const PageEntry& entry : pageList()) {
        m_pages.append(entry.make(context, m_tabs));
        setManualTopic(m_pages.last(), entry.topic);
        m_tabs->addTab(m_pages.last(), themedIcon(m_theme, entry.icon, ThemeRole::MutedText), entry.title);
    }
    m_map = m_tabs->findChild<MapPage*>();
    m_parameters = m_tabs->findChild<ParametersPage*>();
    m_compare = m_tabs->findChild<ComparePage*>();
    m_findings = m_tabs->findChild<FindingsPage*>();
    auto* rows = new QVBoxLayout(centre);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_open);
    rows->addWidget(m_messages);
    rows->addWidget(m_tabs, 1);
    m_stack->addWidget(m_start);
    m_stack->addWidget(centre);
    setCentralWidget(m_stack);
}

void MainWindow::makeDocks()
{
    const auto make
        = [this](const QString& name, const QString& title, QWidget* content, Qt::DockWidgetArea area) {
              auto* dock = new QDockWidget(title, this);
              dock->setObjectName(name);
              dock->setWidget(content);
              addDockWidget(area, dock);
              return dock;
          };
    m_explorer = new ExplorerPanel(m_theme, m_session.selection(), this);
    m_details = new DetailsPanel(m_theme, m_session.selection(), this);
    m_jobsPanel = new JobsPanel(m_theme, m_jobs, this);
    m_explorerDock = make(u"explorerDock"_s, tr("Explorer"), m_explorer, Qt::LeftDockWidgetArea);
    m_detailsDock = make(u"detailsDock"_s, tr("Details"), m_details, Qt::RightDockWidgetArea);
    m_jobsDock = make(u"jobsDock"_s, tr("Jobs"), m_jobsPanel, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    resizeDocks({m_explorerDock, m_detailsDock}, {290, 330}, Qt::Horizontal);
    resizeDocks({m_jobsDock}, {150}, Qt::Vertical);
    m_jobsDock->hide();
}

void MainWindow::makeToolBar()
{
    m_toolBar = addToolBar(tr("Main tool bar"));
    m_toolBar->setObjectName(u"mainToolBar"_s);
    m_toolBar->setMovable(false);
    m_toolBar->setIconSize(QSize(20, 20));
    m_toolBar->setContextMenuPolicy(Qt::PreventContextMenu);
    m_toolBar->addAction(m_actions.open);
    m_toolBar->addAction(m_actions.reload);
    m_toolBar->addSeparator();
    m_toolBar->addAction(m_actions.back);
    m_toolBar->addAction(m_actions.forward);
    m_breadcrumb = new Breadcrumb(m_theme, m_session.selection(), m_toolBar);
    m_toolBar->addWidget(m_breadcrumb);
    m_filterCount = new QLabel(m_toolBar);
    m_filterCount->setObjectName(u"filterCount"_s);
    m_filterCount->setContentsMargins(8, 0, 8, 0);
    m_toolBar->addWidget(m_filterCount);
    m_filter = new FilterField(m_theme, m_toolBar);
    m_toolBar->addWidget(m_filter);
    m_toolBar->addAction(m_actions.goTo);
    m_toolBar->addSeparator();
    m_toolBar->addAction(m_actions.check);
    m_toolBar->addAction(m_actions.reshard);
    m_toolBar->addAction(m_actions.exportWeights);
    for (QAction* action : {m_actions.check, m_actions.reshard, m_actions.exportWeights})
        if (auto* button = qobject_cast<QToolButton*>(m_toolBar->widgetForAction(action)))
            button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    for (QAction* action : m_toolBar->actions())
        if (QWidget* button = m_toolBar->widgetForAction(action);
            button != nullptr && !action->objectName().isEmpty())
            button->setObjectName(action->objectName() % u"Button"_s);
}

void MainWindow::makeMenus()
{
    const auto add = [this](const QString& name, const QString& title) {
        QMenu* menu = menuBar()->addMenu(title);
        menu->setObjectName(name);
        return menu;
    };
    QMenu* file = add(u"fileMenu"_s, tr("&File"));
    file->addActions({m_actions.newWindow, m_actions.open, m_actions.openFile});
    m_recentMenu = file->addMenu(tr("Open R&ecent"));
    m_recentMenu->setObjectName(u"recentMenu"_s);
    connect(m_recentMenu, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
    file->addActions({m_actions.addFolder, m_actions.reload, m_actions.close});
    file->addActions({m_actions.compare, m_actions.saveMap, m_actions.copyMap});
    file->addSeparator();
    file->addAction(m_actions.quit);
    QMenu* go = add(u"goMenu"_s, tr("&Go"));
    go->addActions({m_actions.back, m_actions.forward, m_actions.goTo, m_actions.quickOpen, m_actions.find});
    go->addSeparator();
    for (QAction* page : m_actions.pages)
        go->addAction(page);
    go->addSeparator();
    go->addActions({m_actions.nextDifference, m_actions.previousDifference});
    go->addSeparator();
    go->addActions({m_actions.nextPane, m_actions.previousPane});
    go->addSeparator();
    go->addActions({m_actions.nextOpen, m_actions.previousOpen});
    QMenu* checkpoint = add(u"checkpointMenu"_s, tr("&Checkpoint"));
    checkpoint->addActions({m_actions.check, m_actions.reshard, m_actions.exportWeights});
    QMenu* view = add(u"viewMenu"_s, tr("&View"));
    for (QDockWidget* dock : {m_explorerDock, m_detailsDock, m_jobsDock})
        view->addAction(dock->toggleViewAction());
    view->addSeparator();
    view->addAction(m_actions.pageWindow);
    view->addSeparator();
    QMenu* themes = view->addMenu(tr("&Theme"));
    themes->setObjectName(u"themeMenu"_s);
    themes->addActions(m_actions.themeGroup->actions());
    view->addActions({m_actions.largerText, m_actions.smallerText, m_actions.normalText});
    view->addAction(m_actions.fullScreen);
    view->addAction(m_actions.resetLayout);
    QMenu* help = add(u"helpMenu"_s, tr("&Help"));
    help->addActions({m_actions.manual, m_actions.palette, m_actions.shortcuts, m_actions.about});
}

void MainWindow::fillRecentMenu()
{
    m_recentMenu->clear();
    int number = 0;
    for (const RecentEntry& entry : m_settings.recent()) {
        ++number;
        const QString name = entry.tag.isEmpty() ? entry.path : QString(entry.path % u" · "_s % entry.tag);
        const QString shown = m_recentMenu->fontMetrics().elidedText(
            toText(name.toStdString()).replace(u'&', u"&&"_s), Qt::ElideMiddle, 480);
        QAction* action
            = m_recentMenu->addAction(number < 10 ? QString(u"&%1  "_s.arg(number) % shown) : shown);
        action->setToolTip(name);
        connect(action, &QAction::triggered, this, [this, entry] { openRecent(entry.path, entry.tag); });
    }
    if (number == 0)
        m_recentMenu->addAction(tr("No checkpoint was open yet"))->setEnabled(false);
}

void MainWindow::makeStatusBar()
{
    const auto make = [this](const QString& name, int stretch) {
        auto* label = new ElidedLabel(this);
        label->setObjectName(name);
        label->setContentsMargins(6, 0, 6, 0);
        statusBar()->addWidget(label, stretch);
        return label;
    };
    statusBar()->setObjectName(u"statusBar"_s);
    m_statusTitle = make(u"statusTitle"_s, 3);
    m_statusHover = make(u"statusHover"_s, 4);
    m_statusSum = make(u"statusSum"_s, 3);
    m_statusJobs = make(u"statusJobs"_s, 0);
}

} // namespace shardscope::ui
