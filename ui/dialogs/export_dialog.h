// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/dialogs/export_form.h"
#include "ui/dialogs/plan_dialog.h"

namespace shardscope::ui {

/// Weights for other tools.
class ExportDialog : public PlanDialogOf<ExportForm, ExportWish, PlanPreview>
{
    Q_OBJECT
public:
    ExportDialog(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
        Theme& theme, QWidget* parent = nullptr);

protected:
    [[nodiscard]] bool copies(const std::string& state) const override;
    void showMore() override;
};

} // namespace shardscope::ui
