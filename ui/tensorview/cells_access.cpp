// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/cells_access.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QHash>
#include <QWidget>

#include <algorithm>
#include <limits>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Null while the widget is being destroyed.
const CellSource* sourceOf(const QWidget* widget)
{
    return dynamic_cast<const CellSource*>(widget);
}

CellTable tableOf(const QWidget* widget)
{
    const CellSource* source = sourceOf(widget);
    return source != nullptr ? source->cellTable() : CellTable();
}

constexpr qsizetype kMaxCells = 4096; ///< that are kept for a reader that walks over all of them

class CellAccess : public QAccessibleInterface, public QAccessibleTableCellInterface
{
public:
    CellAccess(QWidget* widget, CellTable::Cell cell)
        : m_widget(widget)
        , m_cell(cell)
    {
    }

    [[nodiscard]] bool isValid() const override
    {
        const CellTable table = tableOf(m_widget);
        return m_cell.row < table.rows && m_cell.column < table.columns;
    }
    [[nodiscard]] QObject* object() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* childAt(int /*x*/, int /*y*/) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* parent() const override
    {
        return QAccessible::queryAccessibleInterface(m_widget);
    }
    [[nodiscard]] QAccessibleInterface* child(int /*index*/) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface* /*child*/) const override { return -1; }
    [[nodiscard]] QRect rect() const override
    {
        const QRect here = isValid() ? sourceOf(m_widget)->cellRect(m_cell.row, m_cell.column) : QRect();
        return here.isEmpty() ? QRect() : QRect(m_widget->mapToGlobal(here.topLeft()), here.size());
    }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::Cell; }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (!isValid())
            return {};
        if (kind == QAccessible::Description)
            return QStringList{
                sourceOf(m_widget)->rowName(m_cell.row), sourceOf(m_widget)->columnName(m_cell.column)}
                .join(u", "_s);
        return kind == QAccessible::Name || kind == QAccessible::Value
            ? sourceOf(m_widget)->cellValue(m_cell.row, m_cell.column)
            : QString();
    }
    void setText(QAccessible::Text /*kind*/, const QString& /*text*/) override { }
    [[nodiscard]] QAccessible::State state() const override
    {
        QAccessible::State out;
        out.readOnly = true;
        out.selectable = true;
        out.focusable = true;
        out.selected = isSelected();
        out.invisible = !m_widget->isVisible();
        out.offscreen = rect().isEmpty();
        out.focused = m_widget->hasFocus() && tableOf(m_widget).current == m_cell;
        return out;
    }
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::TableCellInterface ? static_cast<QAccessibleTableCellInterface*>(this)
                                                       : nullptr;
    }

    [[nodiscard]] bool isSelected() const override
    {
        return isValid() && sourceOf(m_widget)->isCellSelected(m_cell.row, m_cell.column);
    }
    [[nodiscard]] QList<QAccessibleInterface*> columnHeaderCells() const override { return {}; }
    [[nodiscard]] QList<QAccessibleInterface*> rowHeaderCells() const override { return {}; }
    [[nodiscard]] int columnIndex() const override { return m_cell.column; }
    [[nodiscard]] int rowIndex() const override { return m_cell.row; }
    [[nodiscard]] int columnExtent() const override { return 1; }
    [[nodiscard]] int rowExtent() const override { return 1; }
    [[nodiscard]] QAccessibleInterface* table() const override { return parent(); }

private:
    QWidget* m_widget; ///< its interface ends before it, and this one with that
    CellTable::Cell m_cell;
};

class CellsAccess : public QAccessibleWidget, public QAccessibleTableInterface
{
public:
    explicit CellsAccess(QWidget* widget)
        : QAccessibleWidget(widget, QAccessible::Table)
    {
    }
    ~CellsAccess() override { forget(); }

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::TableInterface ? static_cast<QAccessibleTableInterface*>(this)
                                                   : QAccessibleWidget::interface_cast(type);
    }
    [[nodiscard]] int childCount() const override
    {
        const CellTable table = tableOf(widget());
        return cellCount(static_cast<uint64_t>(table.rows) * static_cast<uint64_t>(table.columns));
    }
    [[nodiscard]] QAccessibleInterface* child(int index) const override
    {
        const int columns = tableOf(widget()).columns;
        return index < 0 || index >= childCount() ? nullptr : at({index / columns, index % columns});
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override
    {
        const auto* cell = dynamic_cast<const CellAccess*>(child);
        return cell == nullptr ? -1 : indexOf({cell->rowIndex(), cell->columnIndex()});
    }
    [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override
    {
        const CellSource* source = sourceOf(widget());
        const auto cell = source != nullptr && rect().contains(x, y)
            ? source->cellUnder(widget()->mapFromGlobal(QPoint(x, y)))
            : std::nullopt;
        return cell ? at(*cell) : nullptr;
    }
    [[nodiscard]] QAccessibleInterface* focusChild() const override
    {
        const auto current = tableOf(widget()).current;
        return widget()->hasFocus() && current ? at(*current) : QAccessibleWidget::focusChild();
    }
    /// Its value is the current cell's.
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        const auto current = tableOf(widget()).current;
        if (kind == QAccessible::Value && current)
            return sourceOf(widget())->cellValue(current->row, current->column);
        return QAccessibleWidget::text(kind);
    }
    [[nodiscard]] int indexOf(CellTable::Cell cell) const
    {
        const int64_t index = int64_t{cell.row} * tableOf(widget()).columns + cell.column;
        return index > std::numeric_limits<int>::max() ? -1 : static_cast<int>(index);
    }

    [[nodiscard]] QAccessibleInterface* caption() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* summary() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* cellAt(int row, int column) const override
    {
        return at({row, column});
    }
    [[nodiscard]] int selectedCellCount() const override { return static_cast<int>(selectedCells().size()); }
    /// Of a block, the current cell alone: a block may have more cells than anybody wants to hear.
    [[nodiscard]] QList<QAccessibleInterface*> selectedCells() const override
    {
        const auto current = tableOf(widget()).current;
        return current ? QList<QAccessibleInterface*>{at(*current)} : QList<QAccessibleInterface*>();
    }
    [[nodiscard]] QString columnDescription(int column) const override
    {
        return column < columnCount() ? sourceOf(widget())->columnName(column) : QString();
    }
    [[nodiscard]] QString rowDescription(int row) const override
    {
        return row < rowCount() ? sourceOf(widget())->rowName(row) : QString();
    }
    [[nodiscard]] int selectedColumnCount() const override { return 0; }
    [[nodiscard]] int selectedRowCount() const override { return 0; }
    [[nodiscard]] int columnCount() const override { return tableOf(widget()).columns; }
    [[nodiscard]] int rowCount() const override { return tableOf(widget()).rows; }
    [[nodiscard]] QList<int> selectedColumns() const override { return {}; }
    [[nodiscard]] QList<int> selectedRows() const override { return {}; }
    [[nodiscard]] bool isColumnSelected(int /*column*/) const override { return false; }
    [[nodiscard]] bool isRowSelected(int /*row*/) const override { return false; }
    bool selectRow(int /*row*/) override { return false; }
    bool selectColumn(int /*column*/) override { return false; }
    bool unselectRow(int /*row*/) override { return false; }
    bool unselectColumn(int /*column*/) override { return false; }
    void modelChange(QAccessibleTableModelChangeEvent* /*event*/) override { forget(); }

private:
    [[nodiscard]] QAccessibleInterface* at(CellTable::Cell cell) const
    {
        const CellTable table = tableOf(widget());
        if (cell.row < 0 || cell.column < 0 || cell.row >= table.rows || cell.column >= table.columns)
            return nullptr;
        const std::pair key(cell.row, cell.column);
        if (const auto found = m_cells.constFind(key); found != m_cells.constEnd())
            return QAccessible::accessibleInterface(*found);
        if (m_cells.size() >= kMaxCells)
            forget();
        auto* made = new CellAccess(widget(), cell);
        m_cells.insert(key, QAccessible::registerAccessibleInterface(made));
        return made;
    }
    void forget() const
    {
        for (const QAccessible::Id id : std::as_const(m_cells))
            QAccessible::deleteAccessibleInterface(id);
        m_cells.clear();
    }

    mutable QHash<std::pair<int, int>, QAccessible::Id> m_cells;
};

QAccessibleInterface* makeAccess(const QString& /*className*/, QObject* object)
{
    auto* widget = qobject_cast<QWidget*>(object);
    return widget != nullptr && sourceOf(widget) != nullptr ? new CellsAccess(widget) : nullptr;
}

} // namespace

void makeCellsAccessible()
{
    QAccessible::installFactory(&makeAccess); // which ignores one that it has
}

void announceCurrentCell(QWidget* widget)
{
    if (!widget->hasFocus())
        return;
    const auto* access = dynamic_cast<CellsAccess*>(QAccessible::queryAccessibleInterface(widget));
    const auto current = tableOf(widget).current;
    const int index = access != nullptr && current ? access->indexOf(*current) : -1;
    if (index < 0)
        return;
    QAccessibleEvent event(widget, QAccessible::Focus);
    event.setChild(index);
    QAccessible::updateAccessibility(&event);
}

int cellCount(uint64_t count)
{
    return static_cast<int>(std::min<uint64_t>(count, std::numeric_limits<int>::max()));
}

} // namespace shardscope::ui
