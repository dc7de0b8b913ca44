// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/actions.h"

#include "ui/style/icons.h"
#include "ui/text/text.h"

#include <QAction>
#include <QActionGroup>
#include <QWidget>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Row {
    QString name; ///< object name
    QString text;
    QList<QKeySequence> keys = {};
    QString icon = {};
};

/// By ActionId.
const std::vector<Row>& ownActions()
{
    static const std::vector<Row> kRows{
        {u"actionOpen"_s, u"&Open Folder…"_s, {QKeySequence::Open}, u"open"_s},
        {u"actionOpenFile"_s, u"Open &File…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_O}, u"file"_s},
        {u"actionOpenHost"_s, u"Open on Another &Host…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_H}},
        {u"actionNewWindow"_s, u"&New Window"_s, {Qt::CTRL | Qt::ALT | Qt::Key_N}},
        {u"actionAddFolder"_s, {}, {Qt::CTRL | Qt::ALT | Qt::Key_O}, u"open"_s},
        {u"actionSaveSkeleton"_s, u"Save S&keleton Without Values…"_s},
        {u"actionClean"_s, u"Clean &Up After Jobs…"_s},
        {u"actionReload"_s, u"&Reload"_s, {Qt::Key_F5}, u"reload"_s},
        {u"actionClose"_s, u"&Close Checkpoint"_s, {Qt::CTRL | Qt::Key_W}},
        {u"actionBack"_s, u"&Back"_s, {Qt::ALT | Qt::Key_Left}, u"back"_s},
        {u"actionForward"_s, u"&Forward"_s, {Qt::ALT | Qt::Key_Right}, u"forward"_s},
        {u"actionFind"_s, u"F&ind, Go To or Filter…"_s,
            {QKeySequence::Find, Qt::CTRL | Qt::Key_P, Qt::CTRL | Qt::Key_G}, u"search"_s},
        {u"actionPalette"_s, u"Command &Palette…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_P}},
        {u"actionPageWindow"_s, u"Open Page in Own &Window"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_N}},
        {u"actionNextPane"_s, u"&Next Pane"_s, {Qt::Key_F6}},
        {u"actionPreviousPane"_s, u"Pre&vious Pane"_s, {Qt::SHIFT | Qt::Key_F6}},
        {u"actionNextOpen"_s, u"Next Open Chec&kpoint"_s, {Qt::CTRL | Qt::Key_PageDown}},
        {u"actionPreviousOpen"_s, u"Previo&us Open Checkpoint"_s, {Qt::CTRL | Qt::Key_PageUp}},
        {u"actionVerify"_s, u"Verif&y"_s, {Qt::SHIFT | Qt::Key_F8}, u"check"_s},
        {u"actionFingerprint"_s, u"Compute Finger&print"_s},
        {u"actionReshard"_s, u"&Reshard…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_R}, u"reshard"_s},
        {u"actionConvert"_s, u"Con&vert to a Universal Folder…"_s, {}, u"reshard"_s},
        {u"actionExport"_s, u"&Export…"_s, {Qt::CTRL | Qt::SHIFT | Qt::Key_E}, u"export"_s},
        {u"actionCopyCommand"_s, u"Cop&y Command for This View"_s, {Qt::CTRL | Qt::ALT | Qt::Key_C},
            u"copy"_s},
        {u"actionFullScreen"_s, u"F&ull Screen"_s, {Qt::Key_F11}},
        {u"actionManual"_s, u"&Manual"_s, {Qt::Key_F1}, u"info"_s},
        {u"actionShortcuts"_s, u"&Keyboard Shortcuts"_s, {Qt::CTRL | Qt::Key_F1, Qt::Key_Question},
            u"keyboard"_s},
        {u"actionSettings"_s, u"Settin&gs…"_s, {Qt::CTRL | Qt::Key_Comma}},
        {u"actionQuit"_s, u"&Quit"_s, {Qt::CTRL | Qt::Key_Q}},
        {u"actionThemeSystem"_s, u"Like the D&esktop"_s},
        {u"actionThemeLight"_s, u"&Light"_s},
        {u"actionThemeDark"_s, u"&Dark"_s},
        {u"actionThemeHighContrast"_s, u"&High Contrast"_s},
        {u"actionResetLayout"_s, u"Reset &Layout"_s},
        {u"actionAbout"_s, u"&About Shardscope"_s},
        {u"actionLargerText"_s, u"Lar&ger Text"_s, {QKeySequence::ZoomIn, Qt::CTRL | Qt::Key_Equal}},
        {u"actionSmallerText"_s, u"&Smaller Text"_s, {QKeySequence::ZoomOut}},
        {u"actionNormalText"_s, u"Te&xt of Normal Size"_s, {Qt::CTRL | Qt::Key_0}},
    };
    return kRows;
}

/// The name and the first key.
QString tipOf(const QAction& action)
{
    QString tip = action.text().remove(u'&').remove(u"…"_s);
    if (!action.shortcut().isEmpty())
        tip += u" ("_s % action.shortcut().toString(QKeySequence::NativeText) % u')';
    return tip;
}

QAction* make(const Row& row, const Theme& theme, QWidget* parent)
{
    auto* action = new QAction(row.text, parent);
    action->setObjectName(row.name);
    action->setShortcuts(row.keys);
    if (!row.icon.isEmpty())
        action->setIcon(themedIcon(theme, row.icon));
    action->setToolTip(tipOf(*action));
    parent->addAction(action);
    return action;
}

} // namespace

Actions::Actions(const Theme& theme, QWidget* parent)
{
    for (const Row& row : ownActions())
        m_own.append(make(row, theme, parent));
    int key = Qt::Key_1;
    for (const PageEntry& page : pageList()) {
        const QKeySequence keys(QKeyCombination(Qt::CTRL, static_cast<Qt::Key>(key++)));
        m_pages.append(make({page.actionName, page.menuText, {keys}, page.icon}, theme, parent));
        for (const PageAction& action : page.actions)
            m_ofPages.push_back({page.id, &action,
                make({action.name, action.text, action.keys, action.icon}, theme, parent)});
    }
    auto* themeGroup = new QActionGroup(parent);
    for (QAction* each : themes()) {
        each->setCheckable(true);
        themeGroup->addAction(each);
    }
    (*this)[ActionId::FullScreen]->setCheckable(true);
    (*this)[ActionId::Reshard]->setIconText(u"Reshard"_s);
    (*this)[ActionId::Export]->setIconText(u"Export"_s);
    setOpen(false, false, false, false);
    for (const ActionId id : {ActionId::NextOpen, ActionId::PreviousOpen, ActionId::Back, ActionId::Forward})
        (*this)[id]->setEnabled(false);
}

QList<QAction*> Actions::range(ActionId first, ActionId last) const
{
    return m_own.mid(static_cast<qsizetype>(first), 1 + static_cast<int>(last) - static_cast<int>(first));
}

QList<QAction*> Actions::themes() const
{
    return range(ActionId::ThemeSystem, ActionId::ThemeHighContrast);
}

QList<QAction*> Actions::of(PageAction::Menu menu) const
{
    QList<QAction*> list;
    PageId last{};
    qsizetype at = -1;
    for (const OfPage& each : m_ofPages) {
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
    QList<QAction*> list = range(ActionId::Open, ActionId::PageWindow);
    for (const OfPage& each : m_ofPages)
        if (each.what->menu != PageAction::Menu::Checkpoint)
            list.append(each.action);
    list << range(ActionId::NextPane, ActionId::PreviousOpen) << of(PageAction::Menu::Checkpoint)
         << range(ActionId::Verify, ActionId::CopyCommand) << m_pages
         << range(ActionId::FullScreen, ActionId::Quit) << range(ActionId::LargerText, ActionId::NormalText);
    return list;
}

QList<QAction*> Actions::offered() const
{
    QList<QAction*> list = all() << range(ActionId::ThemeSystem, ActionId::About);
    list.removeIf([this](const QAction* action) {
        return !action->isEnabled() || action == (*this)[ActionId::Palette]
            || action == (*this)[ActionId::Find];
    });
    return list;
}

void Actions::setOpen(bool isOpen, bool canReshard, bool canExport, bool isSwap) const
{
    QAction* addFolder = (*this)[ActionId::AddFolder];
    const QString text = isSwap ? u"Open with a &Checkpoint of Its Run…"_s : u"&Add Folder…"_s;
    addFolder->setText(text);
    addFolder->setToolTip(isSwap
            ? u"Take names, shapes, steps and options from an earlier checkpoint of the run"_s
            : u"Read other ranks of this checkpoint, or its run's swap folder, from another folder"_s);
    using enum ActionId;
    for (const ActionId id : {AddFolder, Reload, Close, Find, PageWindow, CopyCommand})
        (*this)[id]->setEnabled(isOpen);
    for (QAction* page : m_pages)
        page->setEnabled(isOpen);
    (*this)[Reshard]->setEnabled(canReshard);
    (*this)[Convert]->setEnabled(canReshard);
    (*this)[Export]->setEnabled(canExport);
    for (const ActionId id : {Verify, Fingerprint, SaveSkeleton}) { // until setRead()
        (*this)[id]->setEnabled(false);
        (*this)[id]->setToolTip(tipOf(*(*this)[id]));
    }
}

void Actions::setPossible(ActionId id, const std::string& whyNot) const
{
    QAction* action = (*this)[id];
    action->setEnabled(whyNot.empty());
    // As rich text, so that names in it cannot be taken for one.
    action->setToolTip(
        whyNot.empty() ? tipOf(*action) : u"<span>%1.</span>"_s.arg(sentenceText(whyNot).toHtmlEscaped()));
}

void Actions::setRead(const ReadingJobs& jobs) const
{
    setPossible(ActionId::Verify, jobs.whyNotVerify);
    setPossible(ActionId::Fingerprint, jobs.whyNotFingerprint);
    setPossible(ActionId::SaveSkeleton, jobs.whyNotSkeleton);
}

void Actions::setRunsOpen() const
{
    for (const ActionId id : {ActionId::Reload, ActionId::Close, ActionId::Find})
        (*this)[id]->setEnabled(true);
    m_pages[static_cast<qsizetype>(PageId::Runs)]->setEnabled(true);
}

} // namespace shardscope::ui
