// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/app_style.h"

#include <QPainter>
#include <QStyleOption>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kHeaderMargin = 8;
constexpr int kScrollBarExtent = 13;
constexpr int kShortestHandle = 28;

/// Where a scroll bar's parts lie: no arrow buttons, the handle on the whole length.
QRect scrollBarRect(const QStyleOptionSlider& bar, QStyle::SubControl part)
{
    const bool horizontal = bar.orientation == Qt::Horizontal;
    const int length = horizontal ? bar.rect.width() : bar.rect.height();
    const int64_t range = int64_t{bar.maximum} - bar.minimum;
    const int64_t wished
        = range == 0 ? length : int64_t{bar.pageStep} * length / (range + std::max(1, bar.pageStep));
    const int handle
        = static_cast<int>(std::clamp<int64_t>(wished, std::min(kShortestHandle, length), length));
    const int position = QStyle::sliderPositionFromValue(
        bar.minimum, bar.maximum, bar.sliderPosition, length - handle, bar.upsideDown);
    const auto run = [&](int begin, int end) {
        return horizontal ? QRect(bar.rect.left() + begin, bar.rect.top(), end - begin, bar.rect.height())
                          : QRect(bar.rect.left(), bar.rect.top() + begin, bar.rect.width(), end - begin);
    };
    switch (part) {
    case QStyle::SC_ScrollBarSlider:
        return run(position, position + handle);
    case QStyle::SC_ScrollBarGroove:
        return bar.rect;
    case QStyle::SC_ScrollBarSubPage:
        return run(0, position);
    case QStyle::SC_ScrollBarAddPage:
        return run(position + handle, length);
    default:
        return {};
    }
}

void drawScrollBar(const QStyleOptionSlider& bar, QPainter* painter)
{
    painter->save();
    painter->fillRect(bar.rect, bar.palette.color(QPalette::Window));
    if (bar.maximum > bar.minimum) {
        const bool pressed = (bar.activeSubControls & QStyle::SC_ScrollBarSlider) != 0
            && (bar.state & QStyle::State_Sunken) != 0;
        const bool hovered = (bar.state & QStyle::State_MouseOver) != 0;
        QColor colour = bar.palette.color(QPalette::WindowText);
        colour.setAlpha(pressed ? 150 : hovered ? 115 : 80);
        const QRectF handle = QRectF(scrollBarRect(bar, QStyle::SC_ScrollBarSlider)).adjusted(3, 3, -3, -3);
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(Qt::NoPen);
        painter->setBrush(colour);
        painter->drawRoundedRect(handle, 3, 3);
    }
    painter->restore();
}

} // namespace

AppStyle::AppStyle()
    : QProxyStyle(u"Fusion"_s)
{
}

int AppStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const
{
    if (metric == PM_HeaderMargin)
        return kHeaderMargin;
    if (metric == PM_ScrollBarExtent)
        return kScrollBarExtent;
    return QProxyStyle::pixelMetric(metric, option, widget);
}

QRect AppStyle::subElementRect(SubElement element, const QStyleOption* option, const QWidget* widget) const
{
    QRect rect = QProxyStyle::subElementRect(element, option, widget);
    if (element == SE_HeaderLabel) { // the margin is meant for the sides
        rect.setTop(option->rect.top() + 1);
        rect.setBottom(option->rect.bottom() - 1);
    }
    return rect;
}

void AppStyle::drawPrimitive(
    PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const
{
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element != PE_FrameLineEdit && element != PE_IndicatorCheckBox)
        return;
    const bool dark = option->palette.color(QPalette::Window).lightness() < 128;
    if (!dark || (option->state & State_HasFocus) != 0)
        return;
    QColor edge = option->palette.color(QPalette::WindowText);
    edge.setAlpha(80);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(edge);
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    painter->restore();
}

void AppStyle::drawComplexControl(
    ComplexControl control, const QStyleOptionComplex* option, QPainter* painter, const QWidget* widget) const
{
    const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control == CC_ScrollBar && bar != nullptr)
        drawScrollBar(*bar, painter);
    else
        QProxyStyle::drawComplexControl(control, option, painter, widget);
}

QRect AppStyle::subControlRect(
    ComplexControl control, const QStyleOptionComplex* option, SubControl part, const QWidget* widget) const
{
    const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control == CC_ScrollBar && bar != nullptr)
        return visualRect(bar->direction, bar->rect, scrollBarRect(*bar, part));
    return QProxyStyle::subControlRect(control, option, part, widget);
}

} // namespace shardscope::ui
