// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/cell_delegate.h"

#include "ui/models/model_roles.h"
#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/widgets/elided_text.h"

#include <QApplication>
#include <QPainter>
#include <QPainterPath>

#include <cmath>
#include <limits>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

CellDelegate::CellDelegate(const Theme& theme, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_theme(theme)
{
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& at) const
{
    QStyleOptionViewItem item = option;
    initStyleOption(&item, at);
    const bool selected = (item.state & QStyle::State_Selected) != 0;
    if (at.data(MutedRole).toBool() && !selected)
        item.palette.setColor(QPalette::Text, m_theme.colour(ThemeRole::MutedText));
    const QString text = std::exchange(item.text, QString());
    const QWidget* view = item.widget;
    const QStyle* style = view != nullptr ? view->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &item, painter, view); // background, focus, icon

    const QVariant share = at.data(ShareRole);
    if (share.isValid() && !selected)
        paintShare(painter, item, share.toDouble());
    if (const QVariant where = at.data(WhereRole); where.isValid())
        paintWhere(painter, item, where.toList());
    if (const QVariant spark = at.data(SparkRole); spark.isValid())
        paintSpark(painter, item, spark.toList());
    QRect textRect = item.rect.adjusted(8, 0, -8, 0);
    // Icons come before the text: at the left, or at the right where the window is right to left.
    int before = 0;
    if (!item.icon.isNull()) {
        const QRect beside = style->subElementRect(QStyle::SE_ItemViewItemText, &item, view);
        before = 2
            + (item.direction == Qt::RightToLeft ? textRect.right() - beside.right()
                                                 : beside.left() - textRect.left());
    }
    const QVariant severity = at.data(SeverityRole);
    if (severity.isValid() && severity.toInt() >= 1)
        before += paintSeverity(painter, item, severity.toInt());
    textRect = QStyle::visualRect(item.direction, textRect, textRect.adjusted(std::max(before, 0), 0, 0, 0));
    painter->save();
    painter->setFont(item.font);
    painter->setPen(item.palette.color(selected ? QPalette::HighlightedText : QPalette::Text));
    const QString shown = elidedText(text, item.fontMetrics, textRect.width());
    // A number keeps its minus in front where the window is right to left.
    const int direction = text.isRightToLeft() ? Qt::TextForceRightToLeft : Qt::TextForceLeftToRight;
    const Qt::Alignment alignment = QStyle::visualAlignment(item.direction, item.displayAlignment);
    painter->drawText(textRect, static_cast<int>(alignment) | direction | Qt::TextSingleLine, shown);
    painter->restore();
}

void CellDelegate::paintShare(QPainter* painter, const QStyleOptionViewItem& option, double share) const
{
    const QRect area = option.rect.adjusted(4, 3, -4, -3);
    if (share <= 0)
        return;
    const double width = std::max(2.0, share * area.width());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(m_theme.colour(ThemeRole::ShareBar));
    painter->drawRoundedRect(QRectF(area.left(), area.top(), width, area.height()), 2, 2);
    painter->restore();
}

void CellDelegate::paintWhere(
    QPainter* painter, const QStyleOptionViewItem& option, const QVariantList& segments) const
{
    const QPointF segment = segments.front().toPointF();
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    const QRectF track
        = QRectF(option.rect).adjusted(8, option.rect.height() * 0.32, -8, -option.rect.height() * 0.32);
    QRectF filled = track;
    filled.setLeft(track.left() + std::clamp(segment.x(), 0.0, 1.0) * track.width());
    filled.setWidth(std::max(2.0, (segment.y() - segment.x()) * track.width()));
    if (filled.right() > track.right())
        filled.moveRight(track.right());
    QColor ground = m_theme.colour(selected ? ThemeRole::AccentText : ThemeRole::ShareBar);
    ground.setAlpha(selected ? 80 : 255);
    painter->fillRect(track, ground);
    painter->fillRect(filled, m_theme.colour(selected ? ThemeRole::AccentText : ThemeRole::Accent));
    // What is lost is hatched, as on the partition map.
    for (const QVariant& part : segments.sliced(1)) {
        QRectF lost = track;
        lost.setLeft(track.left() + part.toPointF().x() * track.width());
        lost.setRight(
            track.left() + std::max(part.toPointF().y() * track.width(), lost.left() - track.left() + 2));
        painter->fillRect(lost, option.palette.color(selected ? QPalette::Highlight : QPalette::Base));
        painter->fillRect(lost,
            QBrush(
                m_theme.colour(selected ? ThemeRole::AccentText : ThemeRole::Error), Qt::DiagCrossPattern));
    }
}

/// From the smallest to the largest value, on a logarithmic scale where they differ much; the last one has a
/// dot.
void CellDelegate::paintSpark(
    QPainter* painter, const QStyleOptionViewItem& option, const QVariantList& values) const
{
    constexpr double kLogarithmicFrom = 30;
    std::vector<double> heights;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const QVariant& value : values) {
        const double each = heights.emplace_back(value.toDouble());
        if (std::isfinite(each)) {
            low = std::min(low, each);
            high = std::max(high, each);
        }
    }
    if (low > 0 && high > kLogarithmicFrom * low) {
        for (double& height : heights)
            height = std::log(height);
        low = std::log(low);
        high = std::log(high);
    }
    const QRectF area = QRectF(option.rect).adjusted(8, 5, -10, -5);
    const double span = high - low;
    QPainterPath line;
    QPointF last;
    bool isOpen = false;
    for (size_t i = 0; i < heights.size(); ++i) {
        if (!std::isfinite(heights[i])) {
            isOpen = false;
            continue;
        }
        const double share = span > 0 ? (heights[i] - low) / span : 0.5;
        last = {area.left() + area.width() * static_cast<double>(i) / static_cast<double>(heights.size() - 1),
            area.bottom() - share * area.height()};
        isOpen ? line.lineTo(last) : line.moveTo(last);
        isOpen = true;
    }
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(m_theme.colour(selected ? ThemeRole::AccentText : ThemeRole::Accent), 1.3));
    painter->drawPath(line);
    if (isOpen) {
        painter->setBrush(painter->pen().color());
        painter->drawEllipse(last, 1.8, 1.8);
    }
    painter->restore();
}

int CellDelegate::paintSeverity(QPainter* painter, const QStyleOptionViewItem& option, int severity) const
{
    const int side = std::min(iconSize(16).height(), option.rect.height() - 4);
    const int left = option.icon.isNull() ? 6 : option.decorationSize.width() + 12;
    const QRect area = QStyle::visualRect(option.direction, option.rect,
        QRect(option.rect.left() + left, option.rect.center().y() - side / 2 + 1, side, side));
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    const ThemeRole role = selected ? ThemeRole::AccentText
        : severity >= 2             ? ThemeRole::Error
                                    : ThemeRole::Warning;
    themedIcon(m_theme, severity >= 2 ? u"error"_s : u"warning"_s, role).paint(painter, area);
    return side + 4;
}

QSize CellDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& at) const
{
    QSize size = QStyledItemDelegate::sizeHint(option, at);
    size.setHeight(std::max(size.height(), option.fontMetrics.height() + 8));
    size.rwidth() += 12;
    return size;
}

} // namespace shardscope::ui
