// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/planned_files.h"

#include "ui/controls/cell_delegate.h"
#include "ui/text/text.h"

#include <QHeaderView>

namespace shardscope::ui {

namespace {

constexpr size_t kMaxListed = 2000;
constexpr int kBytesWidth = 150;

} // namespace

PlannedFiles::PlannedFiles(Theme& theme, const QString& name, QWidget* parent)
    : QTableWidget(0, 2, parent)
{
    setObjectName(name);
    setAccessibleName(tr("Files that will be written"));
    setHorizontalHeaderLabels({tr("File"), tr("Bytes")});
    horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    horizontalHeader()->resizeSection(1, kBytesWidth);
    horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    horizontalHeaderItem(1)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
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

void PlannedFiles::setPlan(const WritePlan* plan)
{
    const size_t listed = plan == nullptr ? 0 : std::min(plan->files().size(), kMaxListed);
    setRowCount(static_cast<int>(listed));
    for (size_t i = 0; i < listed; ++i) {
        const PlannedFile& file = plan->files()[i];
        const int row = static_cast<int>(i);
        setItem(row, 0, new QTableWidgetItem(toText(file.path)));
        auto* bytes = new QTableWidgetItem(countText(file.bytes));
        bytes->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        setItem(row, 1, bytes);
    }
}

} // namespace shardscope::ui
