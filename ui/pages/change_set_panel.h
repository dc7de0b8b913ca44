// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/models/plans/repair_preview.h"
#include "ui/style/theme.h"

#include <QFrame>
#include <QTimer>

#include <set>

class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;

namespace shardscope::ui {

class CommandLine;
class MessageBar;

/// The changes of the ticked fixes, before any file is written: the plan's changes one by one, the source of
/// lost values, and Apply to a copy. Takes no space while no fix is ticked.
class ChangeSetPanel : public QFrame
{
    Q_OBJECT
public:
    ChangeSetPanel(io::FileSystem& files, Theme& theme, QWidget* parent = nullptr);

    void setPlace(const CheckPlace& place);
    void setFixes(const std::set<std::string>& codes);
    [[nodiscard]] const RepairPreview& preview() const { return m_preview; }
    [[nodiscard]] bool isBusy() const { return m_planner.isRunning() || m_pause.isActive(); }
    /// Has the plan on screen run into this run folder.
    void apply(const QString& folder);

Q_SIGNALS:
    void applyRequested(const std::shared_ptr<const shardscope::RepairPlan>& plan, const QString& folder);

private:
    QWidget* makeChoices();
    [[nodiscard]] RepairOptions options() const;
    void planSoon();
    void plan();
    void show(RepairPreview preview);
    void askWhere();

    io::FileSystem& m_files;
    CheckPlace m_place;
    std::set<std::string> m_codes;
    QLabel* m_title;
    QComboBox* m_masters;
    QComboBox* m_moments;
    QLineEdit* m_donor;
    QLineEdit* m_values;
    QWidget* m_choices;
    QListWidget* m_changes;
    MessageBar* m_messages;
    CommandLine* m_command;
    QPushButton* m_apply;
    RepairPreview m_preview;
    QTimer m_pause;
    LatestOnly m_planner{WorkLength::Long};
};

} // namespace shardscope::ui
