// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/session/runs/tag_rows.h"
#include "ui/style/theme.h"

#include <QWidget>

class QAction;
class QComboBox;
class QLabel;
class QTableView;

namespace shardscope {
struct TagsAnswer;
}

namespace shardscope::ui {

class MessageBar;
class Timeline;

/// The tags of the open run as a timeline, and as a table of the same; one of them is current in both.
class TagHistory : public QWidget
{
    Q_OBJECT
public:
    TagHistory(Theme& theme, TagStore& store, QWidget* parent = nullptr);

    /// Null: none is open. The tags are read as soon as they are looked at and `checkpoint` itself is read.
    void setCheckpoint(const CheckpointPtr& checkpoint);
    void setFilter(const QString& text);
    /// Those of the table that were read, in its order, or in that of `shardscope tags`.
    [[nodiscard]] TagsAnswer shown(bool isSorted) const;

Q_SIGNALS:
    void saveRequested();
    void openRequested(const QByteArray& folder);
    void compareRequested(const QString& folder);
    void reshardRequested(const QByteArray& folder);

protected:
    void showEvent(QShowEvent* event) override;

private:
    enum class Axis { Step, Date, Order };

    void makeActions(Theme& theme);
    void makeLayout();
    void connectWidgets();
    void want();
    void refresh();
    void showTimeline();
    void showSummary();
    void updateActions();
    void setCurrent(int tag);
    [[nodiscard]] int currentTag() const;
    [[nodiscard]] io::Path folderOf(const TagRow& tag) const;
    [[nodiscard]] Axis axis() const;

    TagStore& m_store;
    CheckpointPtr m_checkpoint;
    MessageBar* m_messages;
    QLabel* m_summary;
    QComboBox* m_axis;
    Timeline* m_timeline;
    TagTableModel* m_model;
    QTableView* m_table;
    QAction* m_open = nullptr;
    QAction* m_compare = nullptr;
    QAction* m_reshard = nullptr;
    QAction* m_save = nullptr;
    QLabel* m_note;
    std::string m_current; ///< the name of the current tag, which keeps its place when others are read
};

} // namespace shardscope::ui
