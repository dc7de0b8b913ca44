// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/dialogs/plan_dialog.h"
#include "ui/dialogs/reshard_form.h"

namespace shardscope::ui {

class BatchChoices;
class ReshardMaps;

/// One-click reshard: the new GPU count, the new map below the old one, and all facts of the plan.
class ReshardDialog : public PlanDialogOf<ReshardForm, ReshardWish, ReshardPreview>
{
    Q_OBJECT
public:
    ReshardDialog(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
        Theme& theme, QWidget* parent = nullptr);

    [[nodiscard]] const ReshardMaps& maps() const { return *m_maps; }

Q_SIGNALS:
    /// The button of a refusal was pressed; the dialog has closed.
    void repairWanted();
    void furtherFolderWanted();
    void exportWanted();

protected:
    void plan() override;
    [[nodiscard]] QStringList helpFor(const Error& problem) override;
    void showMore() override;

private:
    using Help = void (ReshardDialog::*)(); ///< a signal

    QLayout* makeLiveRow();
    void showSource();
    void showTarget();
    void help(int action);

    BatchChoices* m_batch;
    QPlainTextEdit* m_equal;
    ReshardMaps* m_maps;
    std::vector<Help> m_help; ///< what the buttons of the message do
    LatestOnly m_merger{WorkLength::Long};
};

} // namespace shardscope::ui
