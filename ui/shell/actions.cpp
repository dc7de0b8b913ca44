// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/actions.h"

#include "ui/style/icons.h"

#include <QAction>
#include <QActionGroup>
#include <QWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Makes the actions of one window.
struct Maker {
    const Theme& theme;
    QWidget* parent;

    QAction* operator()(const QString& name, const QString& text, const QList<QKeySequence>& keys,
        const QString& icon = {}) const
    {
        auto* action = new QAction(text, parent);
        action->setObjectName(name);
        action->setShortcuts(keys);
        if (!icon.isEmpty())
            action->setIcon(themedIcon(theme, icon));
        QString tip = action->text().remove(u'&').remove(u"…"_s);
        if (!keys.isEmpty())
            tip += u" ("_s % keys.first().toString(QKeySequence::NativeText) % u')';
        action->setToolTip(tip);
        parent->addAction(action);
        return action;
    }
};

void addCheckpointActions(Actions& actions, const Maker& make)
{
    actions.open = make(u"actionOpen"_s, u"&Open Folder…"_s, {QKeySequence::Open}, u"open"_s);
    actions.newWindow = make(u"actionNewWindow"_s, u"&New Window"_s, {Qt::CTRL | Qt::ALT | Qt::Key_N});
    actions.openFile
        = make(u"actionOpenFile"_s, u"Open &File…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_O}, u"file"_s);
    actions.addFolder = make(u"actionAddFolder"_s, {}, {Qt::CTRL | Qt::ALT | Qt::Key_O}, u"open"_s);
    actions.reload = make(u"actionReload"_s, u"&Reload"_s, {Qt::Key_F5}, u"reload"_s);
    actions.close = make(u"actionClose"_s, u"&Close Checkpoint"_s, {Qt::CTRL | Qt::Key_W});
    actions.quit = make(u"actionQuit"_s, u"&Quit"_s, {Qt::CTRL | Qt::Key_Q});
}

void addNavigationActions(Actions& actions, const Maker& make)
{
    actions.back = make(u"actionBack"_s, u"&Back"_s, {Qt::ALT | Qt::Key_Left}, u"back"_s);
    actions.forward = make(u"actionForward"_s, u"&Forward"_s, {Qt::ALT | Qt::Key_Right}, u"forward"_s);
    actions.find = make(u"actionFind"_s, u"F&ilter"_s, {QKeySequence::Find}, u"search"_s);
    actions.goTo = make(u"actionGoTo"_s, u"&Go to Address…"_s, {Qt::CTRL | Qt::Key_G}, u"target"_s);
    actions.palette = make(u"actionPalette"_s, u"Command &Palette…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_P});
    actions.quickOpen
        = make(u"actionQuickOpen"_s, u"Find P&arameter…"_s, {Qt::CTRL | Qt::Key_P}, u"parameter"_s);
    actions.pageWindow
        = make(u"actionPageWindow"_s, u"Open Page in Own &Window"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_N});
    actions.nextPane = make(u"actionNextPane"_s, u"&Next Pane"_s, {Qt::Key_F6});
    actions.previousPane = make(u"actionPreviousPane"_s, u"Pre&vious Pane"_s, {Qt::SHIFT | Qt::Key_F6});
    actions.nextOpen = make(u"actionNextOpen"_s, u"Next Open Chec&kpoint"_s, {Qt::CTRL | Qt::Key_PageDown});
    actions.previousOpen
        = make(u"actionPreviousOpen"_s, u"Previo&us Open Checkpoint"_s, {Qt::CTRL | Qt::Key_PageUp});
}

void addJobActions(Actions& actions, const Maker& make)
{
    actions.reshard
        = make(u"actionReshard"_s, u"&Reshard…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_R}, u"reshard"_s);
    actions.exportWeights
        = make(u"actionExport"_s, u"&Export…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_E}, u"export"_s);
    actions.reshard->setIconText(u"Reshard"_s);
    actions.exportWeights->setIconText(u"Export"_s);
}

void addPageActions(Actions& actions, const Maker& make)
{
    int key = Qt::Key_1;
    for (const PageEntry& page : pageList())
        actions.pages.append(make(page.actionName, page.menuText,
            {QKeySequence(QKeyCombination(Qt::CTRL, static_cast<Qt::Key>(key++)))}, page.icon));
    for (const PageEntry& page : pageList())
        for (const PageAction& action : page.actions)
            actions.ofPages.push_back(
                {page.id, &action, make(action.name, action.text, action.keys, action.icon)});
}

void addViewActions(Actions& actions, const Maker& make)
{
    actions.themeGroup = new QActionGroup(make.parent);
    const std::array themeNames
        = {u"actionThemeSystem"_s, u"actionThemeLight"_s, u"actionThemeDark"_s, u"actionThemeHighContrast"_s};
    const std::array themeTexts = {u"Like the D&esktop"_s, u"&Light"_s, u"&Dark"_s, u"&High Contrast"_s};
    for (size_t i = 0; i < actions.themes.size(); ++i) {
        actions.themes[i] = make(themeNames[i], themeTexts[i], {});
        actions.themes[i]->setCheckable(true);
        actions.themeGroup->addAction(actions.themes[i]);
    }
    actions.largerText
        = make(u"actionLargerText"_s, u"Lar&ger Text"_s, {QKeySequence::ZoomIn, Qt::CTRL | Qt::Key_Equal});
    actions.smallerText = make(u"actionSmallerText"_s, u"&Smaller Text"_s, {QKeySequence::ZoomOut});
    actions.normalText = make(u"actionNormalText"_s, u"Te&xt of Normal Size"_s, {Qt::CTRL | Qt::Key_0});
    actions.fullScreen = make(u"actionFullScreen"_s, u"F&ull Screen"_s, {Qt::Key_F11});
    actions.fullScreen->setCheckable(true);
    actions.resetLayout = make(u"actionResetLayout"_s, u"Reset &Layout"_s, {});
    actions.manual = make(u"actionManual"_s, u"&Manual"_s, {Qt::Key_F1}, u"info"_s);
    actions.shortcuts = make(u"actionShortcuts"_s, u"&Keyboard Shortcuts"_s,
        {Qt::CTRL | Qt::Key_F1, Qt::Key_Question}, u"keyboard"_s);
    actions.about = make(u"actionAbout"_s, u"&About Shardscope"_s, {});
}

} // namespace

Actions makeActions(const Theme& theme, QWidget* parent)
{
    const Maker make{theme, parent};
    Actions actions;
    addCheckpointActions(actions, make);
    addNavigationActions(actions, make);
    addJobActions(actions, make);
    addPageActions(actions, make);
    addViewActions(actions, make);
    actions.setOpen(false, false, false, false);
    actions.nextOpen->setEnabled(false);
    actions.previousOpen->setEnabled(false);
    actions.back->setEnabled(false);
    actions.forward->setEnabled(false);
    return actions;
}

QList<QAction*> Actions::of(PageAction::Menu menu) const
{
    QList<QAction*> list;
    PageId last{};
    qsizetype at = -1;
    for (const OfPage& each : ofPages) {
        if (each.what->menu != menu)
            continue;
        at = each.page == last ? at + 1 : 0;
        list.insert(at, each.action);
        last = each.page;
    }
    return list;
}

QList<QAction*> Actions::all() const
{
    QList<QAction*> list{open, openFile, newWindow, addFolder, reload, close, back, forward, find, goTo,
        quickOpen, palette, pageWindow};
    for (const OfPage& each : ofPages)
        if (each.what->menu != PageAction::Menu::Checkpoint)
            list.append(each.action);
    list << nextPane << previousPane << nextOpen << previousOpen << of(PageAction::Menu::Checkpoint)
         << reshard << exportWeights << pages << fullScreen << manual << shortcuts << quit;
    return list;
}

QList<QAction*> Actions::offered() const
{
    QList<QAction*> list = all();
    for (QAction* theme : themes)
        list.append(theme);
    list << resetLayout << about;
    list.removeIf([this](const QAction* action) { return !action->isEnabled() || action == palette; });
    return list;
}

void Actions::setOpen(bool isOpen, bool canReshard, bool canExport, bool isSwap) const
{
    const QString text = isSwap ? u"Open with a &Checkpoint of Its Run…"_s : u"&Add Folder…"_s;
    addFolder->setText(text);
    addFolder->setToolTip(isSwap
            ? u"Take names, shapes, steps and options from an earlier checkpoint of the run"_s
            : u"Read other ranks of this checkpoint, or its run's swap folder, from another folder"_s);
    for (QAction* action : {addFolder, reload, close, find, goTo, quickOpen, pageWindow})
        action->setEnabled(isOpen);
    for (QAction* page : pages)
        page->setEnabled(isOpen);
    reshard->setEnabled(canReshard);
    exportWeights->setEnabled(canExport);
}

} // namespace shardscope::ui
