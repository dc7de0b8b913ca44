// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/difference_table_model.h"

using namespace Qt::StringLiterals;

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
    Column& name = columns[static_cast<size_t>(DifferenceColumn::Name)];
    name.text = [this](uint32_t row) {
        const QString text = m_list->text(row, DifferenceColumn::Name);
        return row == m_list->optionsRow() ? (m_unfolded ? u"▾ "_s : u"▸ "_s) % text : text;
    };
    name.tip = [this](uint32_t row) {
        return row != m_list->optionsRow() ? m_list->text(row, DifferenceColumn::Name, true)
            : m_unfolded                   ? tr("Click, or press Enter, to fold them")
                                           : tr("Click, or press Enter, to list them");
    };
    columns[static_cast<size_t>(DifferenceColumn::State)].muted = Column::always;
    columns[static_cast<size_t>(DifferenceColumn::NextStep)].titleTip
        = tr("How far the next optimizer steps of both sides are apart, relative to their length");
    setColumns(std::move(columns));
}

void DifferenceTableModel::setList(DifferenceListPtr list)
{
    m_list = std::move(list);
    m_unfolded = false;
    m_differences.clear();
    setRows({});
}

void DifferenceTableModel::showRows(std::vector<uint32_t> rows, bool folds)
{
    m_differences = std::move(rows);
    m_folds = folds;
    fold();
}

bool DifferenceTableModel::isOptionsRow(int row) const
{
    return row >= 0 && row < rowCount() && rowAt(row) == m_list->optionsRow();
}

void DifferenceTableModel::setUnfolded(bool unfolded)
{
    m_unfolded = unfolded;
    fold();
}

void DifferenceTableModel::fold()
{
    setRows(m_folds ? withFoldedOptions(*m_list, m_differences, m_unfolded) : m_differences);
}

} // namespace shardscope::ui
