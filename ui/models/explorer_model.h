// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/explorer_marks.h"
#include "ui/models/explorer_tree.h"

#include <QAbstractItemModel>

namespace shardscope::ui {

/// The Explorer's tree for a view: columns are label and size. Shows snapshots made by ExplorerTree::build().
class ExplorerModel : public QAbstractItemModel
{
    Q_OBJECT
public:
    using QAbstractItemModel::QAbstractItemModel;

    void setTree(CheckpointPtr checkpoint, ExplorerTreePtr tree);
    [[nodiscard]] const ExplorerTreePtr& tree() const { return m_tree; }
    /// Findings of the check for the tree's lines; null: not checked.
    void setMarks(ExplorerMarksPtr marks);
    [[nodiscard]] const ExplorerNode* nodeAt(const QModelIndex& at) const;
    [[nodiscard]] QModelIndex indexOf(ExplorerKind kind, uint32_t id) const;
    /// The dotted name of a module or parameter.
    [[nodiscard]] QString fullName(const QModelIndex& at) const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& at, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] uint32_t numberOf(const QModelIndex& at) const
    {
        return at.isValid() ? static_cast<uint32_t>(at.internalId()) : 0;
    }
    [[nodiscard]] QString labelOf(const ExplorerNode& node) const;
    [[nodiscard]] QString toolTipOf(uint32_t number) const;
    [[nodiscard]] int severityOf(uint32_t number) const;

    CheckpointPtr m_checkpoint;
    ExplorerTreePtr m_tree;
    ExplorerMarksPtr m_marks;
};

} // namespace shardscope::ui
