// SPDX-License-Identifier: Apache-2.0
#include "ui/style/text_size.h"

#include <QApplication>
#include <QEvent>
#include <QFont>
#include <QWidget>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr std::array kPercents = {70, 80, 90, 100, 110, 125, 150, 175, 200};
constinit int applied = 100;

} // namespace

double textScale()
{
    return applied / 100.0;
}

QSize iconSize(int pixels)
{
    const auto side = static_cast<int>(std::lround(pixels * std::max(textScale(), 1.0)));
    return {side, side};
}

int nextTextSize(int percent, int step)
{
    const auto at = std::lower_bound(kPercents.begin(), kPercents.end(), percent);
    const auto next = std::clamp<std::ptrdiff_t>(
        at - kPercents.begin() + step, 0, static_cast<std::ptrdiff_t>(kPercents.size()) - 1);
    return kPercents[static_cast<size_t>(next)];
}

void applyTextSize(int percent)
{
    static const double base = QFontInfo(QApplication::font()).pointSizeF();
    percent = std::clamp(percent, kPercents.front(), kPercents.back());
    if (percent == applied)
        return;
    const double ratio = static_cast<double>(percent) / applied;
    applied = percent;
    for (QWidget* widget : QApplication::allWidgets()) {
        QFont font = widget->font();
        const bool ownSize = widget->testAttribute(Qt::WA_SetFont)
            && (font.resolveMask() & QFont::SizeResolved) != 0 && font.pointSizeF() > 0;
        if (ownSize) {
            font.setPointSizeF(font.pointSizeF() * ratio);
            widget->setFont(font);
        }
    }
    QFont font = QApplication::font();
    font.setPointSizeF(base * percent / 100);
    QApplication::setFont(font);
    // Qt itself tells widgets only while the event loop runs.
    for (QWidget* widget : QApplication::allWidgets()) {
        QEvent change(QEvent::ApplicationFontChange);
        QCoreApplication::sendEvent(widget, &change);
    }
}

} // namespace shardscope::ui
