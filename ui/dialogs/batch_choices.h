// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/reshard/reshard.h"

#include <QWidget>

class QLabel;
class QListWidget;
class QPushButton;

namespace shardscope::ui {

/// The pairs of micro-batch and accumulation steps that keep the global batch of a run on another number of
/// GPUs, with the lines of ds_config for the selected pair to copy.
class BatchChoices : public QWidget
{
    Q_OBJECT
public:
    explicit BatchChoices(QWidget* parent = nullptr);

    /// `dataRanks`: data-parallel ranks of the target. `recorded`: the global batch of the source run. A null
    /// plan empties it.
    void setPlan(const WritePlan* plan, uint32_t dataRanks, std::optional<uint64_t> recorded);
    /// The lines for the selected pair; empty if there is none.
    [[nodiscard]] QString configLines() const;

private:
    void copy() const;

    QLabel* m_about;
    QListWidget* m_pairs;
    QPushButton* m_copy;
    std::vector<BatchPair> m_values;
    uint32_t m_dataRanks = 1;
};

} // namespace shardscope::ui
