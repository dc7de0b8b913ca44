// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/session/plans/reshard_preview.h"

#include <QObject>

class QComboBox;
class QFormLayout;
class QLineEdit;
class QSpinBox;
class QWidget;

namespace shardscope::ui {

class PathField;

/// The rows of the reshard form below stage and GPU count: tensor, pipeline and expert-parallel degrees with
/// what another degree needs, the form of stage 0, and optimizer options that the source does not hold.
class SourceChoices : public QObject
{
    Q_OBJECT
public:
    /// The fields belong to `form`, which outlives this.
    SourceChoices(CheckpointPtr source, QWidget* form);

    void addRows(QFormLayout* rows);
    /// Shows only the rows for a result of that stage; no stage: a universal folder.
    void showFor(std::optional<int> stage);
    /// Tensor slices and pipeline stages of a native result.
    [[nodiscard]] uint32_t slices() const;
    [[nodiscard]] uint32_t stages() const;
    /// Why apply() cannot be called; empty if it can.
    [[nodiscard]] QString problem(std::optional<int> stage) const;
    void apply(std::optional<int> stage, ReshardWish& wish) const;

Q_SIGNALS:
    void changed();

private:
    void fillDegrees();
    void showExperts(bool canChange);
    void fillStage0Forms();
    void fillOptions();
    void applyDegrees(ReshardWish& wish) const;
    [[nodiscard]] bool changesSlices() const;
    [[nodiscard]] bool splitsStages() const;

    CheckpointPtr m_source;
    QFormLayout* m_rows = nullptr;
    QWidget* m_degrees;
    QSpinBox* m_slices;
    QSpinBox* m_stages;
    PathField* m_patterns;
    QSpinBox* m_experts;
    LatestOnly m_expertSearch{WorkLength::Short};
    QLineEdit* m_vocabulary;
    QLineEdit* m_layers;
    QLineEdit* m_tied;
    QComboBox* m_stage0Form;
    QLineEdit* m_options;
};

} // namespace shardscope::ui
