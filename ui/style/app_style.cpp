// SPDX-License-Identifier: Apache-2.0
#include "ui/style/app_style.h"

#include "ui/style/text_size.h"

#include <QApplication>
#include <QDialog>
#include <QIconEngine>
#include <QPainter>
#include <QStyleOption>
#include <QTabBar>

#include <algorithm>
#include <cmath>
#include <iterator>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kHeaderMargin = 8;
constexpr int kScrollBarExtent = 13;
constexpr int kShortestHandle = 28;
constexpr int kChevronWidth = 16; ///< extra width of a tool button with a menu

/// Points down; `degrees` turn it clockwise.
void drawChevron(QPainter* painter, const QPointF& centre, double degrees, const QColor& colour)
{
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(colour, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter->setBrush(Qt::NoBrush);
    painter->translate(centre);
    painter->rotate(degrees);
    painter->drawPolyline(QPolygonF({QPointF(-4, -2), QPointF(0, 2), QPointF(4, -2)}));
    painter->restore();
}

/// What opens and closes a branch of a tree.
void drawBranch(const QStyleOption& option, QPainter* painter)
{
    if ((option.state & QStyle::State_Children) == 0)
        return;
    const bool isSelected = (option.state & QStyle::State_Selected) != 0;
    const double closed = option.direction == Qt::RightToLeft ? 90 : -90;
    drawChevron(painter, QRectF(option.rect).center(), (option.state & QStyle::State_Open) != 0 ? 0 : closed,
        option.palette.color(isSelected ? QPalette::HighlightedText : QPalette::Text));
}

/// A cross in the colour of text, whatever the theme is by then.
class CrossEngine final : public QIconEngine
{
public:
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode /*mode*/, QIcon::State /*state*/) override
    {
        const QPointF centre = QRectF(rect).center();
        const double arm = std::min(rect.width(), rect.height()) * 0.25;
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(
            QPen(QApplication::palette().color(QPalette::Text), 1.5, Qt::SolidLine, Qt::RoundCap));
        painter->drawLine(centre - QPointF(arm, arm), centre + QPointF(arm, arm));
        painter->drawLine(centre - QPointF(arm, -arm), centre + QPointF(arm, -arm));
        painter->restore();
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override
    {
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixmap;
    }
    [[nodiscard]] QIconEngine* clone() const override { return new CrossEngine; }
};

/// A tool button that opens its menu at once; Qt marks it with a speck in the corner.
bool opensMenu(const QStyleOption* option)
{
    const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option);
    return button != nullptr && (button->features & QStyleOptionToolButton::HasMenu) != 0
        && (button->features & QStyleOptionToolButton::MenuButtonPopup) == 0;
}

/// The places of a scroll bar's parts: no arrow buttons, the handle on the whole length.
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

/// Fusion's frames cannot be seen on a dark ground.
void drawFrameOnDark(const QStyleOption& option, QPainter* painter)
{
    const int ground = option.palette.color(QPalette::Window).lightness();
    if (ground >= 128 || (option.state & QStyle::State_HasFocus) != 0)
        return;
    QColor edge = option.palette.color(QPalette::WindowText);
    edge.setAlpha(ground == 0 ? 160 : 80); // high contrast
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(edge);
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    painter->restore();
}

/// Fusion's selected tab differs from the others only in light colours.
void drawSelectedTab(const QStyleOptionTab& tab, QPainter* painter)
{
    constexpr int kLine = 2;
    if ((tab.state & QStyle::State_Selected) == 0 || tab.palette.color(QPalette::Window).lightness() >= 128)
        return;
    const bool below = tab.shape == QTabBar::RoundedSouth || tab.shape == QTabBar::TriangularSouth;
    const int top = below ? tab.rect.bottom() - kLine + 1 : tab.rect.top() + 1;
    painter->fillRect(
        QRect(tab.rect.left() + 3, top, tab.rect.width() - 6, kLine), tab.palette.color(QPalette::Highlight));
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
    if (metric == PM_TabBarTabHSpace && qobject_cast<const QTabBar*>(widget) != nullptr) {
        const QVariant space = widget->property("tabSpace");
        if (space.isValid())
            return space.toInt();
    }
    const int usual = QProxyStyle::pixelMetric(metric, option, widget);
    switch (
        metric) { // what stands next to text grows with it; sizes of other icons follow that of small ones
    case PM_IndicatorWidth:
    case PM_IndicatorHeight:
    case PM_ExclusiveIndicatorWidth:
    case PM_ExclusiveIndicatorHeight:
    case PM_SmallIconSize:
    case PM_ButtonIconSize:
        return static_cast<int>(std::lround(usual * std::max(textScale(), 1.0)));
    default:
        return usual;
    }
}

int AppStyle::styleHint(
    StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* returned) const
{
    // Those of the desktop are black on a dark ground.
    if (hint == SH_DialogButtonBox_ButtonsHaveIcons)
        return 0;
    return QProxyStyle::styleHint(hint, option, widget, returned);
}

QSize AppStyle::sizeFromContents(
    ContentsType type, const QStyleOption* option, const QSize& size, const QWidget* widget) const
{
    QSize whole = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_ToolButton && opensMenu(option))
        whole.rwidth() += kChevronWidth;
    return whole;
}

void AppStyle::drawControl(
    ControlElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const
{
    if (element == CE_DockWidgetTitle) { // Qt's own font of these titles does not follow the size of text
        painter->save();
        painter->setFont(QApplication::font());
        QProxyStyle::drawControl(element, option, painter, widget);
        painter->restore();
        return;
    }
    const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
    if (element == CE_ComboBoxLabel && combo != nullptr && !combo->editable) {
        QStyleOptionComboBox shown = *combo; // Fusion cuts a text in the middle of a letter
        const int icon = combo->currentIcon.isNull() ? 0 : combo->iconSize.width() + 4;
        const int room = subControlRect(CC_ComboBox, combo, SC_ComboBoxEditField, widget).width() - icon;
        if (combo->fontMetrics.horizontalAdvance(combo->currentText) > room)
            shown.currentText = combo->fontMetrics.elidedText(combo->currentText, Qt::ElideRight, room - 2);
        QProxyStyle::drawControl(element, &shown, painter, widget);
        return;
    }
    const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option);
    if (element != CE_HeaderLabel || header == nullptr || widget == nullptr) {
        QProxyStyle::drawControl(element, option, painter, widget);
        const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option);
        if (element == CE_TabBarTabShape && tab != nullptr)
            drawSelectedTab(*tab, painter);
        return;
    }
    // Fusion takes the margin off above and below too and clips the letters' descenders.
    QStyleOptionHeader whole = *header;
    if (header->orientation == Qt::Horizontal) {
        whole.rect.setTop(0);
        whole.rect.setBottom(widget->height() - 2);
    }
    QProxyStyle::drawControl(element, &whole, painter, widget);
}

void AppStyle::drawPrimitive(
    PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const
{
    const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option);
    if (element == PE_IndicatorHeaderArrow && header != nullptr && widget != nullptr) {
        if (header->sortIndicator != QStyleOptionHeader::None)
            drawChevron(painter, QPointF(header->rect.center().x(), widget->height() / 2.0),
                header->sortIndicator == QStyleOptionHeader::SortUp ? 180 : 0,
                option->palette.color(QPalette::ButtonText));
        return;
    }
    if (element == PE_IndicatorBranch)
        return drawBranch(*option, painter);
    if (element == PE_PanelScrollAreaCorner) {
        painter->fillRect(option->rect, option->palette.color(QPalette::Window));
        return;
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    static constexpr PrimitiveElement kEdged[]
        = {PE_FrameLineEdit, PE_IndicatorCheckBox, PE_Frame, PE_PanelTipLabel, PE_PanelMenu, PE_FrameMenu};
    if (std::find(std::begin(kEdged), std::end(kEdged), element) == std::end(kEdged))
        return;
    const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
    if (element == PE_Frame && (frame == nullptr || frame->lineWidth <= 0))
        return;
    drawFrameOnDark(*option, painter);
}

void AppStyle::drawMenuButton(
    const QStyleOptionToolButton& button, QPainter* painter, const QWidget* widget) const
{
    QStyleOptionToolButton plain = button;
    plain.features &= ~(QStyleOptionToolButton::HasMenu | QStyleOptionToolButton::PopupDelay);
    QProxyStyle::drawComplexControl(CC_ToolButton, &plain, painter, widget);
    const QPointF centre(button.rect.right() - kChevronWidth / 2.0, button.rect.center().y() + 1);
    const auto group = (button.state & State_Enabled) != 0 ? QPalette::Active : QPalette::Disabled;
    drawChevron(painter, centre, 0, button.palette.color(group, QPalette::ButtonText));
}

void AppStyle::drawComplexControl(
    ComplexControl control, const QStyleOptionComplex* option, QPainter* painter, const QWidget* widget) const
{
    const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control == CC_ScrollBar && bar != nullptr)
        drawScrollBar(*bar, painter);
    else if (control == CC_ToolButton && opensMenu(option))
        drawMenuButton(*qstyleoption_cast<const QStyleOptionToolButton*>(option), painter, widget);
    else
        QProxyStyle::drawComplexControl(control, option, painter, widget);
    const auto* spin = qstyleoption_cast<const QStyleOptionSpinBox*>(option);
    if (control == CC_SpinBox && spin != nullptr && spin->frame)
        drawFrameOnDark(*option, painter);
}

QRect AppStyle::subControlRect(
    ComplexControl control, const QStyleOptionComplex* option, SubControl part, const QWidget* widget) const
{
    const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control == CC_ScrollBar && bar != nullptr)
        return visualRect(bar->direction, bar->rect, scrollBarRect(*bar, part));
    return QProxyStyle::subControlRect(control, option, part, widget);
}

QIcon AppStyle::standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const
{
    if (icon == SP_LineEditClearButton)
        return QIcon(new CrossEngine);
    return QProxyStyle::standardIcon(icon, option, widget);
}

void AppStyle::polish(QWidget* widget)
{
    QProxyStyle::polish(widget);
    if (qobject_cast<QDialog*>(widget) != nullptr)
        widget->installEventFilter(this);
}

void AppStyle::unpolish(QWidget* widget)
{
    widget->removeEventFilter(this);
    QProxyStyle::unpolish(widget);
}

bool AppStyle::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Paint) { // its ground is painted by then
        auto* dialog = static_cast<QWidget*>(watched);
        QStyleOption option;
        option.initFrom(dialog);
        option.state = {};
        QPainter painter(dialog);
        drawFrameOnDark(option, &painter);
    }
    return QProxyStyle::eventFilter(watched, event);
}

} // namespace shardscope::ui
