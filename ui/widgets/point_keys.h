// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/qnamespace.h>

#include <algorithm>
#include <optional>

namespace shardscope::ui {

/// The point that a key leads to in a row of them: arrows, Home and End. `current` is -1 if there is none,
/// `last` if there are no points. Nothing for other keys.
inline std::optional<int> pointAfterKey(int key, int current, int last)
{
    switch (key) {
    case Qt::Key_Left:
        return std::max(current - 1, 0);
    case Qt::Key_Right:
        return std::min(current + 1, last);
    case Qt::Key_Home:
        return std::min(0, last);
    case Qt::Key_End:
        return last;
    default:
        return std::nullopt;
    }
}

} // namespace shardscope::ui
