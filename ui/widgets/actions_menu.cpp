// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/actions_menu.h"

#include <QAbstractScrollArea>
#include <QMenu>

namespace shardscope::ui {

void showActionsInMenu(QWidget* widget)
{
    widget->setContextMenuPolicy(Qt::CustomContextMenu);
    QObject::connect(widget, &QWidget::customContextMenuRequested, widget, [widget](const QPoint& at) {
        if (widget->actions().isEmpty())
            return;
        auto* menu = new QMenu(widget);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        menu->addActions(widget->actions());
        const auto* area = qobject_cast<QAbstractScrollArea*>(widget);
        menu->popup((area != nullptr ? area->viewport() : widget)->mapToGlobal(at));
    });
}

} // namespace shardscope::ui
