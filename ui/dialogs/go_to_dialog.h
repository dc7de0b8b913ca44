// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/models/selection.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;

namespace shardscope::ui {

/// Takes an address in any spelling, or a parameter's name, and shows at once whether it exists.
class GoToDialog : public QDialog
{
    Q_OBJECT
public:
    GoToDialog(CheckpointPtr checkpoint, Selection& selection, QWidget* parent = nullptr);

    /// Another snapshot to find places in; null closes the dialog.
    void setCheckpoint(const CheckpointPtr& checkpoint);

private:
    void check();
    void go();

    CheckpointPtr m_checkpoint;
    Selection& m_selection;
    QLineEdit* m_address;
    QLabel* m_answer;
    QPushButton* m_go;
};

} // namespace shardscope::ui
