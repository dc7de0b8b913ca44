// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QAction;

namespace shardscope::ui {

/// All keys of the window and of the map, taken from the actions themselves.
class ShortcutSheet : public QDialog
{
    Q_OBJECT
public:
    explicit ShortcutSheet(const QList<QAction*>& actions, QWidget* parent = nullptr);
};

} // namespace shardscope::ui
