// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"
#include "ui/jobs/latest_only.h"
#include "ui/style/settings.h"
#include "ui/style/theme.h"

#include <QWidget>

class QAction;
class QLabel;
class QListWidget;
class QListWidgetItem;
class QPushButton;

namespace shardscope::ui {

class ElidedLabel;
class MessageBar;

/// "/runs/llama · global_step100"
[[nodiscard]] QString openedText(const OpenedEntry& entry);
/// What it is opened with: "with folder node1", "as ZeRO-2"; empty for most.
[[nodiscard]] QString openedWithText(const OpenedEntry& entry);

/// The page without an open checkpoint: the drop area, recent checkpoints, and why opening failed.
class StartPage : public QWidget
{
    Q_OBJECT
public:
    StartPage(Theme& theme, Settings& settings, QWidget* parent = nullptr);

    void showError(const Error& error);
    void showOpening(const QString& path);
    void clearMessages();
    [[nodiscard]] MessageBar* messageBar() const { return m_messages; }
    [[nodiscard]] QListWidget* recentList() const { return m_recent; }
    /// Highlights the drop area while files are dragged over the window.
    void setDropTarget(bool lit);

Q_SIGNALS:
    void openRequested();
    void sampleRequested();
    void manualRequested();
    void recentRequested(const shardscope::ui::OpenedEntry& entry);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void makeLayout(QLabel* note);
    QWidget* makeFirstSteps();
    void fillRecent();
    void markMissing(const QList<bool>& exists);
    /// Of the row; null for none.
    [[nodiscard]] const RecentEntry* entryAt(int row) const;
    void makeRecentActions();

    Theme& m_theme;
    Settings& m_settings;
    MessageBar* m_messages;
    QWidget* m_dropArea;
    ElidedLabel* m_hint;
    QPushButton* m_open;
    QLabel* m_recentTitle;
    QListWidget* m_recent;
    QList<RecentEntry> m_entries; ///< of the list
    QAction* m_pin = nullptr;
    bool m_lit = false;
    LatestOnly m_finder{WorkLength::Long};
};

} // namespace shardscope::ui
