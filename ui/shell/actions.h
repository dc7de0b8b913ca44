// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/pages/page.h"

#include <QList>

#include <array>
#include <vector>

class QAction;
class QActionGroup;
class QMenuBar;
class QWidget;

namespace shardscope::ui {

/// Every action of the window, created in one place: text, key, icon, object name. The creator connects them.
struct Actions {
    QAction* open = nullptr;
    QAction* openFile = nullptr;
    QAction* newWindow = nullptr;
    QAction* addFolder = nullptr;
    QAction* reload = nullptr;
    QAction* close = nullptr;
    QAction* quit = nullptr;
    QAction* back = nullptr;
    QAction* forward = nullptr;
    QAction* find = nullptr;
    QAction* goTo = nullptr;
    QAction* palette = nullptr;
    QAction* quickOpen = nullptr;
    QAction* pageWindow = nullptr;
    QAction* nextPane = nullptr;
    QAction* previousPane = nullptr;
    QAction* nextOpen = nullptr; ///< checkpoint
    QAction* previousOpen = nullptr;
    QAction* reshard = nullptr;
    QAction* exportWeights = nullptr;
    QList<QAction*> pages; ///< in the order of the tabs
    /// One that a page has registered.
    struct OfPage {
        PageId page = PageId::Overview;
        const PageAction* what = nullptr;
        QAction* action = nullptr;
    };
    std::vector<OfPage> ofPages; ///< in the order of the tabs
    std::array<QAction*, 4> themes{}; ///< by ThemeMode
    QActionGroup* themeGroup = nullptr;
    QAction* largerText = nullptr;
    QAction* smallerText = nullptr;
    QAction* normalText = nullptr;
    QAction* fullScreen = nullptr;
    QAction* resetLayout = nullptr;
    QAction* manual = nullptr;
    QAction* shortcuts = nullptr;
    QAction* about = nullptr;

    /// In the order of the shortcut sheet.
    [[nodiscard]] QList<QAction*> all() const;
    /// The actions of the command palette: all enabled ones.
    [[nodiscard]] QList<QAction*> offered() const;
    /// What pages have in a menu, those of the last page first.
    [[nodiscard]] QList<QAction*> of(PageAction::Menu menu) const;
    /// Enables the actions that need an open checkpoint. `isSwap`: only a swap folder is open, which needs a
    /// checkpoint of its run.
    void setOpen(bool open, bool canReshard, bool canExport, bool isSwap) const;
};

Actions makeActions(const Theme& theme, QWidget* parent);

} // namespace shardscope::ui
