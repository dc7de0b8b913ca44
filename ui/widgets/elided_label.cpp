// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/elided_label.h"

#include "ui/widgets/elided_text.h"

#include <QPainter>
#include <QStyle>
#include <QTextLayout>

#include <cmath>

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

void ElidedLabel::setWraps(bool wraps)
{
    if (wraps == m_wraps)
        return;
    m_wraps = wraps;
    setSizePolicy(QSizePolicy::Preferred, wraps ? QSizePolicy::Minimum : QSizePolicy::Fixed);
    updateGeometry();
    update();
}

qreal ElidedLabel::layOut(QTextLayout& layout, int width) const
{
    QTextOption option(side());
    option.setTextDirection(m_text.isRightToLeft() ? Qt::RightToLeft : Qt::LeftToRight);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    qreal height = 0;
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(std::max(width, 1));
        line.setPosition({0, height});
        height += line.height();
    }
    layout.endLayout();
    return height;
}

/// The side follows the window, the order of the letters the text: else a minus changes its side.
Qt::Alignment ElidedLabel::side() const
{
    return QStyle::visualAlignment(layoutDirection(), m_alignment) | Qt::AlignAbsolute;
}

int ElidedLabel::heightForWidth(int width) const
{
    if (!m_wraps)
        return QFrame::heightForWidth(width);
    const QMargins around = contentsMargins();
    QTextLayout layout(m_text, font(), this);
    return static_cast<int>(std::ceil(layOut(layout, width - around.left() - around.right()))) + 2
        + around.top() + around.bottom();
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
    if (m_wraps) {
        QTextLayout layout(m_text, font(), this);
        layOut(layout, area.width());
        layout.draw(&painter, area.topLeft());
        return;
    }
    painter.setLayoutDirection(m_text.isRightToLeft() ? Qt::RightToLeft : Qt::LeftToRight);
    painter.drawText(area, static_cast<int>(side()) | Qt::TextSingleLine,
        m_isSentence ? fontMetrics().elidedText(m_text, Qt::ElideRight, area.width())
                     : elidedText(m_text, fontMetrics(), area.width()));
}

} // namespace shardscope::ui
