// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/clean.h"
#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"

#include <QDialog>

#include <vector>

class QLabel;
class QPushButton;
class QTreeWidget;

namespace shardscope::ui {

class MessageBar;
class PathField;

/// Lists what interrupted jobs left in a folder, and removes what is abandoned. The rest is kept, with its
/// reason.
class CleanDialog : public QDialog
{
    Q_OBJECT
public:
    /// `folder`: to begin with; may be empty.
    CleanDialog(io::FileSystem& files, Theme& theme, const io::Path& folder, QWidget* parent = nullptr);

    [[nodiscard]] bool isBusy() const { return m_worker.isRunning(); }

private:
    void makeLayout();
    /// Lists the folder of the field, and removes what is abandoned in it before.
    void look(bool removes);
    void show(const std::vector<CleanEntry>& entries, bool removed);

    io::FileSystem& m_files;
    PathField* m_folder;
    MessageBar* m_messages;
    QTreeWidget* m_list;
    QLabel* m_summary;
    QPushButton* m_remove;
    LatestOnly m_worker{WorkLength::Long};
};

} // namespace shardscope::ui
