// SPDX-License-Identifier: Apache-2.0
// Ways through the window without a mouse: its panes.
#include "ui/shell/main_window.h"

#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/jobs_panel.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/missed_list.h"
#include "ui/shell/page_tabs.h"
#include "ui/shell/window_docks.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QApplication>
#include <QToolBar>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void MainWindow::orderPanes()
{
    orderFocus({m_toolBar, m_docks->explorer(), &missed(), m_open, m_messages, m_tabs, m_docks->details(),
        m_docks->jobs()});
}

void MainWindow::focusPane(int step)
{
    QList<QWidget*> panes;
    for (QWidget* pane : std::initializer_list<QWidget*>{
             m_docks->explorer(), m_tabs->current(), m_docks->details(), m_docks->jobs()})
        if (pane->isVisible())
            panes.append(pane);
    if (panes.isEmpty())
        return;
    const QWidget* focus = QApplication::focusWidget();
    qsizetype at = step > 0 ? -1 : panes.size();
    for (qsizetype i = 0; i < panes.size(); ++i)
        if (focus != nullptr && (panes[i] == focus || panes[i]->isAncestorOf(focus)))
            at = i;
    panes[(at + step + panes.size()) % panes.size()]->setFocus(Qt::ShortcutFocusReason);
}

} // namespace shardscope::ui
