// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/session/findings: the findings that all views show, as groups, trees and links to their places.
// Start with FindingStore.

#include "core/doctor/examine.h"
#include "ui/session/findings/finding_marker.h"
#include "ui/session/value_run.h"

#include <QObject>

#include <array>
#include <memory>

namespace shardscope::ui {

class CheckRun;

/// What is known to be wrong with a checkpoint: the findings of opening it, and those of the check. All views
/// show these, so that they agree at any time. Lives on the GUI thread.
class FindingStore : public QObject
{
    Q_OBJECT
public:
    using Findings = std::shared_ptr<const std::vector<Finding>>;
    using DetailedFindings = std::shared_ptr<const std::vector<DoctorFinding>>;

    /// `run` outlives the store.
    explicit FindingStore(CheckRun& run, QObject* parent = nullptr);

    [[nodiscard]] CheckRun& run() const { return m_run; }
    /// The values of the tensors, which a check of every byte also reads.
    [[nodiscard]] ValueRun& values() const { return m_values; }
    /// What the findings touch.
    [[nodiscard]] FindingMarker& marker() const { return m_marker; }
    /// Whether the check that runs now reads the values of this checkpoint.
    [[nodiscard]] bool isReadingValues(const Checkpoint& checkpoint) const;
    /// Whether the latest check is of this checkpoint, running or ended.
    [[nodiscard]] bool isChecked(const Checkpoint& checkpoint) const;
    /// So far. After the end of its check: the findings of the result, which include those of opening. Never
    /// null. Made once for all views: the same pointers until something changes.
    [[nodiscard]] DetailedFindings detailed(const CheckpointPtr& checkpoint) const;
    [[nodiscard]] Findings of(const CheckpointPtr& checkpoint) const;
    /// Releases the checkpoint and its findings; they are collected again when somebody asks.
    void release();

Q_SIGNALS:
    void changed();

private:
    void takeValues();
    void collect(const CheckpointPtr& checkpoint) const;

    CheckRun& m_run;
    mutable ValueRun m_values;
    mutable FindingMarker m_marker{*this};
    std::shared_ptr<const CheckResult> m_valuesOf; ///< whose values were taken
    mutable CheckpointPtr m_checkpoint; ///< that the following are of
    mutable DetailedFindings m_detailed; ///< null: to be collected
    mutable Findings m_findings;
};

/// By Severity.
std::array<size_t, 3> countBySeverity(const std::vector<DoctorFinding>& findings);

} // namespace shardscope::ui
