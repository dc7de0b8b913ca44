// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/column_table.h"
#include "ui/models/finding_mark.h"
#include "ui/models/parameters/parameter_filter.h"

namespace shardscope::ui {

/// Rows of the parameter table: an index vector over one checkpoint, made by queryRows().
class ParameterTableModel : public ColumnTable<ParamId>
{
    Q_OBJECT
public:
    explicit ParameterTableModel(QObject* parent = nullptr);

    /// Another checkpoint, or none; rows are empty until setRows().
    void setIndex(ParameterIndexPtr index);
    /// Marks the parameters that findings touch; null: none.
    void setFindings(FindingPlacesPtr findings);
    [[nodiscard]] const FindingPlacesPtr& findings() const { return m_findings; }
    [[nodiscard]] const ParameterIndexPtr& parameterIndex() const { return m_index; }
    /// What a cell shows.
    [[nodiscard]] QString textOf(ParamId param, ParamColumn column) const;

private:
    [[nodiscard]] const Parameter& param(ParamId id) const;
    [[nodiscard]] const ParamFacts& facts(ParamId id) const { return m_index->facts(id); }
    /// "dp 2 to dp 5, of 8 ranks", "stored whole".
    [[nodiscard]] QString placeOf(ParamId param) const;

    [[nodiscard]] FindingMark markAt(ParamId param) const;

    ParameterIndexPtr m_index;
    FindingPlacesPtr m_findings; ///< of the index's checkpoint
};

} // namespace shardscope::ui
