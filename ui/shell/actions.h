// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QList>

#include <array>

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
    QAction* saveMap = nullptr;
    QAction* copyMap = nullptr;
    QAction* compare = nullptr;
    QAction* nextDifference = nullptr;
    QAction* previousDifference = nullptr;
    QAction* nextPane = nullptr;
    QAction* previousPane = nullptr;
    QAction* nextOpen = nullptr; ///< checkpoint
    QAction* previousOpen = nullptr;
    QAction* check = nullptr;
    QAction* reshard = nullptr;
    QAction* exportWeights = nullptr;
    QList<QAction*> pages; ///< in the order of the tabs
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
    /// Enables the actions that need an open checkpoint. `isSwap`: only a swap folder is open, which needs a
    /// checkpoint of its run.
    void setOpen(bool open, bool canReshard, bool canExport, bool isSwap) const;
    void setDifferences(bool any) const;
};

Actions makeActions(const Theme& theme, QWidget* parent);

} // namespace shardscope::ui
