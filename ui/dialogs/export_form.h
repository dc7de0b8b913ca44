// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/dialogs/plan_form.h"
#include "ui/session/plans/export_preview.h"

class QComboBox;
class QMenu;
class QToolButton;

namespace shardscope::ui {

/// The choices of an export: format, dtype, states next to the weights, size of files, parameters and
/// their names, target folder, and a few switches.
class ExportForm : public PlanForm
{
    Q_OBJECT
public:
    ExportForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent = nullptr);

    /// The choices; empty while a field is invalid (problem() says which).
    [[nodiscard]] std::optional<ExportWish> wish() const;
    [[nodiscard]] QString problem() const override;
    /// The last plan copies an adapter's configuration, so its entries cannot be set.
    void setAdapterIsConfigured(bool configured);

private:
    void fillChoices();
    void addRows();
    void connectFields();
    void onFormatChosen();
    void showStates();
    [[nodiscard]] ExportFormat format() const;
    [[nodiscard]] bool readRenames(ExportOptions& options) const;
    /// Whether slices or stages are merged, so that patterns apply.
    [[nodiscard]] bool mergesSlices() const;

    QComboBox* m_format;
    QComboBox* m_dtype;
    QToolButton* m_states;
    QMenu* m_stateMenu;
    QLineEdit* m_shardSize;
    QLineEdit* m_only;
    QLineEdit* m_strip;
    QLineEdit* m_renames;
    QLineEdit* m_adapterOptions;
    PathField* m_patterns;
};

} // namespace shardscope::ui
