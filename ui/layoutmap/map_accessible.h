// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardscope::ui {

/// Lets screen readers see the map: each section on screen, the focused cell and the selected range are
/// children of the canvas, with the words that tool tips and the status bar have. Call it once or more.
void installMapAccessible();

} // namespace shardscope::ui
