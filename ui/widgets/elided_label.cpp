// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/elided_label.h"

#include "ui/widgets/elided_text.h"

#include <QPainter>
#include <QStyle>

namespace shardscope::ui {

ElidedLabel::ElidedLabel(QWidget* parent)
    : QFrame(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text)
{
    if (text == m_text)
        return;
    m_text = text;
    setToolTip(text);
    setAccessibleName(text);
    updateGeometry();
    update();
}

void ElidedLabel::setAlignment(Qt::Alignment alignment)
{
    m_alignment = alignment;
    update();
}

void ElidedLabel::setIsSentence(bool isSentence)
{
    m_isSentence = isSentence;
    update();
}

QSize ElidedLabel::sizeHint() const
{
    const QMargins around = contentsMargins();
    return {fontMetrics().horizontalAdvance(m_text) + 2 + around.left() + around.right(),
        fontMetrics().height() + 2 + around.top() + around.bottom()};
}

void ElidedLabel::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, foregroundRole()));
    const QRect area = contentsRect();
    const int direction = m_text.isRightToLeft() ? Qt::TextForceRightToLeft : Qt::TextForceLeftToRight;
    const Qt::Alignment alignment = QStyle::visualAlignment(layoutDirection(), m_alignment);
    painter.drawText(area, static_cast<int>(alignment) | direction | Qt::TextSingleLine,
        m_isSentence ? fontMetrics().elidedText(m_text, Qt::ElideRight, area.width())
                     : elidedText(m_text, fontMetrics(), area.width()));
}

} // namespace shardscope::ui
