// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/summary/next_steps.h"
#include "ui/jobs/latest_only.h"
#include "ui/session/check_run.h"
#include "ui/style/theme.h"

#include <QWidget>

#include <memory>
#include <vector>

class QGridLayout;

namespace shardscope::ui {

/// What can be done next with a checkpoint: a link for each job that can be planned, the reason for each that
/// cannot. The planners are asked on a worker.
class NextStepsList : public QWidget
{
    Q_OBJECT
public:
    NextStepsList(io::FileSystem& files, const Theme& theme, QWidget* parent = nullptr);

    /// `found`: the findings of the check; never null.
    void show(const PlacedCheckpoint& shown, const std::shared_ptr<const std::vector<Finding>>& found);
    /// A line of text in place of the list.
    void showText(const QString& text);
    [[nodiscard]] bool isBusy() const { return m_asker.isRunning(); }
    [[nodiscard]] const std::vector<NextStep>& steps() const { return m_steps; }

Q_SIGNALS:
    void chosen(shardscope::NextStepId step);

private:
    void clear();
    struct Answers {
        std::vector<NextStep> steps;
        bool hasChecksums = false; ///< files can be verified, also without a manifest
    };
    void fill(Answers answers);

    io::FileSystem& m_files;
    const Theme& m_theme;
    QGridLayout* m_grid;
    std::vector<NextStep> m_steps;
    LatestOnly m_asker{WorkLength::Long};
};

} // namespace shardscope::ui
