// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>

namespace shardscope::ui {

/// The next larger (`step` 1) or smaller (−1) size of text, in percent of the desktop's; the same at the
/// ends.
int nextTextSize(int percent, int step);

/// Sets the size of all text of the application, in percent of the size that it had before the first call.
/// Widgets with a size of their own keep their relation to it. GUI thread.
void applyTextSize(int percent);

/// What the last applyTextSize() has set, as a factor: for what is drawn next to text.
double textScale();

/// The size of an icon next to text: of so many pixels where text has its usual size or a smaller one.
QSize iconSize(int pixels);

} // namespace shardscope::ui
