// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/model_roles.h"

#include <QAbstractTableModel>
#include <QString>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace shardscope::ui {

/// One column of a ColumnTable. A function that is not there gives what most columns have.
template <typename Row>
struct TableColumn {
    using Text = std::function<QString(Row)>;

    TableColumn() = default;
    TableColumn(QString titleText, Text textOf)
        : title(std::move(titleText))
        , text(std::move(textOf))
    {
    }

    QString title;
    Text text; ///< of a cell; null: it is drawn, and its tip is what a screen reader says
    Text tip; ///< null: the text
    Text copy; ///< with full precision; null: the text
    bool isNumber = false; ///< aligned right
    std::function<bool(Row)> muted; ///< MutedRole
    std::function<QVariant(Row)> share; ///< ShareRole
    std::function<QVariant(Row)> where; ///< WhereRole
    std::function<QVariant(Row)> spark; ///< SparkRole
    std::function<int(Row)> severity; ///< SeverityRole
    std::function<bool(Row, Row)> less; ///< for sortedBy()
    QString titleTip;

    static bool always(Row) { return true; }
};

/// The common part of all tables: rows are small values such as ids, and each column says how it shows one.
/// GUI thread only.
template <typename Row>
class ColumnTable : public QAbstractTableModel
{
public:
    using Column = TableColumn<Row>;
    using QAbstractTableModel::QAbstractTableModel;

    void setRows(std::vector<Row> rows)
    {
        reset([&] { m_rows = std::move(rows); });
    }
    [[nodiscard]] const std::vector<Row>& rows() const { return m_rows; }
    [[nodiscard]] Row rowAt(int row) const { return m_rows[static_cast<size_t>(row)]; }
    /// -1 if it is not shown. One scan of the rows.
    [[nodiscard]] int rowOf(Row row) const
    {
        const auto found = std::find(m_rows.begin(), m_rows.end(), row);
        return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
    }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override
    {
        return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
    }
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override
    {
        return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
    }
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override
    {
        if (!at.isValid())
            return {};
        const Column& column = columnAt(at.column());
        const Row row = rowAt(at.row());
        switch (role) {
        case Qt::DisplayRole:
            return column.text ? column.text(row) : QString();
        case Qt::ToolTipRole:
            return (column.tip ? column.tip : column.text)(row);
        case CopyRole:
            return (column.copy ? column.copy : column.text)(row);
        case Qt::AccessibleTextRole:
            return column.text ? QVariant() : column.tip(row);
        case Qt::TextAlignmentRole:
            return alignment(column);
        case ShareRole:
            return column.share ? column.share(row) : QVariant();
        case WhereRole:
            return column.where ? column.where(row) : QVariant();
        case SparkRole:
            return column.spark ? column.spark(row) : QVariant();
        case SeverityRole:
            return column.severity ? column.severity(row) : -1;
        case MutedRole:
            return column.muted && column.muted(row);
        default:
            return {};
        }
    }
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal)
            return {};
        const Column& column = columnAt(section);
        switch (role) {
        case Qt::DisplayRole:
            return column.title;
        case Qt::TextAlignmentRole:
            return alignment(column);
        case Qt::ToolTipRole:
            return column.titleTip.isEmpty() ? QVariant() : column.titleTip;
        default:
            return {};
        }
    }

protected:
    void setColumns(std::vector<Column> columns) { m_columns = std::move(columns); }
    /// Whatever `change` changes, views read everything again.
    template <typename Change>
    void reset(const Change& change)
    {
        beginResetModel();
        change();
        endResetModel();
    }
    /// Rows that are equal keep their order, in both directions.
    [[nodiscard]] std::vector<Row> sortedBy(int column, Qt::SortOrder order, std::vector<Row> rows) const
    {
        const auto& less = columnAt(column).less;
        std::stable_sort(rows.begin(), rows.end(),
            [&](Row a, Row b) { return order == Qt::AscendingOrder ? less(a, b) : less(b, a); });
        return rows;
    }
    /// 0, 1, … count − 1: all rows, where a row is its number.
    [[nodiscard]] static std::vector<Row> firstNumbers(size_t count)
    {
        std::vector<Row> rows(count);
        std::iota(rows.begin(), rows.end(), Row{});
        return rows;
    }
    /// ShareRole of a size.
    [[nodiscard]] static QVariant shareOf(uint64_t bytes, uint64_t most)
    {
        return most == 0 ? QVariant() : static_cast<double>(bytes) / static_cast<double>(most);
    }

    std::vector<Row> m_rows;

private:
    [[nodiscard]] const Column& columnAt(int column) const { return m_columns[static_cast<size_t>(column)]; }
    [[nodiscard]] static QVariant alignment(const Column& column)
    {
        return QVariant((column.isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }

    std::vector<Column> m_columns;
};

} // namespace shardscope::ui
