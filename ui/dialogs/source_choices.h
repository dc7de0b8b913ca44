// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/plans/reshard_preview.h"

#include <QObject>

class QComboBox;
class QFormLayout;
class QLineEdit;
class QSpinBox;
class QWidget;

namespace shardscope::ui {

/// The rows of the reshard form that only some sources or results need: whether slices and stages are merged,
/// a file of patterns for merging, the expert-parallel degree, the form of stage 0, and optimizer options
/// that the source does not hold.
class SourceChoices : public QObject
{
    Q_OBJECT
public:
    /// The fields belong to `form`, which outlives this.
    SourceChoices(CheckpointPtr source, QWidget* form);

    void addRows(QFormLayout* rows);
    /// Shows only the rows for a result of that stage; no stage: a universal folder.
    void showFor(std::optional<int> stage);
    /// Whether slices and stages are merged; ignored for universal folders, which always merge them.
    [[nodiscard]] bool mergesSlices() const;
    void apply(std::optional<int> stage, ReshardWish& wish) const;

Q_SIGNALS:
    void changed();

private:
    void fillParallel();
    void fillExperts();
    void fillStage0Forms();
    void fillOptions();
    void fillPatterns();
    void browse();

    CheckpointPtr m_source;
    QFormLayout* m_rows = nullptr;
    QComboBox* m_parallel;
    QWidget* m_patternsRow;
    QLineEdit* m_patterns;
    QSpinBox* m_experts;
    QComboBox* m_stage0Form;
    QLineEdit* m_options;
};

} // namespace shardscope::ui
