// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/column_table.h"
#include "ui/models/difference_list.h"

namespace shardscope::ui {

/// Rows of the compare page: an index vector over the differences, made by orderedDifferences().
class DifferenceTableModel : public ColumnTable<uint32_t>
{
    Q_OBJECT
public:
    explicit DifferenceTableModel(QObject* parent = nullptr);

    /// Another comparison, or none; rows are empty until setRows().
    void setList(DifferenceListPtr list);
    [[nodiscard]] const DifferenceListPtr& list() const { return m_list; }
    /// Shows these differences; `folds`: options among parameters are one row.
    void showRows(std::vector<uint32_t> rows, bool folds);
    /// The differences behind the rows, also those that are folded.
    [[nodiscard]] const std::vector<uint32_t>& differences() const { return m_differences; }
    [[nodiscard]] bool isOptionsRow(int row) const;
    [[nodiscard]] bool isUnfolded() const { return m_unfolded; }
    void setUnfolded(bool unfolded);

private:
    void fold();

    DifferenceListPtr m_list;
    std::vector<uint32_t> m_differences;
    bool m_folds = false;
    bool m_unfolded = false;
};

} // namespace shardscope::ui
