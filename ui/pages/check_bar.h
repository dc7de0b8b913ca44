// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/diagnosis.h"
#include "ui/session/check_run.h"
#include "ui/style/theme.h"

#include <QWidget>

#include <array>

class QComboBox;
class QPushButton;
class QToolButton;

namespace shardscope::ui {

class ElidedLabel;

/// The head of the Findings page: Check and its depth, the time of each tier, severities to show, reports to
/// save.
class CheckBar : public QWidget
{
    Q_OBJECT
public:
    explicit CheckBar(Theme& theme, QWidget* parent = nullptr);

    /// `checkpoint`: the one to check; null: none. `counts`: of its findings, by Severity.
    void show(const CheckRun& run, const CheckpointPtr& checkpoint, const std::array<size_t, 3>& counts);
    void showProgress(const CheckRun& run);
    [[nodiscard]] CheckDepth depth() const;
    void setDepth(CheckDepth depth);
    /// Codes of the diagnoses that are left out.
    [[nodiscard]] const std::vector<std::string>& skipped() const { return m_skipped; }
    /// The use that is checked for.
    [[nodiscard]] const CheckTarget& target() const { return m_target; }
    void setSkipped(const std::vector<std::string>& codes);

Q_SIGNALS:
    void checkRequested();
    void stopRequested();
    void shownChanged(shardscope::Severity severity, bool shown);
    void saveRequested(shardscope::ui::CheckReport form);

private:
    QWidget* makeChips(Theme& theme);
    void makeSaveMenu();
    void choose();
    void chooseTarget();
    void setTarget(const CheckTarget& target);

    CheckpointPtr m_checkpoint;
    std::array<size_t, 3> m_counts{}; ///< of its findings, by Severity
    std::array<TierFacts, 4> m_tiers{}; ///< of the last check
    std::vector<std::string> m_skipped;
    CheckTarget m_target;
    QPushButton* m_check;
    QComboBox* m_depth;
    QToolButton* m_choose;
    QToolButton* m_for;
    QPushButton* m_stop;
    ElidedLabel* m_facts;
    QToolButton* m_save;
    std::array<QToolButton*, 3> m_chips{}; ///< by Severity
};

} // namespace shardscope::ui
