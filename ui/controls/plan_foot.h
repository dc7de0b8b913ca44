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

/// The foot of a dialog that writes files: its command line, the plan's read and write sizes, Start and
/// Cancel.
class PlanFoot : public QWidget
{
    Q_OBJECT
public:
    /// Object names of its parts begin with `prefix`.
    PlanFoot(Theme& theme, const QString& prefix, QWidget* parent = nullptr);

    void setCommand(const QString& command);
    void showPlanning();
    /// Null: there is no plan.
    void showPlan(const WritePlan* plan, const std::optional<uint64_t>& freeBytes, bool canStart);
    [[nodiscard]] QPushButton* startButton() const { return m_start; }

Q_SIGNALS:
    void startRequested();
    void cancelRequested();

private:
    CommandLine* m_command;
    QLabel* m_summary;
    QPushButton* m_start;
};

} // namespace shardscope::ui
