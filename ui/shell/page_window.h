// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/pages/page.h"

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
    /// Takes the page.
    void setPage(Page* page, const PageEntry& entry);
    [[nodiscard]] Page* page() const { return m_page; }
    [[nodiscard]] const QString& pageName() const { return m_name; } ///< of its entry
    [[nodiscard]] bool isPinned() const;
    void setPinned(bool pinned);

private:
    void showCheckpoint(const CheckpointPtr& checkpoint, bool refined);

    Session& m_session;
    Selection m_selection;
    CheckpointPtr m_checkpoint;
    QVBoxLayout* m_rows;
    QToolButton* m_pin;
    Page* m_page = nullptr;
    QString m_title;
    QString m_name;
};

} // namespace shardscope::ui
