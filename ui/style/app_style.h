// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QProxyStyle>

class QStyleOptionToolButton;

namespace shardscope::ui {

/// Fusion with flat scroll bars, whole words in table headers, chevrons where menus and branches of trees
/// open, and frames, edges of dialogs, selected tabs and the cross of fields that can be seen on a dark
/// ground. A tab bar may say in its property `tabSpace` how much its tabs have beside their content.
class AppStyle : public QProxyStyle
{
    Q_OBJECT
public:
    AppStyle();

    [[nodiscard]] int pixelMetric(
        PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    [[nodiscard]] int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
        QStyleHintReturn* returned) const override;
    [[nodiscard]] QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
        const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
        const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
        const QWidget* widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
        const QWidget* widget) const override;
    [[nodiscard]] QIcon standardIcon(
        StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const override;
    void polish(QWidget* widget) override;
    void unpolish(QWidget* widget) override;
    using QProxyStyle::polish;
    using QProxyStyle::unpolish;
    /// Paints the edge of a dialog: the one of the desktop may be as dark as what is behind it.
    bool eventFilter(QObject* watched, QEvent* event) override;
    [[nodiscard]] QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option,
        SubControl part, const QWidget* widget) const override;

private:
    void drawMenuButton(const QStyleOptionToolButton& button, QPainter* painter, const QWidget* widget) const;
};

} // namespace shardscope::ui
