// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/focus_order.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QLayout>
#include <QScrollArea>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>

namespace shardscope::ui {

namespace {

void collect(QWidget* widget, QList<QWidget*>& into);

void collectLayout(QLayout* layout, QList<QWidget*>& into)
{
    for (int i = 0; i < layout->count(); ++i) {
        QLayoutItem* item = layout->itemAt(i);
        if (item->widget() != nullptr)
            collect(item->widget(), into);
        else if (item->layout() != nullptr)
            collectLayout(item->layout(), into);
    }
}

void collect(QWidget* widget, QList<QWidget*>& into)
{
    if (widget == nullptr)
        return;
    if ((widget->focusPolicy() & Qt::TabFocus) != 0 && widget->focusProxy() == nullptr)
        into.append(widget);
    if (auto* scroll = qobject_cast<QScrollArea*>(widget)) {
        collect(scroll->widget(), into);
    } else if (auto* tabs = qobject_cast<QTabWidget*>(widget)) {
        collect(tabs->tabBar(), into);
        for (int i = 0; i < tabs->count(); ++i)
            collect(tabs->widget(i), into);
    } else if (auto* splitter = qobject_cast<QSplitter*>(widget)) {
        for (int i = 0; i < splitter->count(); ++i)
            collect(splitter->widget(i), into);
    } else if (qobject_cast<QAbstractScrollArea*>(widget) == nullptr
        && qobject_cast<QComboBox*>(widget) == nullptr && qobject_cast<QAbstractSpinBox*>(widget) == nullptr
        && widget->layout() != nullptr) {
        collectLayout(widget->layout(), into);
    }
}

} // namespace

void orderFocus(const QList<QWidget*>& parts)
{
    QList<QWidget*> order;
    for (QWidget* part : parts)
        collect(part, order);
    if (order.isEmpty())
        return;
    const QWidget* window = order.first()->window();
    order.removeIf([window](const QWidget* widget) { return widget->window() != window; });
    for (qsizetype i = 1; i < order.size(); ++i)
        QWidget::setTabOrder(order[i - 1], order[i]);
}

} // namespace shardscope::ui
