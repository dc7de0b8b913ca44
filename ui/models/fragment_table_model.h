// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"

#include <QAbstractTableModel>

namespace shardscope::ui {

/// Where a parameter's elements are stored, rank by rank: the map as a table.
class FragmentTableModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Rank, Elements, Flat, Byte, File, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setFragments(CheckpointPtr checkpoint, std::vector<Fragment> fragments);
    [[nodiscard]] const Fragment& at(int row) const { return m_fragments[static_cast<size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    CheckpointPtr m_checkpoint;
    std::vector<Fragment> m_fragments;
};

} // namespace shardscope::ui
