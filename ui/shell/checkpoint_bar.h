// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/selection_history.h"
#include "ui/session/session.h"

#include <QTabBar>

#include <optional>
#include <vector>

class QStyleOptionTab;
class QToolButton;

namespace shardscope::ui {

class Theme;

/// A checkpoint that is open in a window, and what was seen of it last.
struct OpenEntry {
    ReadCheckpoint read;
    HistoryPlace place;
    uint64_t lastShown = 0; ///< a counter
};

/// The checkpoints that are open in a window, a tab each. It is hidden while there is one: then it would only
/// take room. The current tab is what the window shows. With little room a tab says what differs from the
/// other tabs; with less, the tabs scroll. GUI thread only.
class CheckpointBar : public QTabBar
{
    Q_OBJECT
public:
    /// Each keeps what was read of it in memory; opening more closes the one that was left longest ago.
    static constexpr size_t kMostOpen = 8;

    CheckpointBar(const Theme& theme, QWidget* parent);

    /// The window shows `read` now. It gets the tab of the same checkpoint if there is one, else the current
    /// tab if `replaces`, else a new one. Returns what was seen of it last, if it had a tab.
    std::optional<HistoryPlace> take(ReadCheckpoint read, bool replaces);
    /// The current checkpoint was read more deeply, or again.
    void refine(ReadCheckpoint read);
    /// The place in the current checkpoint that is shown when its tab is chosen again.
    void leave(HistoryPlace place);
    /// Removes a tab. Does not change what the window shows.
    void remove(int tab);
    [[nodiscard]] const OpenEntry& entry(int tab) const { return m_entries[static_cast<size_t>(tab)]; }
    [[nodiscard]] QString name(int tab) const;
    /// What is written on the tab.
    [[nodiscard]] QString shownText(int tab) const;

Q_SIGNALS:
    /// The user chose a tab; the current one is the former until take().
    void chosen(int tab);

protected:
    [[nodiscard]] QSize minimumTabSizeHint(int tab) const override;
    void initStyleOption(QStyleOptionTab* option, int tab) const override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    void showCurrent(size_t entry);
    void describe(size_t entry);
    /// The words of the name that the other tabs do not have.
    [[nodiscard]] QString shortName(int tab) const;
    /// The name as it is written in so many pixels.
    [[nodiscard]] QString fitted(int tab, int width) const;
    [[nodiscard]] QToolButton* makeCloseButton();

    const Theme& m_theme;
    std::vector<OpenEntry> m_entries; ///< by tab
    uint64_t m_clock = 0;
    bool m_changing = false; ///< by the window, not by the user
    int m_shown = -1;
};

} // namespace shardscope::ui
