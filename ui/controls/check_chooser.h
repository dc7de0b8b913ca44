// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <QDialog>

class QTreeWidget;

namespace shardscope::ui {

/// The checks by the depth that they need, each with a tick; a depth says what it reads and how long it took.
class CheckChooser : public QDialog
{
    Q_OBJECT
public:
    /// `checkpoint`: the one to check, for the bytes that a depth reads; null: none. `tiers`: of its last
    /// check. `skipped`: codes without a tick.
    CheckChooser(const Checkpoint* checkpoint, const std::array<TierFacts, 4>& tiers,
        const std::vector<std::string>& skipped, QWidget* parent = nullptr);

    /// Codes without a tick.
    [[nodiscard]] std::vector<std::string> skipped() const;

Q_SIGNALS:
    /// OK was pressed.
    void chosen(const std::vector<std::string>& skipped);

private:
    void fill(const Checkpoint* checkpoint, const std::array<TierFacts, 4>& tiers,
        const std::vector<std::string>& skipped);
    void tickAll();

    QTreeWidget* m_tree;
};

} // namespace shardscope::ui
