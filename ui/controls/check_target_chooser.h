// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <QDialog>

class QComboBox;
class QSpinBox;

namespace shardscope::ui {

class PathField;

/// Asks for what a checkpoint shall be used: the check then also finds what prevents this use.
class CheckTargetChooser : public QDialog
{
    Q_OBJECT
public:
    explicit CheckTargetChooser(const CheckTarget& target, QWidget* parent = nullptr);

Q_SIGNALS:
    void chosen(const shardscope::CheckTarget& target);

private:
    [[nodiscard]] CheckTarget target() const;

    QSpinBox* m_ranks;
    QComboBox* m_stage;
    QSpinBox* m_memory; ///< GiB
    PathField* m_disk;
};

} // namespace shardscope::ui
