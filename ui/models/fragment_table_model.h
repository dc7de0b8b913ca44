// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"
#include "ui/models/column_table.h"

namespace shardscope::ui {

/// Where a parameter's elements are stored, rank by rank: the map as a table.
class FragmentTableModel : public ColumnTable<uint32_t>
{
    Q_OBJECT
public:
    explicit FragmentTableModel(QObject* parent = nullptr);

    void setFragments(CheckpointPtr checkpoint, std::vector<Fragment> fragments);
    [[nodiscard]] const Fragment& at(uint32_t row) const { return m_fragments[row]; }

private:
    [[nodiscard]] QString rankText(const Fragment& fragment) const;

    CheckpointPtr m_checkpoint;
    std::vector<Fragment> m_fragments;
};

} // namespace shardscope::ui
