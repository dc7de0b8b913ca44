// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/plans/export_preview.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLineEdit;
class QMenu;
class QPushButton;
class QToolButton;

namespace shardscope::ui {

/// The choices of an export: format, dtype, states next to the weights, size of files, parameters and
/// their names, target folder, and a few switches.
class ExportForm : public QWidget
{
    Q_OBJECT
public:
    ExportForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent = nullptr);

    /// The choices; empty while a field is invalid (problem() says which).
    [[nodiscard]] std::optional<ExportWish> wish() const;
    [[nodiscard]] QString problem() const;
    void setFormat(ExportFormat format);
    void setTarget(const QString& folder);
    /// The last plan copies an adapter's configuration, so its entries cannot be set.
    void setAdapterIsConfigured(bool configured);

Q_SIGNALS:
    void changed();

private:
    void fillChoices();
    void addRows();
    void connectFields();
    void onFormatChosen();
    void browseTarget();
    void browsePatterns();
    void showStates();
    [[nodiscard]] QString suggestedTarget() const;
    [[nodiscard]] ExportFormat format() const;
    [[nodiscard]] bool readRenames(ExportOptions& options) const;
    /// Whether slices or stages are merged, so that patterns apply.
    [[nodiscard]] bool mergesSlices() const;

    CheckpointPtr m_source;
    QString m_parentFolder; ///< parent of suggested targets
    QFormLayout* m_rows = nullptr;
    QComboBox* m_format;
    QComboBox* m_dtype;
    QToolButton* m_states;
    QMenu* m_stateMenu;
    QLineEdit* m_shardSize;
    QLineEdit* m_only;
    QLineEdit* m_strip;
    QLineEdit* m_renames;
    QLineEdit* m_adapterOptions;
    QWidget* m_patternsRow;
    QLineEdit* m_patterns;
    QLineEdit* m_target;
    QPushButton* m_browse;
    QCheckBox* m_verify;
    QCheckBox* m_force;
    bool m_targetIsOurs = true; ///< the user has not typed one yet
};

} // namespace shardscope::ui
