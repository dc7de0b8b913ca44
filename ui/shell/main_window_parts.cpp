// SPDX-License-Identifier: Apache-2.0
// How the window is put together: pages, tool bar, menus.
#include "ui/shell/main_window.h"

#include "ui/controls/breadcrumb.h"
#include "ui/controls/host_bar.h"
#include "ui/pages/start_page.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/missed_list.h"
#include "ui/shell/page_filter.h"
#include "ui/shell/window_docks.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/window_fit.h"

#include <QActionGroup>
#include <QMenuBar>
#include <QStackedWidget>
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
    m_jobs.setMessages(m_messages);
    const PageContext context{
        m_session, m_session.selection(), m_compareRun, m_findingStore, m_settings, m_theme};
    m_tabs = new PageTabs(context, centre);
    auto* rows = new QVBoxLayout(centre);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_open);
    rows->addWidget(m_messages);
    constexpr QSize kMost(480, 240); // so that no page sets the minimum size of the window
    rows->addWidget(scrolled(m_tabs, centre, kMost), 1);
    m_stack->addWidget(scrolled(m_start, m_stack, kMost));
    m_stack->addWidget(centre);
    auto* whole = new QWidget(this);
    auto* missed = new MissedList(m_theme, whole);
    connect(
        missed, &MissedList::tryAgain, this, [this](const OpenedEntry& entry) { openAgainHere({entry}); });
    auto* parts = new QVBoxLayout(whole);
    parts->setContentsMargins(0, 0, 0, 0);
    parts->setSpacing(0);
    parts->addWidget(missed);
    parts->addWidget(new HostBar(m_theme, whole));
    parts->addWidget(m_stack, 1);
    setCentralWidget(whole);
    m_tabs->addPages(context);
}

void MainWindow::makeToolBar()
{
    m_toolBar = addToolBar(tr("Main tool bar"));
    m_toolBar->setObjectName(u"mainToolBar"_s);
    m_toolBar->setMovable(false);
    m_toolBar->setIconSize(QSize(20, 20));
    m_toolBar->setContextMenuPolicy(Qt::PreventContextMenu);
    m_toolBar->addAction(m_actions[ActionId::Open]);
    m_toolBar->addAction(m_actions[ActionId::Reload]);
    m_toolBar->addSeparator();
    m_toolBar->addAction(m_actions[ActionId::Back]);
    m_toolBar->addAction(m_actions[ActionId::Forward]);
    m_breadcrumb = new Breadcrumb(m_theme, m_session.selection(), m_session.tags(), m_toolBar);
    m_toolBar->addWidget(m_breadcrumb);
    m_filter = new PageFilter(*m_tabs,
        {m_session, m_session.selection(), m_compareRun, m_findingStore, m_settings, m_theme}, m_actions,
        m_toolBar);
    m_toolBar->addWidget(m_filter->field());
    m_toolBar->addSeparator();
    const QList<QAction*> jobs = m_actions.of(PageAction::Menu::Checkpoint)
        << m_actions[ActionId::Reshard] << m_actions[ActionId::Export];
    m_toolBar->addActions(jobs);
    for (QAction* action : jobs)
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
    const auto addFilled
        = [this](QMenu* parent, const QString& name, const QString& title, void (MainWindow::*fill)(QMenu*)) {
              QMenu* menu = parent->addMenu(title);
              menu->setObjectName(name);
              connect(menu, &QMenu::aboutToShow, this, [this, menu, fill] { (this->*fill)(menu); });
          };
    QMenu* file = add(u"fileMenu"_s, tr("&File"));
    file->addActions({m_actions[ActionId::NewWindow], m_actions[ActionId::Open],
        m_actions[ActionId::OpenFile], m_actions[ActionId::OpenHost]});
    addFilled(file, u"recentMenu"_s, tr("Open R&ecent"), &MainWindow::fillRecentMenu);
    addFilled(file, u"kindMenu"_s, tr("O&pen As"), &MainWindow::fillKindMenu);
    file->addActions(
        {m_actions[ActionId::AddFolder], m_actions[ActionId::Reload], m_actions[ActionId::Close]});
    file->addActions(m_actions.of(PageAction::Menu::File));
    file->setToolTipsVisible(true); // why an action is not possible
    file->addActions({m_actions[ActionId::SaveSkeleton], m_actions[ActionId::Clean]});
    file->addSeparator();
    file->addActions({m_actions[ActionId::Settings], m_actions[ActionId::Quit]});
    QMenu* go = add(u"goMenu"_s, tr("&Go"));
    go->addActions({m_actions[ActionId::Back], m_actions[ActionId::Forward], m_actions[ActionId::Find]});
    go->addSeparator();
    for (QAction* page : m_actions.pages())
        go->addAction(page);
    go->addSeparator();
    go->addActions(m_actions.of(PageAction::Menu::Go));
    go->addSeparator();
    go->addActions({m_actions[ActionId::NextPane], m_actions[ActionId::PreviousPane]});
    go->addSeparator();
    addFilled(go, u"openMenu"_s, tr("Open Checkpoint&s"), &MainWindow::fillOpenMenu);
    go->addActions({m_actions[ActionId::NextOpen], m_actions[ActionId::PreviousOpen]});
    QMenu* checkpoint = add(u"checkpointMenu"_s, tr("&Checkpoint"));
    checkpoint->addActions(m_actions.of(PageAction::Menu::Checkpoint));
    checkpoint->setToolTipsVisible(true);
    checkpoint->addActions({m_actions[ActionId::Verify], m_actions[ActionId::Fingerprint]});
    checkpoint->addSeparator();
    checkpoint->addActions(
        {m_actions[ActionId::Reshard], m_actions[ActionId::Convert], m_actions[ActionId::Export]});
    QMenu* view = add(u"viewMenu"_s, tr("&View"));
    m_docks->addToggles(view);
    view->addSeparator();
    view->addActions({m_actions[ActionId::PageWindow], m_actions[ActionId::CopyCommand]});
    view->addSeparator();
    QMenu* themes = view->addMenu(tr("&Theme"));
    themes->setObjectName(u"themeMenu"_s);
    themes->addActions(m_actions.themes());
    view->addActions(
        {m_actions[ActionId::LargerText], m_actions[ActionId::SmallerText], m_actions[ActionId::NormalText]});
    view->addAction(m_actions[ActionId::FullScreen]);
    addFilled(view, u"layoutMenu"_s, tr("L&ayouts"), &MainWindow::fillLayoutMenu);
    view->addAction(m_actions[ActionId::ResetLayout]);
    QMenu* help = add(u"helpMenu"_s, tr("&Help"));
    help->addActions({m_actions[ActionId::Manual], m_actions[ActionId::Palette],
        m_actions[ActionId::Shortcuts], m_actions[ActionId::About]});
}

void MainWindow::fillRecentMenu(QMenu* menu)
{
    menu->clear();
    int number = 0;
    for (const RecentEntry& entry : m_settings.recent()) {
        ++number;
        const QString name = openedText(entry);
        const QString with = openedWithText(entry);
        const QString shown = menu->fontMetrics().elidedText(QString(name).replace(u'&', u"&&"_s),
                                  Qt::ElideMiddle, 480 - menu->fontMetrics().horizontalAdvance(with))
            % (with.isEmpty() ? QString() : QString(u" · "_s % with));
        QAction* action = menu->addAction(number < 10 ? QString(u"&%1  "_s.arg(number) % shown) : shown);
        action->setToolTip(name);
        connect(action, &QAction::triggered, this, [this, entry] { openRecent(entry); });
    }
    if (number == 0)
        menu->addAction(tr("No checkpoint was open yet"))->setEnabled(false);
}

void MainWindow::fillOpenMenu(QMenu* menu)
{
    menu->clear();
    for (int tab = 0; tab < m_open->count(); ++tab) {
        QAction* action = menu->addAction(u"&%1  "_s.arg(tab + 1) % m_open->name(tab).replace(u'&', u"&&"_s));
        action->setCheckable(true);
        action->setChecked(tab == m_open->currentIndex());
        connect(action, &QAction::triggered, this, [this, tab] { m_open->setCurrentIndex(tab); });
    }
    if (menu->isEmpty())
        menu->addAction(tr("No checkpoint is open"))->setEnabled(false);
}

} // namespace shardscope::ui
