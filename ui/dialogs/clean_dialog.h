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
    [[nodiscard]] bool isRemoving() const { return m_isRemoving; }
    /// A removal goes on without the dialog, which is deleted at its end.
    void done(int result) override;

Q_SIGNALS:
    /// The end of a removal whose dialog was closed.
    void removed(const QString& text);
    void failed(const shardscope::Error& error);

private:
    void makeLayout();
    [[nodiscard]] io::Path folder() const;
    /// Lists the folder of the field.
    void look();
    /// Removes what is listed as abandoned, and nothing else.
    void remove();
    void endRemoval(const Result<std::vector<CleanEntry>>& entries);
    void showEntries(const std::vector<CleanEntry>& entries, bool removed);

    io::FileSystem& m_files;
    io::Path m_begin; ///< the folder until it is edited
    PathField* m_folder;
    MessageBar* m_messages;
    QTreeWidget* m_list;
    QLabel* m_summary;
    QPushButton* m_remove;
    std::vector<UnfinishedWork> m_abandoned; ///< as listed
    bool m_isRemoving = false;
    LatestOnly m_worker{WorkLength::Long};
};

} // namespace shardscope::ui
