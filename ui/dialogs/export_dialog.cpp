// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/export_dialog.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

ExportDialog::ExportDialog(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
    Theme& theme, QWidget* parent)
    : PlanDialogOf(
        files, source, known, theme, {u"export"_s, tr("Export %1"), u"exporting"_s, {980, 620}}, parent)
{
    makeFoot(form(), known.writeRate);
}

/// Weights are exported from their masters, or from the model file.
bool ExportDialog::copies(const std::string& state) const
{
    if (state.empty() || state == "weight" || state == "fp32")
        return true;
    return m_wish && std::ranges::find(m_wish->options.states, state) != m_wish->options.states.end();
}

void ExportDialog::showMore()
{
    form()->setAdapterIsConfigured(preview().plan && takesConfigurationAlong(*preview().plan));
}

} // namespace shardscope::ui
