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

private:
    DifferenceListPtr m_list;
};

} // namespace shardscope::ui
