// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/plans/reshard_preview.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLineEdit;
class QPushButton;
class QSlider;
class QSpinBox;

namespace shardscope::ui {

class SourceChoices;

/// The choices of a reshard: stage or form, GPU count, extra choices for the source, target folder,
/// sub-group size, tag, and a few switches.
class ReshardForm : public QWidget
{
    Q_OBJECT
public:
    ReshardForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent = nullptr);

    /// The choices; empty while a field is invalid (problem() says which).
    [[nodiscard]] std::optional<ReshardWish> wish() const;
    [[nodiscard]] QString problem() const;
    /// A distributed checkpoint is chosen, which an export writes.
    [[nodiscard]] bool wantsDistributed() const;
    void setWorldSize(uint32_t ranks);
    void setDestination(const QString& folder);

Q_SIGNALS:
    void changed();

private:
    void makeLayout();
    void connectWidgets();
    [[nodiscard]] QString suggestedTarget() const;
    void browse();
    void fillForms();
    void showRows();
    void onFormChosen();
    void suggestTag();
    /// The selected stage; empty for a universal folder.
    [[nodiscard]] std::optional<int> stage() const;
    [[nodiscard]] bool changesStage() const;
    void showRanks();
    [[nodiscard]] bool readSubGroupSize(std::optional<uint64_t>& size) const;

    CheckpointPtr m_source;
    SourceChoices* m_choices;
    QFormLayout* m_rows = nullptr;
    QString m_parentFolder; ///< parent of suggested targets
    QComboBox* m_form;
    QSpinBox* m_ranks;
    QSlider* m_rankSlider;
    std::vector<int> m_rankSteps; ///< the GPU counts of the slider
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
