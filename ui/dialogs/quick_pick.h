// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/models/parameters/picks.h"
#include "ui/style/theme.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QTreeWidget;

namespace shardscope::ui {

/// Type a few letters, choose with the arrows, press Enter: the command palette and the parameter finder.
/// Opens over the upper part of its parent; Esc and a click elsewhere close it.
class QuickPick : public QDialog
{
    Q_OBJECT
public:
    QuickPick(Theme& theme, const QString& title, const QString& hint, PickFinder finder, QWidget* parent);

    [[nodiscard]] bool isBusy() const { return m_runner.isRunning(); }

Q_SIGNALS:
    void picked(quint32 id);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void find();
    void show(PickList picks);
    void choose();

    PickFinder m_finder;
    QLineEdit* m_text;
    QTreeWidget* m_list;
    QLabel* m_none;
    bool m_chooseWhenFound = false; ///< Enter was pressed before the results arrived
    LatestOnly m_runner{WorkLength::Short};
};

} // namespace shardscope::ui
