// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/focus_ring.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QFocusEvent>
#include <QLabel>
#include <QPainter>

namespace shardscope::ui {

namespace {

class Frame : public QWidget
{
public:
    Frame(Theme& theme, QWidget* around)
        : QWidget(around)
        , m_theme(theme)
    {
        setObjectName(QStringLiteral("focusFrame"));
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setFocusPolicy(Qt::NoFocus);
        setGeometry(around->rect());
        around->installEventFilter(this);
        raise();
        show();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Resize)
            setGeometry(parentWidget()->rect());
        return QWidget::eventFilter(watched, event);
    }

    void paintEvent(QPaintEvent* /*event*/) override
    {
        QPainter painter(this);
        // The default join leaves a corner open.
        painter.setPen(
            QPen(m_theme.colour(ThemeRole::Accent), 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }

private:
    Theme& m_theme;
};

/// Widgets that show no focus by themselves: areas, and the text of an empty page.
bool wantsFrame(const QWidget* widget)
{
    return qobject_cast<const QAbstractScrollArea*>(widget) != nullptr
        || qobject_cast<const QLabel*>(widget) != nullptr || widget->property(kShowsFocusFrame).toBool();
}

bool isByKeyboard(Qt::FocusReason reason)
{
    return reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason
        || reason == Qt::ShortcutFocusReason;
}

} // namespace

FocusRing::FocusRing(Theme& theme, QWidget* window)
    : QObject(window)
    , m_theme(theme)
    , m_window(window)
{
    qApp->installEventFilter(this);
}

FocusRing::~FocusRing()
{
    qApp->removeEventFilter(this);
    delete m_frame;
}

QWidget* FocusRing::target() const
{
    return m_frame ? m_frame->parentWidget() : nullptr;
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::FocusIn && event->type() != QEvent::FocusOut)
        return QObject::eventFilter(watched, event);
    auto* widget = qobject_cast<QWidget*>(watched);
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    // Menus, dialogs and other windows restore the previous focus.
    const bool passing = reason == Qt::PopupFocusReason || reason == Qt::ActiveWindowFocusReason
        || reason == Qt::MenuBarFocusReason;
    if (widget == nullptr || passing || widget->window() != m_window)
        return QObject::eventFilter(watched, event);
    if (event->type() == QEvent::FocusOut) {
        if (widget == target())
            moveTo(nullptr);
    } else {
        moveTo(isByKeyboard(reason) && wantsFrame(widget) ? widget : nullptr);
    }
    return QObject::eventFilter(watched, event);
}

void FocusRing::moveTo(QWidget* target)
{
    delete m_frame;
    if (target != nullptr)
        m_frame = new Frame(m_theme, target);
}

} // namespace shardscope::ui
