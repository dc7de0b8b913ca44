// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/export_dialog.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

ExportDialog::ExportDialog(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
    Theme& theme, QWidget* parent)
    : PlanDialogOf(
        files, source, known, theme, {u"export"_s, tr("Export %1"), u"exporting"_s, {980, 620}}, parent)
{
    makeFoot(form(), known.writeRate);
}

void ExportDialog::showMore()
{
    form()->setAdapterIsConfigured(preview().plan && takesConfigurationAlong(*preview().plan));
}

} // namespace shardscope::ui
