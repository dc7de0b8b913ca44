// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>

class QWidget;

namespace shardscope::ui {

/// Makes Tab go through the given parts of a window in this order and, inside each of them, in the order of
/// their layouts. Qt's own order is that of construction, which puts whatever was made last at the end of the
/// window. Parts of other windows, such as docks that float, are left out.
void orderFocus(const QList<QWidget*>& parts);

/// When `container` gets the focus, `content`, one of its widgets, gets it. Unlike with Qt's focus proxies,
/// Tab does not stop at the container, which would lead back to that content, or past what is before it.
void handFocusTo(QWidget* container, QWidget* content);

} // namespace shardscope::ui
