// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/session.h"
#include "ui/style/theme.h"

#include <QWidget>

#include <functional>

class QToolButton;
class QVBoxLayout;

namespace shardscope::ui {

/// One page in its own window, besides the main window.
///
/// It shows the session's checkpoint and the shared selection. Pinned, it has its own selection: it does not
/// follow other windows, and clicks in it do not change them. Opening another checkpoint unpins it.
class PageWindow : public QWidget
{
    Q_OBJECT
public:
    PageWindow(Session& session, Theme& theme, QWidget* parent);

    /// The objects for creating the page.
    [[nodiscard]] Selection& selection() { return m_selection; }
    /// Takes the page; `showCheckpoint` passes a checkpoint to it.
    void setPage(QWidget* page, const QString& title,
        std::function<void(const CheckpointPtr& checkpoint)> showCheckpoint);
    [[nodiscard]] QWidget* page() const { return m_page; }
    [[nodiscard]] bool isPinned() const;
    void setPinned(bool pinned);

private:
    void showCheckpoint(const CheckpointPtr& checkpoint, bool refined);

    Session& m_session;
    Selection m_selection;
    CheckpointPtr m_checkpoint;
    QVBoxLayout* m_rows;
    QToolButton* m_pin;
    QWidget* m_page = nullptr;
    QString m_title;
    std::function<void(const CheckpointPtr& checkpoint)> m_show;
};

} // namespace shardscope::ui
