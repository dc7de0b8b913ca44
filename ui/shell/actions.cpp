// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/actions.h"

#include "ui/pages/page.h"
#include "ui/style/icons.h"

#include <QAction>
#include <QActionGroup>
#include <QCoreApplication>
#include <QWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::Actions)
};

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
    actions.open = make(u"actionOpen"_s, Words::tr("&Open Folder…"), {QKeySequence::Open}, u"open"_s);
    actions.newWindow
        = make(u"actionNewWindow"_s, Words::tr("&New Window"), {Qt::CTRL | Qt::ALT | Qt::Key_N});
    actions.openFile
        = make(u"actionOpenFile"_s, Words::tr("Open &File…"), {Qt::CTRL | Qt::SHIFT | Qt::Key_O}, u"file"_s);
    actions.addFolder = make(u"actionAddFolder"_s, {}, {Qt::CTRL | Qt::ALT | Qt::Key_O}, u"open"_s);
    actions.reload = make(u"actionReload"_s, Words::tr("&Reload"), {Qt::Key_F5}, u"reload"_s);
    actions.close = make(u"actionClose"_s, Words::tr("&Close Checkpoint"), {Qt::CTRL | Qt::Key_W});
    actions.quit = make(u"actionQuit"_s, Words::tr("&Quit"), {Qt::CTRL | Qt::Key_Q});
}

void addNavigationActions(Actions& actions, const Maker& make)
{
    actions.back = make(u"actionBack"_s, Words::tr("&Back"), {Qt::ALT | Qt::Key_Left}, u"back"_s);
    actions.forward
        = make(u"actionForward"_s, Words::tr("&Forward"), {Qt::ALT | Qt::Key_Right}, u"forward"_s);
    actions.find = make(u"actionFind"_s, Words::tr("F&ilter"), {QKeySequence::Find}, u"search"_s);
    actions.goTo = make(u"actionGoTo"_s, Words::tr("&Go to Address…"), {Qt::CTRL | Qt::Key_G}, u"target"_s);
    actions.palette
        = make(u"actionPalette"_s, Words::tr("Command &Palette…"), {Qt::CTRL | Qt::SHIFT | Qt::Key_P});
    actions.quickOpen
        = make(u"actionQuickOpen"_s, Words::tr("Find P&arameter…"), {Qt::CTRL | Qt::Key_P}, u"parameter"_s);
    actions.pageWindow = make(
        u"actionPageWindow"_s, Words::tr("Open Page in Own &Window"), {Qt::CTRL | Qt::SHIFT | Qt::Key_N});
    actions.saveMap = make(u"actionSaveMap"_s, Words::tr("&Save Picture of the Map…"),
        {Qt::CTRL | Qt::SHIFT | Qt::Key_S}, u"map"_s);
    actions.copyMap
        = make(u"actionCopyMap"_s, Words::tr("Cop&y Picture of the Map"), {Qt::CTRL | Qt::SHIFT | Qt::Key_M});
    actions.compare = make(
        u"actionCompare"_s, Words::tr("Compare &With…"), {Qt::CTRL | Qt::SHIFT | Qt::Key_D}, u"compare"_s);
    actions.nextDifference = make(u"actionNextDifference"_s, Words::tr("Ne&xt Difference"), {Qt::Key_F7});
    actions.previousDifference
        = make(u"actionPreviousDifference"_s, Words::tr("Previous Diff&erence"), {Qt::SHIFT | Qt::Key_F7});
    actions.nextPane = make(u"actionNextPane"_s, Words::tr("&Next Pane"), {Qt::Key_F6});
    actions.previousPane
        = make(u"actionPreviousPane"_s, Words::tr("Pre&vious Pane"), {Qt::SHIFT | Qt::Key_F6});
    actions.nextOpen
        = make(u"actionNextOpen"_s, Words::tr("Next Open Chec&kpoint"), {Qt::CTRL | Qt::Key_PageDown});
    actions.previousOpen
        = make(u"actionPreviousOpen"_s, Words::tr("Previo&us Open Checkpoint"), {Qt::CTRL | Qt::Key_PageUp});
}

void addJobActions(Actions& actions, const Maker& make)
{
    actions.check = make(u"actionCheck"_s, Words::tr("Chec&k"), {Qt::Key_F8}, u"check"_s);
    actions.reshard
        = make(u"actionReshard"_s, Words::tr("&Reshard…"), {Qt::CTRL | Qt::SHIFT | Qt::Key_R}, u"reshard"_s);
    actions.exportWeights
        = make(u"actionExport"_s, Words::tr("&Export…"), {Qt::CTRL | Qt::SHIFT | Qt::Key_E}, u"export"_s);
    actions.reshard->setIconText(Words::tr("Reshard"));
    actions.exportWeights->setIconText(Words::tr("Export"));
}

void addPageActions(Actions& actions, const Maker& make)
{
    int key = Qt::Key_1;
    for (const PageEntry& page : pageList())
        actions.pages.append(make(page.actionName, page.menuText,
            {QKeySequence(QKeyCombination(Qt::CTRL, static_cast<Qt::Key>(key++)))}, page.icon));
}

void addViewActions(Actions& actions, const Maker& make)
{
    actions.themeGroup = new QActionGroup(make.parent);
    const std::array themeNames
        = {u"actionThemeSystem"_s, u"actionThemeLight"_s, u"actionThemeDark"_s, u"actionThemeHighContrast"_s};
    const std::array themeTexts = {
        Words::tr("Like the D&esktop"), Words::tr("&Light"), Words::tr("&Dark"), Words::tr("&High Contrast")};
    for (size_t i = 0; i < actions.themes.size(); ++i) {
        actions.themes[i] = make(themeNames[i], themeTexts[i], {});
        actions.themes[i]->setCheckable(true);
        actions.themeGroup->addAction(actions.themes[i]);
    }
    actions.largerText = make(
        u"actionLargerText"_s, Words::tr("Lar&ger Text"), {QKeySequence::ZoomIn, Qt::CTRL | Qt::Key_Equal});
    actions.smallerText = make(u"actionSmallerText"_s, Words::tr("&Smaller Text"), {QKeySequence::ZoomOut});
    actions.normalText
        = make(u"actionNormalText"_s, Words::tr("Te&xt of Normal Size"), {Qt::CTRL | Qt::Key_0});
    actions.fullScreen = make(u"actionFullScreen"_s, Words::tr("F&ull Screen"), {Qt::Key_F11});
    actions.fullScreen->setCheckable(true);
    actions.resetLayout = make(u"actionResetLayout"_s, Words::tr("Reset &Layout"), {});
    actions.manual = make(u"actionManual"_s, Words::tr("&Manual"), {Qt::Key_F1}, u"info"_s);
    actions.shortcuts = make(u"actionShortcuts"_s, Words::tr("&Keyboard Shortcuts"),
        {Qt::CTRL | Qt::Key_F1, Qt::Key_Question}, u"keyboard"_s);
    actions.about = make(u"actionAbout"_s, Words::tr("&About Shardscope"), {});
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
    actions.setDifferences(false);
    actions.nextOpen->setEnabled(false);
    actions.previousOpen->setEnabled(false);
    actions.back->setEnabled(false);
    actions.forward->setEnabled(false);
    return actions;
}

QList<QAction*> Actions::all() const
{
    QList<QAction*> list{open, openFile, newWindow, addFolder, reload, close, back, forward, find, goTo,
        quickOpen, palette, pageWindow, saveMap, copyMap, compare, nextDifference, previousDifference,
        nextPane, previousPane, nextOpen, previousOpen, check, reshard, exportWeights};
    for (QAction* page : pages)
        list.append(page);
    list << fullScreen << manual << shortcuts << quit;
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
    const QString text
        = isSwap ? Words::tr("Open with a &Checkpoint of Its Run…") : Words::tr("&Add Folder…");
    addFolder->setText(text);
    addFolder->setToolTip(isSwap
            ? Words::tr("Take names, shapes, steps and options from an earlier checkpoint of the run")
            : Words::tr(
                "Read other ranks of this checkpoint, or its run's swap folder, from another folder"));
    for (QAction* action :
        {addFolder, reload, close, find, goTo, quickOpen, pageWindow, saveMap, copyMap, compare, check})
        action->setEnabled(isOpen);
    for (QAction* page : pages)
        page->setEnabled(isOpen);
    reshard->setEnabled(canReshard);
    exportWeights->setEnabled(canExport);
}

void Actions::setDifferences(bool any) const
{
    nextDifference->setEnabled(any);
    previousDifference->setEnabled(any);
}

} // namespace shardscope::ui
