// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/link_button.h"

#include "ui/widgets/actions_menu.h"
#include "ui/widgets/focus_ring.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QStyle>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

/// Ends no line inside a name that has room on one: after its dots.
QString withWholeNames(const QString& text, const QFontMetrics& metrics, int width)
{
    constexpr QChar kJoiner(0x2060);
    constexpr QChar kBreak(0x200B);
    QStringList words = text.split(u' ');
    for (QString& word : words)
        if (word.contains(u'.'))
            word.replace(QRegularExpression(QStringLiteral("\\.(?=\\w)")),
                QString(u'.') + (metrics.horizontalAdvance(word) <= width ? kJoiner : kBreak));
    return words.join(u' ');
}

} // namespace

LinkButton::LinkButton(const QString& text, QWidget* parent)
    : QAbstractButton(parent)
{
    setText(text);
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::StrongFocus);
    setProperty(kShowsFocusFrame, true);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    auto* copy = new QAction(tr("Copy"), this);
    copy->setObjectName(QStringLiteral("copyLink"));
    connect(copy, &QAction::triggered, this, [this] {
        QApplication::clipboard()->setText(m_exact.isEmpty() ? QAbstractButton::text() : m_exact);
    });
    addAction(copy);
    showActionsInMenu(this);
}

QSizeF LinkButton::layOut(QTextLayout& layout, int width) const
{
    QTextOption option(QStyle::visualAlignment(layoutDirection(), Qt::AlignLeft));
    option.setTextDirection(text().isRightToLeft() ? Qt::RightToLeft : Qt::LeftToRight);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    QSizeF size;
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        line.setPosition({0, size.height()});
        size = {std::max(size.width(), line.naturalTextWidth()), size.height() + line.height()};
    }
    layout.endLayout();
    return size;
}

int LinkButton::heightForWidth(int width) const
{
    QTextLayout layout(withWholeNames(text(), fontMetrics(), width), font(), this);
    return static_cast<int>(std::ceil(layOut(layout, std::max(width, 1)).height()));
}

QSize LinkButton::sizeHint() const
{
    constexpr int kWidest = 100'000; // on one line
    QTextLayout layout(text(), font(), this);
    const QSizeF size = layOut(layout, kWidest);
    return {static_cast<int>(std::ceil(size.width())) + 1, static_cast<int>(std::ceil(size.height()))};
}

QSize LinkButton::minimumSizeHint() const
{
    constexpr int kLetters = 6;
    const QSize whole = sizeHint();
    return {std::min(whole.width(), fontMetrics().averageCharWidth() * kLetters), whole.height()};
}

void LinkButton::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::Link));
    QFont shown = font();
    shown.setUnderline(underMouse() || hasFocus());
    QTextLayout layout(withWholeNames(text(), fontMetrics(), width()), shown, this);
    const QSizeF size = layOut(layout, width());
    layout.draw(&painter, {0, (height() - size.height()) / 2}); // as labels do
}

void LinkButton::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        click();
    else
        QAbstractButton::keyPressEvent(event);
}

void LinkButton::enterEvent(QEnterEvent* event)
{
    QAbstractButton::enterEvent(event);
    update();
}

void LinkButton::leaveEvent(QEvent* event)
{
    QAbstractButton::leaveEvent(event);
    update();
}

void LinkButton::changeEvent(QEvent* event)
{
    QAbstractButton::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        updateGeometry();
}

} // namespace shardscope::ui
