// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/session/plans/plan_preview.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLineEdit;

namespace shardscope::ui {

class PathField;

/// A line of text in a form; a screen reader also reads the tip.
QLineEdit* makeField(const QString& name, const QString& hint, const QString& tip, QWidget* parent);
/// Lets a list be narrower than its longest entry, which would set the width of the whole form.
void setCompact(QComboBox* list);
/// A line for the file of patterns; `prefix` begins the names of line and dialog.
PathField* makePatternsField(const QString& prefix, QWidget* parent);

/// The common part of the forms of plan dialogs: rows, the target folder with a suggestion until the user has
/// chosen one, and how to write.
class PlanForm : public QWidget
{
    Q_OBJECT
public:
    /// Which field is not valid, and why; empty if all are.
    [[nodiscard]] virtual QString problem() const = 0;
    void setTarget(const QString& folder);

Q_SIGNALS:
    void changed();

protected:
    /// Object names begin with `prefix`. `lastTarget`: the folder of suggested targets; empty: that of the
    /// run.
    PlanForm(QString prefix, CheckpointPtr source, const QString& lastTarget, QWidget* parent);

    QLineEdit* addTarget(const QString& label);
    QCheckBox* addSwitch(const QString& name, const QString& text, bool on);
    void addVerify();
    void addForce();
    /// Suggests the run's name with `ending` as the target.
    void suggestTarget(const QString& ending);
    /// Sets what all plans have, but for the patterns.
    void readInto(PlanWish& wish) const;

    CheckpointPtr m_source;
    QFormLayout* m_rows;

private:
    QString m_prefix;
    QString m_suggestion; ///< path of suggested targets, without an ending
    PathField* m_target = nullptr;
    QCheckBox* m_verify = nullptr;
    QCheckBox* m_force = nullptr;
    bool m_targetIsOurs = true; ///< the user has not typed one yet
};

} // namespace shardscope::ui
