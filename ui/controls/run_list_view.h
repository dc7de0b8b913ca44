// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/session.h"
#include "ui/style/theme.h"

#include <QWidget>

class QAction;
class QLabel;
class QTableView;

namespace shardscope {
struct TagsAnswer;
}

namespace shardscope::ui {

class MessageBar;
class RunTableModel;

/// The runs of a folder as a table, and what of the folder was not searched. Enter or a double click opens
/// the newest complete tag of a run.
class RunListView : public QWidget
{
    Q_OBJECT
public:
    RunListView(Theme& theme, io::FileSystem& files, QWidget* parent = nullptr);

    /// Null: none. Reads the runs.
    void setFolder(const RunsFolderPtr& folder);
    [[nodiscard]] bool isReading() const;
    void setFilter(const QString& text);
    /// Those of the table that were read, in its order, or in that of `shardscope tags`.
    [[nodiscard]] TagsAnswer shown(bool isSorted) const;

Q_SIGNALS:
    void saveRequested();
    void openRequested(const QByteArray& folder);

private:
    void openCurrent();
    void showNote();

    io::FileSystem& m_files;
    RunsFolderPtr m_folder;
    MessageBar* m_messages;
    RunTableModel* m_model;
    QTableView* m_table;
    QAction* m_save = nullptr;
    QLabel* m_note;
};

} // namespace shardscope::ui
