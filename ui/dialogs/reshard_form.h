// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/dialogs/plan_form.h"
#include "ui/session/plans/export_preview.h"
#include "ui/session/plans/reshard_preview.h"

class QComboBox;
class QSlider;
class QSpinBox;

namespace shardscope::ui {

class LoadCurves;
class SourceChoices;

/// The choices of a reshard: stage or form, GPU count, extra choices for the source, target folder,
/// sub-group size, tag, and a few switches.
class ReshardForm : public PlanForm
{
    Q_OBJECT
public:
    ReshardForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent = nullptr);

    /// The choices; empty while a field is invalid (problem() says which).
    [[nodiscard]] std::optional<ReshardWish> wish() const;
    [[nodiscard]] QString problem() const override;
    /// A distributed checkpoint is chosen, which has no number of GPUs: exportWish() instead of wish().
    [[nodiscard]] bool wantsDistributed() const;
    [[nodiscard]] ExportWish exportWish() const;
    void setWorldSize(uint32_t ranks);
    void setUniversal();
    /// That of a plan; shown where the field is empty.
    void showPlannedSubGroupSize(std::optional<uint64_t> size);
    /// The GPU counts of the slider, by its value.
    [[nodiscard]] const std::vector<int>& rankSteps() const { return m_rankSteps; }
    /// Curves over them, under the slider.
    [[nodiscard]] LoadCurves* curves() const { return m_curves; }

private:
    void makeLayout();
    void connectWidgets();
    void suggest();
    void fillForms();
    void showRows();
    void onFormChosen();
    /// The selected stage; empty for a universal folder.
    [[nodiscard]] std::optional<int> stage() const;
    [[nodiscard]] bool changesStage() const;
    void showRanks();
    [[nodiscard]] bool readSubGroupSize(std::optional<uint64_t>& size) const;

    SourceChoices* m_choices;
    QComboBox* m_form;
    QSpinBox* m_ranks;
    QSlider* m_rankSlider;
    LoadCurves* m_curves;
    std::vector<int> m_rankSteps; ///< the GPU counts of the slider
    QLineEdit* m_subGroup;
    QLineEdit* m_tag = nullptr;
    QCheckBox* m_latest = nullptr;
};

} // namespace shardscope::ui
