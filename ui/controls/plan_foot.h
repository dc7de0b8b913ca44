// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"
#include "ui/style/theme.h"

#include <QWidget>

#include <optional>

class QLabel;
class QPushButton;

namespace shardscope::ui {

class CommandLine;

/// The foot of a dialog that writes files: its command line, the plan's sizes with estimates of time and
/// memory, Save Plan, Start and Cancel.
class PlanFoot : public QWidget
{
    Q_OBJECT
public:
    /// Object names of its parts begin with `prefix`.
    PlanFoot(Theme& theme, const QString& prefix, QWidget* parent = nullptr);

    void setCommand(const QString& command);
    /// Bytes a second that the last job wrote; 0: not measured yet.
    void setWriteRate(uint64_t bytesPerSecond) { m_writeRate = bytesPerSecond; }
    void showPlanning();
    /// Start continues an interrupted job.
    void setResumes(bool resumes);
    /// Why plans cannot be saved; empty: they can be.
    void setWhyNotSaved(const QString& reason);
    /// Null: there is no plan.
    void showPlan(const WritePlan* plan, const std::optional<uint64_t>& freeBytes, bool canStart);
    [[nodiscard]] QPushButton* startButton() const { return m_start; }

Q_SIGNALS:
    void startRequested();
    void saveRequested();
    void cancelRequested();

private:
    CommandLine* m_command;
    QLabel* m_summary;
    QPushButton* m_save;
    QPushButton* m_start;
    bool m_canSave = true; ///< any plan
    uint64_t m_writeRate = 0;
};

} // namespace shardscope::ui
