// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/planned_files.h"

#include "ui/controls/cell_delegate.h"
#include "ui/models/column_table.h"
#include "ui/text/text.h"

#include <QHeaderView>

namespace shardscope::ui {

namespace {

constexpr int kBytesWidth = 150;

} // namespace

/// Texts are made for the visible rows only: a plan may have a million files.
class PlannedFilesModel final : public ColumnTable<uint32_t>
{
public:
    explicit PlannedFilesModel(QObject* parent)
        : ColumnTable(parent)
    {
        Column bytes(PlannedFiles::tr("Bytes"), [this](uint32_t row) { return countText(at(row).bytes); });
        bytes.isNumber = true;
        setColumns(
            {{PlannedFiles::tr("File"), [this](uint32_t row) { return toText(at(row).path); }}, bytes});
    }

    void setPlan(WritePlanPtr plan)
    {
        m_plan = std::move(plan);
        setRows(m_plan ? firstNumbers(m_plan->files.size()) : std::vector<uint32_t>());
    }

private:
    [[nodiscard]] const PlannedFile& at(uint32_t row) const { return m_plan->files[row]; }

    WritePlanPtr m_plan;
};

PlannedFiles::PlannedFiles(Theme& theme, const QString& name, QWidget* parent)
    : QTableView(parent)
    , m_model(new PlannedFilesModel(this))
{
    setModel(m_model);
    setObjectName(name);
    setAccessibleName(tr("Files that will be written"));
    horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    horizontalHeader()->resizeSection(1, kBytesWidth);
    horizontalHeader()->setFixedHeight(fontMetrics().height() + 11);
    setItemDelegate(new CellDelegate(theme, this));
    verticalHeader()->hide();
    verticalHeader()->setMinimumSectionSize(16);
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
    setEditTriggers(NoEditTriggers);
    setSelectionBehavior(SelectRows);
    setTabKeyNavigation(false);
    setShowGrid(false);
    setFrameShape(NoFrame);
}

void PlannedFiles::setPlan(WritePlanPtr plan)
{
    m_model->setPlan(std::move(plan));
}

} // namespace shardscope::ui
