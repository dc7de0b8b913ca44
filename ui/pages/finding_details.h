// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "ui/session/findings/finding_groups.h"
#include "ui/session/findings/finding_tree_model.h"
#include "ui/session/findings/finding_ways.h"
#include "ui/style/theme.h"

#include <QWidget>

class QCheckBox;
class QLabel;
class QTextBrowser;

namespace shardscope::ui {

class CommandLine;

/// All facts about one finding, or one kind of findings: the message and place, its meaning, its repair,
/// upstream reports, the command line, and whether it is in the change set.
class FindingDetails : public QWidget
{
    Q_OBJECT
public:
    explicit FindingDetails(Theme& theme, QWidget* parent = nullptr);

    /// Findings of one kind; empty: no selection. `checkpoint` may be null: places have no links then.
    void show(const std::vector<const DoctorFinding*>& findings, const CheckpointPtr& checkpoint);
    void setTicked(bool ticked);
    /// Of the findings on screen; without a reason if nothing is known against their repair.
    void setOutlook(const RepairOutlook& outlook);
    /// Empty if no finding is shown.
    [[nodiscard]] const std::string& code() const { return m_code; }
    [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
    void wayChosen(const shardscope::ui::FindingWay& way);
    void tickChanged(const std::string& code, bool ticked);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showFoot();
    [[nodiscard]] QString headOf(const DoctorFinding& made) const;
    QString listText(const Checkpoint* checkpoint);
    QString findingText(const FindingGroup& alike, const Checkpoint* checkpoint);
    QString linksTo(const Place& where, const Checkpoint* checkpoint);

    static constexpr size_t kMaxShown = 40;
    Theme& m_theme;
    QTextBrowser* m_text;
    CommandLine* m_command;
    QCheckBox* m_tick;
    QLabel* m_whyNot; ///< without text if nothing is known against the repair
    std::vector<FindingWay> m_ways;
    std::string m_code;
    std::vector<DoctorFinding> m_shown; ///< for when the theme changes
    CheckpointPtr m_checkpoint;
};

} // namespace shardscope::ui
