// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/focus_order.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFocusEvent>
#include <QLayout>
#include <QPointer>
#include <QScrollArea>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QToolButton>

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
    if (auto* buttons = qobject_cast<QDialogButtonBox*>(widget))
        buttons->setFocusProxy(nullptr); // it would lead from the second button back to the first
    if ((widget->focusPolicy() & Qt::TabFocus) != 0 && widget->focusProxy() == nullptr)
        into.append(widget);
    if (auto* scroll = qobject_cast<QScrollArea*>(widget)) {
        collect(scroll->widget(), into);
    } else if (auto* tabs = qobject_cast<QTabWidget*>(widget)) {
        tabs->setFocusProxy(nullptr); // which is its bar: Tab would lead from behind the tabs back to it
        tabs->setFocusPolicy(Qt::NoFocus);
        handFocusTo(tabs, tabs->tabBar());
        for (QToolButton* button : tabs->tabBar()->findChildren<QToolButton*>())
            button->setFocusPolicy(Qt::NoFocus); // the arrow keys of the bar do what they do
        const bool isBelow = tabs->tabPosition() == QTabWidget::South;
        if (!isBelow)
            collect(tabs->tabBar(), into);
        for (int i = 0; i < tabs->count(); ++i)
            collect(tabs->widget(i), into);
        if (isBelow)
            collect(tabs->tabBar(), into);
    } else if (auto* splitter = qobject_cast<QSplitter*>(widget)) {
        for (int i = 0; i < splitter->count(); ++i)
            collect(splitter->widget(i), into);
    } else if (qobject_cast<QAbstractScrollArea*>(widget) == nullptr
        && qobject_cast<QComboBox*>(widget) == nullptr && qobject_cast<QAbstractSpinBox*>(widget) == nullptr
        && widget->layout() != nullptr) {
        collectLayout(widget->layout(), into);
    }
}

class Handover : public QObject
{
public:
    explicit Handover(QWidget* container)
        : QObject(container)
    {
        setObjectName(QStringLiteral("focusHandover"));
        container->installEventFilter(this);
    }
    void setContent(QWidget* content) { m_content = content; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() != QEvent::FocusIn || !m_content)
            return QObject::eventFilter(watched, event);
        m_content->setFocus(static_cast<QFocusEvent*>(event)->reason());
        return true;
    }

private:
    QPointer<QWidget> m_content;
};

} // namespace

void handFocusTo(QWidget* container, QWidget* content)
{
    auto* handover = static_cast<Handover*>(
        container->findChild<QObject*>(QStringLiteral("focusHandover"), Qt::FindDirectChildrenOnly));
    if (handover == nullptr)
        handover = new Handover(container);
    handover->setContent(content);
}

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
