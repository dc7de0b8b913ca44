// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>
#include <QString>

#include <optional>

class QWidget;

namespace shardscope::ui {

/// The cells of a view that paints them itself, as a table for screen readers. One cell may be current. Rows
/// and columns beyond what an int counts are left out.
struct CellTable {
    int rows = 0;
    int columns = 0;
    struct Cell {
        int row = 0;
        int column = 0;
        bool operator==(const Cell&) const = default;
    };
    std::optional<Cell> current = {};
};

/// Implemented by such a view, which is a QWidget. All calls come from the GUI thread.
class CellSource
{
public:
    CellSource() = default;
    CellSource(const CellSource&) = delete;
    CellSource& operator=(const CellSource&) = delete;
    virtual ~CellSource() = default;

    [[nodiscard]] virtual CellTable cellTable() const = 0;
    /// What the cell shows.
    [[nodiscard]] virtual QString cellValue(int row, int column) const = 0;
    [[nodiscard]] virtual QString rowName(int row) const = 0;
    [[nodiscard]] virtual QString columnName(int column) const = 0;
    /// In the widget; empty if the cell is not seen.
    [[nodiscard]] virtual QRect cellRect(int row, int column) const = 0;
    [[nodiscard]] virtual std::optional<CellTable::Cell> cellUnder(const QPoint& point) const = 0;
    [[nodiscard]] virtual bool isCellSelected(int /*row*/, int /*column*/) const { return false; }
};

/// Makes QAccessible answer for every widget that is a CellSource. May be called again.
void makeCellsAccessible();
/// The current cell of this widget, a CellSource, is another one.
void announceCurrentCell(QWidget* widget);

/// A number of rows or columns as an int, the largest one if there are more.
[[nodiscard]] int cellCount(uint64_t count);

} // namespace shardscope::ui
