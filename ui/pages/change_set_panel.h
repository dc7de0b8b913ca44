// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/session/plans/donor_list.h"
#include "ui/session/plans/repair_preview.h"
#include "ui/style/theme.h"

#include <QFrame>
#include <QTimer>

#include <optional>
#include <set>

class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;

namespace shardscope::ui {

class CommandLine;
class MessageBar;

/// The changes of the ticked fixes, before any file is written: the sources of lost values to choose from,
/// the plan's changes one by one, and the folder of the copy, which need not exist. Takes no space while no
/// fix is ticked.
class ChangeSetPanel : public QFrame
{
    Q_OBJECT
public:
    ChangeSetPanel(io::FileSystem& files, Theme& theme, QWidget* parent = nullptr);

    void setPlace(const CheckPlace& place);
    void setFixes(const std::set<std::string>& codes);
    [[nodiscard]] const PlanPreview& preview() const { return m_preview; }
    [[nodiscard]] bool isBusy() const
    {
        return m_planner.isRunning() || m_pause.isActive() || m_donorFinder.isRunning();
    }
    /// Has the plan on screen run into this run folder.
    void apply(const QString& folder);
    /// The folder of the copy.
    void setTarget(const QString& folder);

Q_SIGNALS:
    /// A plan, or the reason for its absence, is shown or was taken away.
    void planChanged(std::optional<bool> isPossible);
    void applyRequested(const std::shared_ptr<const shardscope::WritePlan>& plan, const QString& folder);

private:
    QWidget* makeChoices();
    [[nodiscard]] RepairOptions options() const;
    void planSoon();
    void plan();
    void show(PlanPreview preview);
    /// Lists the run's other tags, and what each can give.
    void listDonors();
    void showDonors(const std::vector<DonorChoice>& donors);
    [[nodiscard]] QString target() const;

    io::FileSystem& m_files;
    CheckPlace m_place;
    std::set<std::string> m_codes;
    QLabel* m_title;
    QComboBox* m_masters;
    QComboBox* m_moments;
    QComboBox* m_donors;
    QLineEdit* m_donor; ///< of m_donors
    QLineEdit* m_values;
    QLineEdit* m_target;
    QWidget* m_choices;
    QListWidget* m_changes;
    MessageBar* m_messages;
    CommandLine* m_command;
    QPushButton* m_apply;
    PlanPreview m_preview;
    QTimer m_pause;
    bool m_donorsListed = false; ///< of the present place
    LatestOnly m_planner{WorkLength::Long};
    LatestOnly m_donorFinder{WorkLength::Long};
};

} // namespace shardscope::ui
