// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/summary/next_steps.h"
#include "ui/pages/page.h"

#include <QList>

#include <string>
#include <vector>

class QAction;
class QWidget;

namespace shardscope::ui {

/// The window's own actions, by groups in the order of the shortcut sheet.
enum class ActionId : uint8_t {
    Open,
    OpenFile,
    OpenHost,
    NewWindow,
    AddFolder,
    SaveSkeleton,
    Clean,
    Reload,
    Close,
    Back,
    Forward,
    Find,
    Palette,
    PageWindow,
    NextPane,
    PreviousPane,
    NextOpen, ///< checkpoint
    PreviousOpen,
    Verify,
    Fingerprint,
    Reshard,
    Convert,
    Export,
    CopyCommand,
    FullScreen,
    Manual,
    Shortcuts,
    Settings,
    Quit,
    ThemeSystem, ///< the themes as in ThemeMode
    ThemeLight,
    ThemeDark,
    ThemeHighContrast,
    ResetLayout,
    About,
    LargerText,
    SmallerText,
    NormalText,
};

/// Every action of the window, created in one place: text, key, icon, object name. The creator connects them.
class Actions
{
public:
    Actions(const Theme& theme, QWidget* parent);

    /// One that a page has registered.
    struct OfPage {
        PageId page = PageId::Overview;
        const PageAction* what = nullptr;
        QAction* action = nullptr;
    };

    [[nodiscard]] QAction* operator[](ActionId id) const { return m_own[static_cast<qsizetype>(id)]; }
    /// In the order of the tabs.
    [[nodiscard]] const QList<QAction*>& pages() const { return m_pages; }
    [[nodiscard]] const std::vector<OfPage>& ofPages() const { return m_ofPages; }
    /// By ThemeMode.
    [[nodiscard]] QList<QAction*> themes() const;
    /// In the order of the shortcut sheet.
    [[nodiscard]] QList<QAction*> all() const;
    /// The actions of the command palette: all enabled ones.
    [[nodiscard]] QList<QAction*> offered() const;
    /// What pages have in a menu, those of the last page first.
    [[nodiscard]] QList<QAction*> of(PageAction::Menu menu) const;
    /// Enables the actions that need an open checkpoint. `isSwap`: only a swap folder is open, which needs a
    /// checkpoint of its run.
    void setOpen(bool open, bool canReshard, bool canExport, bool isSwap) const;
    /// After setOpen(true, …): all files were read. The reasons become tool tips.
    void setRead(const ReadingJobs& jobs) const;
    /// After setOpen(false, …): a folder of runs is open, and no checkpoint.
    void setRunsOpen() const;

private:
    void setPossible(ActionId id, const std::string& whyNot) const;
    [[nodiscard]] QList<QAction*> range(ActionId first, ActionId last) const;

    QList<QAction*> m_own; ///< by id
    QList<QAction*> m_pages;
    std::vector<OfPage> m_ofPages; ///< in the order of the tabs
};

} // namespace shardscope::ui
