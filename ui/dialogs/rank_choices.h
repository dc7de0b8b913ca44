// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <QAbstractListModel>

#include <optional>

namespace shardscope::ui {

/// Whose elements the reshard picture can follow: a parameter, if one is chosen, and the ranks of the
/// checkpoint before and of the one after. Names are made when they are shown: there may be thousands of
/// ranks.
class RankChoices final : public QAbstractListModel
{
    Q_OBJECT
public:
    enum class Side { Before, After };
    struct Rank {
        Side side = Side::Before;
        uint32_t rank = 0; ///< rank_list.h
    };

    using QAbstractListModel::QAbstractListModel;

    /// Null: the checkpoint has no ranks to follow. Without a parameter afterwards.
    void setCheckpoints(CheckpointPtr before, CheckpointPtr after);
    /// The first choice; empty: none.
    void setParameter(const QString& name);
    /// -1 if it is none of them.
    [[nodiscard]] int rowOf(Rank rank) const;
    /// Nothing for the parameter, and past the end.
    [[nodiscard]] std::optional<Rank> rankAt(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role) const override;

private:
    [[nodiscard]] int ranksOf(Side side) const;
    [[nodiscard]] int ranksFrom() const { return m_parameter.isEmpty() ? 0 : 1; }

    CheckpointPtr m_before;
    CheckpointPtr m_after;
    QString m_parameter;
};

} // namespace shardscope::ui
