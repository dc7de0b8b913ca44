// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/controls: small widgets of the whole window that know the models: tables, breadcrumb, job cards.
// Start with prepareTable(), which every table and tree gets.

#include "ui/style/theme.h"

class QAbstractItemView;
class QTableView;
class QTreeView;
class QAction;

namespace shardscope::ui {

/// Common setup of all tables and trees of the window: delegate, plain style, Ctrl+C and a context menu that
/// copies the cell (with full precision, CopyRole) or the row.
void prepareTable(
    QTableView* table, const Theme& theme, const QString& objectName, const QString& spokenName);
/// Makes the first columns as wide as these texts and their titles, now and when the size of the text
/// changes. Of a table that prepareTable() has set up, with a model.
void fitColumns(QTableView* table, const QStringList& widest);
void prepareTree(QTreeView* tree, const Theme& theme, const QString& objectName, const QString& spokenName);
/// Makes each column as wide as its rows and title need, and at most `most`; the last one takes the rest.
/// Does nothing once the user has chosen a width.
void fitColumns(QTableView* table, int most);
/// Makes a column of a tree as wide as the rows in sight need, from `least` to less than half of the tree;
/// another column stretches. Does nothing once the user has chosen a width.
void shareWidth(QTreeView* tree, int column, int least);
/// Gives a view room for so many rows at least, also when the size of the text changes.
void keepRows(QAbstractItemView* view, int rows);
/// Adds an entry of the view's own to its context menu.
QAction* addViewAction(QAbstractItemView* view, const QString& text);

} // namespace shardscope::ui
