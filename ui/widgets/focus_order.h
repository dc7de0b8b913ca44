// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>

class QWidget;

namespace shardscope::ui {

/// Makes Tab go through the given parts of a window in this order and, inside each of them, in the order of
/// their layouts. Qt's own order is that of construction, which puts whatever was made last at the end of the
/// window. Parts of other windows, such as docks that float, are left out.
void orderFocus(const QList<QWidget*>& parts);

} // namespace shardscope::ui
