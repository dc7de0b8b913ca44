// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/model_roles.h"
#include "ui/models/parameters/parameter_filter.h"

#include <QAbstractTableModel>

namespace shardscope::ui {

/// Rows of the parameter table: an index vector over one checkpoint, made by queryRows().
class ParameterTableModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;

    /// Another checkpoint, or none; rows are empty until setRows().
    void setIndex(ParameterIndexPtr index);
    void setRows(std::vector<ParamId> rows);

    [[nodiscard]] const std::vector<ParamId>& rows() const { return m_rows; }
    [[nodiscard]] ParamId paramAt(int row) const { return m_rows[static_cast<size_t>(row)]; }
    /// -1 when the parameter is filtered out. One scan of the rows.
    [[nodiscard]] int rowOf(ParamId param) const;
    [[nodiscard]] const ParameterIndexPtr& parameterIndex() const { return m_index; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// What a cell shows.
    [[nodiscard]] QString textOf(ParamId param, ParamColumn column) const;

private:
    /// "dp 2 to dp 5, of 8 ranks", "stored whole".
    [[nodiscard]] QString placeOf(ParamId param) const;
    [[nodiscard]] QString toolTipOf(ParamId param, ParamColumn column) const;

    ParameterIndexPtr m_index;
    std::vector<ParamId> m_rows;
};

} // namespace shardscope::ui
