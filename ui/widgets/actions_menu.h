// SPDX-License-Identifier: Apache-2.0
#pragma once

class QWidget;

namespace shardscope::ui {

/// Gives a widget a context menu of its actions, in place of Qt::ActionsContextMenu, whose menu is on the
/// stack and a child of the widget: it crashes if the widget is deleted while the menu is open.
void showActionsInMenu(QWidget* widget);

} // namespace shardscope::ui
