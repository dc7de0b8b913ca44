// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/reshard_preview.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace shardscope::ui {

/// The choices of a reshard: stage or form, GPU count, whether slices and stages are joined, target folder,
/// sub-group size, tag, and a few switches.
class ReshardForm : public QWidget
{
    Q_OBJECT
public:
    ReshardForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent = nullptr);

    /// What is asked for; nothing while a field cannot be understood (problem() says which).
    [[nodiscard]] std::optional<ReshardWish> wish() const;
    [[nodiscard]] QString problem() const;
    void setWorldSize(uint32_t ranks);
    void setDestination(const QString& folder);

Q_SIGNALS:
    void changed();

private:
    [[nodiscard]] QString suggestedTarget() const;
    void browse();
    void fillForms();
    void fillParallel();
    void fillStage0Forms();
    void showRows();
    void onFormChosen();
    void suggestTag();
    /// The stage that is chosen; -1 for a universal folder.
    [[nodiscard]] int stage() const;
    [[nodiscard]] bool changesStage() const;
    [[nodiscard]] bool joins() const;
    [[nodiscard]] bool readSubGroupSize(std::optional<uint64_t>& size) const;

    CheckpointPtr m_source;
    QFormLayout* m_rows = nullptr;
    QString m_parentFolder; ///< where suggested targets lie
    QComboBox* m_form;
    QSpinBox* m_ranks;
    QComboBox* m_parallel; ///< shown where there is something to join
    QComboBox* m_stage0Form; ///< shown for stage 0
    QLineEdit* m_subGroup;
    QLineEdit* m_target;
    QPushButton* m_browse;
    QLineEdit* m_tag;
    QCheckBox* m_verify;
    QCheckBox* m_latest;
    QCheckBox* m_force;
    bool m_targetIsOurs = true; ///< the user has not typed one yet
};

} // namespace shardscope::ui
