// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>

class QWidget;

namespace shardscope::ui {

/// `content` in a scroll area without a frame, so that its smallest size does not limit the window.
/// `most`: it asks for as much room as the content needs, up to this.
QWidget* scrolled(QWidget* content, QWidget* parent, QSize most = {});

/// Resizes a window to `wanted`, or to what its screen has room for beside panels and the window's frame.
void resizeWithinScreen(QWidget* window, QSize wanted);

/// The least size of a page that is scrolled where it has no room: that of its layout, with the lines that
/// wrapped texts and bars have at its width.
QSize withWrappedLines(const QWidget& page);

} // namespace shardscope::ui
