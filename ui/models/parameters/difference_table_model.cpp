// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/difference_table_model.h"

namespace shardscope::ui {

DifferenceTableModel::DifferenceTableModel(QObject* parent)
    : ColumnTable(parent)
{
    const QString titles[] = {tr("What"), tr("Parameter or option"), tr("State"), tr("Different"),
        tr("Max abs"), tr("Rel. L2"), tr("Cosine"), tr("Next step")};
    std::vector<Column> columns;
    for (const QString& title : titles) {
        const auto column = static_cast<DifferenceColumn>(columns.size());
        Column& made
            = columns.emplace_back(title, [this, column](uint32_t row) { return m_list->text(row, column); });
        made.tip = [this, column](uint32_t row) { return m_list->text(row, column, true); };
        made.copy = made.tip;
        made.isNumber = column > DifferenceColumn::Different;
    }
    columns[static_cast<size_t>(DifferenceColumn::State)].muted = Column::always;
    columns[static_cast<size_t>(DifferenceColumn::NextStep)].titleTip
        = tr("How far the next optimizer steps of both sides are apart, relative to their length");
    setColumns(std::move(columns));
}

void DifferenceTableModel::setList(DifferenceListPtr list)
{
    m_list = std::move(list);
    setRows({});
}

} // namespace shardscope::ui
