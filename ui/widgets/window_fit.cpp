// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/window_fit.h"

#include <QScreen>
#include <QScrollArea>

namespace shardscope::ui {

namespace {

constexpr QSize kFrame(16, 48); // title bar and borders, which are not known before a window is shown

} // namespace

QWidget* scrolled(QWidget* content, QWidget* parent)
{
    auto* area = new QScrollArea(parent);
    area->setWidget(content);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus); // the widgets inside have it
    area->viewport()->setAutoFillBackground(false);
    content->setAutoFillBackground(false);
    return area;
}

void resizeWithinScreen(QWidget* window, QSize wanted)
{
    const QSize room = window->screen()->availableSize() - kFrame;
    window->resize(wanted.boundedTo(room));
}

} // namespace shardscope::ui
