// SPDX-License-Identifier: Apache-2.0
// Ways through the window without a mouse: palette, parameter finder, panes.
#include "ui/shell/main_window.h"

#include "ui/dialogs/quick_pick.h"
#include "ui/models/parameters/picks.h"
#include "ui/pages/details_panel.h"
#include "ui/pages/explorer_panel.h"
#include "ui/pages/jobs_panel.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/page_tabs.h"
#include "ui/shell/window_docks.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QApplication>
#include <QToolBar>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void MainWindow::showCommandPalette()
{
    const QList<QAction*> actions = m_actions.offered();
    PickList picks;
    for (qsizetype i = 0; i < actions.size(); ++i)
        picks.push_back({actions[i]->text().remove(u'&').remove(u"…"_s),
            actions[i]->shortcut().toString(QKeySequence::NativeText), static_cast<uint32_t>(i)});
    auto* palette
        = new QuickPick(m_theme, tr("Commands"), tr("Type a command"), findAmong(std::move(picks)), this);
    palette->setAttribute(Qt::WA_DeleteOnClose);
    connect(palette, &QuickPick::picked, this, [actions](quint32 id) { actions[id]->trigger(); });
    palette->open();
}

void MainWindow::showQuickOpen()
{
    const ParameterIndexPtr index = m_tabs->page(PageId::Parameters)->parameters();
    if (!index)
        return; // names are still being read
    auto* finder = new QuickPick(
        m_theme, tr("Parameters"), tr("Type a part of a parameter's name"), findParameter(index), this);
    finder->setAttribute(Qt::WA_DeleteOnClose);
    connect(finder, &QuickPick::picked, this, [this, checkpoint = m_session.checkpoint()](quint32 id) {
        if (m_session.checkpoint() != checkpoint)
            return;
        m_session.selection().selectParam(ParamId{id});
        const PageId page = m_tabs->currentId();
        if (page != PageId::Map && page != PageId::Tensor && page != PageId::Parameters)
            showPage(PageId::Parameters);
        m_tabs->current()->setFocus(Qt::ShortcutFocusReason);
    });
    finder->open();
}

void MainWindow::orderPanes()
{
    orderFocus(
        {m_toolBar, m_docks->explorer(), m_open, m_messages, m_tabs, m_docks->details(), m_docks->jobs()});
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
