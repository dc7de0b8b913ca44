// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/dialogs/load_curves.h"
#include "ui/dialogs/plan_dialog.h"
#include "ui/dialogs/reshard_form.h"

namespace shardscope::ui {

class BatchChoices;
class ReshardMaps;

/// One-click reshard: the new GPU count, a picture with the new map below the old one, and all facts of the
/// plan. The picture has the height of the dialog.
class ReshardDialog : public PlanDialogOf<ReshardForm, ReshardWish, ReshardPreview>
{
    Q_OBJECT
public:
    ReshardDialog(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
        Theme& theme, QWidget* parent = nullptr);

    [[nodiscard]] const ReshardMaps& maps() const { return *m_maps; }
    /// Curves or bands are still being computed.
    [[nodiscard]] bool isDrawing() const;
    /// What the bands of the maps follow first: a parameter of the source, or a rank (rank_list.h).
    void follow(ParamId param, std::optional<uint32_t> rank);

protected:
    void plan() override;
    void showMore() override;

private:
    /// What the curves depend on, besides the source.
    struct CurveFacts {
        CheckpointKind kind = CheckpointKind::Unknown;
        uint64_t subGroupSize = 0;
        uint32_t tp = 0;
        uint32_t pp = 0;
        uint32_t ep = 0;
        bool operator==(const CurveFacts&) const = default;
    };

    [[nodiscard]] QWidget* makeLivePart();
    void showLivePart();
    void addWidthButton();
    void planExportOf(const ExportWish& wish);
    void showCurves();
    void showSource();
    void showTarget();

    BatchChoices* m_batch;
    QPlainTextEdit* m_equal;
    ReshardMaps* m_maps;
    QWidget* m_livePart = nullptr;
    LatestOnly m_merger{WorkLength::Long};
    std::optional<CurveFacts> m_curvesFor; ///< what is shown or being computed
    LatestOnly m_curves{WorkLength::Long};
};

} // namespace shardscope::ui
