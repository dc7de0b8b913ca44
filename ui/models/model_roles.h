// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/qnamespace.h>

namespace shardscope::ui {

/// Roles that several models share, for delegates and context menus.
enum ModelRole : int {
    ShareRole = Qt::UserRole + 1, ///< double 0…1 for the bar behind a size
    WhereRole, ///< QVariantList of QPointF, begin and end 0…1, for a small map: a segment, then its lost
               ///< parts
    CopyRole, ///< QString with full precision for the clipboard
    SeverityRole, ///< int: -1 none, 0 info, 1 warning, 2 error
    SparkRole, ///< QVariantList of doubles, NaN for gaps: a small line
    MutedRole, ///< bool: show in the muted colour
};

} // namespace shardscope::ui
