// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/planned_files.h"

#include "ui/controls/cell_delegate.h"
#include "ui/text/text.h"

#include <QAbstractTableModel>
#include <QHeaderView>

#include <limits>

namespace shardscope::ui {

namespace {

constexpr int kBytesWidth = 150;

} // namespace

/// Texts are made for the visible rows only: a plan may have a million files.
class PlannedFilesModel final : public QAbstractTableModel
{
public:
    using QAbstractTableModel::QAbstractTableModel;

    void setPlan(WritePlanPtr plan)
    {
        beginResetModel();
        m_plan = std::move(plan);
        endResetModel();
    }

    [[nodiscard]] int rowCount(const QModelIndex& parent) const override
    {
        if (parent.isValid() || !m_plan)
            return 0;
        constexpr size_t kMost = std::numeric_limits<int>::max();
        return static_cast<int>(std::min(m_plan->files.size(), kMost));
    }
    [[nodiscard]] int columnCount(const QModelIndex& parent) const override
    {
        return parent.isValid() ? 0 : 2;
    }
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override
    {
        if (role == Qt::TextAlignmentRole)
            return alignmentOf(index.column());
        if (role != Qt::DisplayRole)
            return {};
        const PlannedFile& file = m_plan->files[static_cast<size_t>(index.row())];
        return index.column() == 0 ? toText(file.path) : countText(file.bytes);
    }
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal)
            return {};
        if (role == Qt::TextAlignmentRole)
            return alignmentOf(section);
        return role == Qt::DisplayRole ? (section == 0 ? PlannedFiles::tr("File") : PlannedFiles::tr("Bytes"))
                                       : QVariant();
    }

private:
    static QVariant alignmentOf(int column)
    {
        return static_cast<int>(Qt::AlignVCenter | (column == 0 ? Qt::AlignLeft : Qt::AlignRight));
    }

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
