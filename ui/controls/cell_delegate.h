// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QStyledItemDelegate>

namespace shardscope::ui {

/// Paints the cells of all tables and trees: a share bar behind sizes (ShareRole), a small map (WhereRole), a
/// small line (SparkRole), a coloured mark for problems (SeverityRole, also as a shape), muted text
/// (MutedRole), names elided in the middle because their end is important.
class CellDelegate : public QStyledItemDelegate
{
    Q_OBJECT
public:
    explicit CellDelegate(const Theme& theme, QObject* parent = nullptr);

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& at) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& at) const override;

private:
    void paintShare(QPainter* painter, const QStyleOptionViewItem& option, double share) const;
    void paintWhere(
        QPainter* painter, const QStyleOptionViewItem& option, const QVariantList& segments) const;
    void paintSpark(QPainter* painter, const QStyleOptionViewItem& option, const QVariantList& values) const;
    int paintSeverity(QPainter* painter, const QStyleOptionViewItem& option, int severity) const;

    const Theme& m_theme;
};

} // namespace shardscope::ui
