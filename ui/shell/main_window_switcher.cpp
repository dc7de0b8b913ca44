// SPDX-License-Identifier: Apache-2.0
// Several checkpoints in one window: one is shown, the others wait in tabs.
#include "ui/shell/main_window.h"

#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/missed_list.h"

#include <QAction>

#include <algorithm>

namespace shardscope::ui {

void MainWindow::connectSwitcher()
{
    connect(&m_session, &Session::leaving, this, [this] {
        const int tab = m_open->currentIndex(); // a neighbour's if the tab of what is shown was closed
        if (tab >= 0 && m_open->entry(tab).read.checkpoint == m_session.checkpoint())
            rememberRecent(m_open->entry(tab).read, {});
        m_open->leave(place());
    });
    connect(m_open, &CheckpointBar::chosen, this, &MainWindow::switchTo);
    connect(m_open, &QTabBar::tabCloseRequested, this, &MainWindow::closeOpen);
    connect(m_actions[ActionId::NextOpen], &QAction::triggered, this, [this] { stepOpen(1); });
    connect(m_actions[ActionId::PreviousOpen], &QAction::triggered, this, [this] { stepOpen(-1); });
}

void MainWindow::switchTo(int tab)
{
    m_wanted.replaces = false;
    const OpenEntry entry = m_open->entry(tab); // the bar changes meanwhile
    m_session.showAgain(entry.read, entry.place.thing);
}

void MainWindow::stepOpen(int by)
{
    const int count = m_open->count();
    if (count > 1)
        switchTo((m_open->currentIndex() + by + count) % count);
}

void MainWindow::closeOpen(int tab)
{
    if (tab < 0)
        return m_session.close(); // what is being opened first
    const bool isShown = tab == m_open->currentIndex();
    if (isShown)
        rememberRecent(m_open->entry(tab).read, {});
    m_open->remove(tab);
    if (isShown) {
        if (m_open->count() > 0)
            switchTo(std::min(tab, m_open->count() - 1));
        else
            m_session.close();
    }
    updateSwitcher();
}

void MainWindow::updateSwitcher()
{
    for (int tab = 0; tab < m_open->count(); ++tab) // those that could be opened after all
        missed().remove(entryToOpen(m_open->entry(tab).read));
    m_actions[ActionId::NextOpen]->setEnabled(m_open->count() > 1);
    m_actions[ActionId::PreviousOpen]->setEnabled(m_open->count() > 1);
}

} // namespace shardscope::ui
