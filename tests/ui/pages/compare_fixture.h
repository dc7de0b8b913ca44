// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/ui/window_fixture.h"
#include "ui/models/parameters/difference_table_model.h"

#include <QAction>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

namespace shardscope::ui {

/// Runs a comparison as a user does: path, Compare, wait.
inline bool compareWith(WindowFixture& ui, const QString& other)
{
    ui.find<QAction>("actionCompare")->trigger();
    auto* path = ui.find<QLineEdit>("compareOther");
    path->setText(other);
    ui.find<QPushButton>("compareStart")->click();
    return ui.settle();
}

/// The text of a row of the differences.
inline QString cell(const QTableView* table, int row, DifferenceColumn column)
{
    return table->model()->index(row, static_cast<int>(column)).data().toString();
}

} // namespace shardscope::ui
