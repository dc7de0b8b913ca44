// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/table_setup.h"

#include "ui/controls/cell_delegate.h"
#include "ui/models/model_roles.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTableView>
#include <QTreeView>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString copyText(const QModelIndex& at)
{
    const QVariant exact = at.data(CopyRole);
    return (exact.isValid() ? exact : at.data(Qt::DisplayRole)).toString();
}

QString rowText(const QModelIndex& at)
{
    QStringList cells;
    for (int column = 0; column < at.model()->columnCount(at.parent()); ++column)
        cells.append(copyText(at.siblingAtColumn(column)));
    return cells.join(u'\t');
}

bool hasMarks(const QTableView& table, int column)
{
    constexpr int kMostRows = 1000;
    for (int row = 0; row < std::min(table.model()->rowCount(), kMostRows); ++row)
        if (table.model()->index(row, column).data(SeverityRole).toInt() >= 0)
            return true;
    return false;
}

void addCopyActions(QAbstractItemView* view)
{
    QAction* cell = addViewAction(view, u"Copy"_s);
    cell->setShortcut(QKeySequence::Copy);
    cell->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QObject::connect(cell, &QAction::triggered, view, [view] {
        if (view->currentIndex().isValid())
            QApplication::clipboard()->setText(copyText(view->currentIndex()));
    });
    QAction* row = addViewAction(view, u"Copy Row"_s);
    row->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C));
    row->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QObject::connect(row, &QAction::triggered, view, [view] {
        if (view->currentIndex().isValid())
            QApplication::clipboard()->setText(rowText(view->currentIndex()));
    });
}

void prepareView(
    QAbstractItemView* view, const Theme& theme, const QString& objectName, const QString& spokenName)
{
    view->setObjectName(objectName);
    view->setAccessibleName(spokenName);
    view->setItemDelegate(new CellDelegate(theme, view));
    view->setContextMenuPolicy(Qt::ActionsContextMenu);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setSelectionBehavior(QAbstractItemView::SelectRows);
    view->setSelectionMode(QAbstractItemView::SingleSelection);
    view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    view->setFrameShape(QFrame::NoFrame);
    addCopyActions(view);
}

} // namespace

QAction* addViewAction(QAbstractItemView* view, const QString& text)
{
    auto* action = new QAction(text, view);
    view->addAction(action);
    return action;
}

void prepareTable(QTableView* table, const Theme& theme, const QString& objectName, const QString& spokenName)
{
    prepareView(table, theme, objectName, spokenName);
    table->setShowGrid(false);
    table->setAlternatingRowColors(true);
    table->setWordWrap(false);
    table->setTabKeyNavigation(false);
    table->setCornerButtonEnabled(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setMinimumSectionSize(16);
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 9);
    table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table->horizontalHeader()->setFixedHeight(table->fontMetrics().height() + 11);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setStretchLastSection(true);
    table->horizontalHeader()->setMinimumSectionSize(48);
    table->horizontalHeader()->setObjectName(objectName % u"Header"_s);
}

void fitColumns(QTableView* table, int most)
{
    constexpr const char* kFitted = "fittedWidths";
    constexpr int kRoom = 12;
    constexpr int kMarkRoom = 24; ///< of SeverityRole
    constexpr int kTitleRoom = 26; ///< with the mark of the sorted column
    const QAbstractItemView* view = table; // where the function is public
    const QHeaderView* header = table->horizontalHeader();
    QVariantList widths;
    for (int column = 0; column + 1 < header->count(); ++column)
        widths.append(table->columnWidth(column));
    if (const QVariant former = table->property(kFitted); former.isValid() && former.toList() != widths)
        return;
    widths.clear();
    for (int column = 0; column + 1 < header->count(); ++column) {
        const int title = header->fontMetrics().horizontalAdvance(
            table->model()->headerData(column, Qt::Horizontal).toString());
        const int room = hasMarks(*table, column) ? kRoom + kMarkRoom : kRoom;
        table->setColumnWidth(
            column, std::clamp(view->sizeHintForColumn(column) + room, title + kTitleRoom, most));
        widths.append(table->columnWidth(column));
    }
    table->setProperty(kFitted, widths);
}

void prepareTree(QTreeView* tree, const Theme& theme, const QString& objectName, const QString& spokenName)
{
    prepareView(tree, theme, objectName, spokenName);
    tree->setUniformRowHeights(true);
    tree->setAnimated(false);
    tree->setIndentation(16);
}

} // namespace shardscope::ui
