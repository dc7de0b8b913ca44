// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/flow_layout.h"

#include <QStyle>
#include <QWidget>

#include <algorithm>

namespace shardscope::ui {

FlowLayout::FlowLayout(QWidget* parent)
    : QLayout(parent)
{
}

FlowLayout::~FlowLayout()
{
    qDeleteAll(m_items);
}

QLayoutItem* FlowLayout::takeAt(int at)
{
    return at >= 0 && at < m_items.size() ? m_items.takeAt(at) : nullptr;
}

int FlowLayout::heightForWidth(int width) const
{
    return arrange(QRect(0, 0, width, 0), false);
}

QSize FlowLayout::sizeHint() const
{
    const QMargins margins = contentsMargins();
    int width = 0;
    int height = 0;
    for (const QLayoutItem* item : m_items) {
        width += item->sizeHint().width() + kGap;
        height = std::max(height, item->sizeHint().height());
    }
    return {width + margins.left() + margins.right(), height + margins.top() + margins.bottom()};
}

QSize FlowLayout::minimumSize() const
{
    const QMargins margins = contentsMargins();
    QSize size;
    for (const QLayoutItem* item : m_items)
        size = size.expandedTo(item->minimumSize());
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

void FlowLayout::setGeometry(const QRect& rect)
{
    QLayout::setGeometry(rect);
    arrange(rect, true);
}

int FlowLayout::arrange(const QRect& rect, bool apply) const
{
    const QMargins margins = contentsMargins();
    const QRect area = rect.marginsRemoved(margins);
    const Qt::LayoutDirection direction
        = parentWidget() != nullptr ? parentWidget()->layoutDirection() : Qt::LeftToRight;
    int x = area.left();
    int y = area.top();
    int line = 0;
    for (QLayoutItem* item : m_items) {
        if (item->isEmpty()) // hidden
            continue;
        QSize size = item->sizeHint();
        if (size.width() > area.width()) // narrower, if it can be
            size = {std::max(item->minimumSize().width(), area.width()),
                item->hasHeightForWidth() ? item->heightForWidth(area.width()) : size.height()};
        if (x > area.left() && x + size.width() > area.left() + area.width()) {
            x = area.left();
            y += line + kGap;
            line = 0;
        }
        if (apply)
            item->setGeometry(QStyle::visualRect(direction, area, QRect(QPoint(x, y), size)));
        x += size.width() + kGap;
        line = std::max(line, size.height());
    }
    return m_items.isEmpty() ? 0 : y + line - rect.top() + margins.bottom();
}

} // namespace shardscope::ui
