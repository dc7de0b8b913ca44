// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/shortcut_sheet.h"

#include "ui/widgets/window_fit.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <array>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

using Line = std::pair<QString, QString>;

constexpr auto kText = "shortcutText"_L1; ///< the name of what says what a key does

/// The keys of a view, which are no actions. tst_shortcut_sheet.cpp compares them with what the views take.
struct KeyList {
    QString title;
    QList<Line> lines;
};

void addLine(QGridLayout* grid, const QString& list, const Line& line)
{
    const int row = grid->rowCount();
    auto* key = new QLabel(line.first);
    key->setObjectName(u"shortcutKeys"_s);
    key->setProperty("list", list);
    key->setTextFormat(Qt::PlainText);
    QFont bold = key->font();
    bold.setBold(true);
    key->setFont(bold);
    grid->addWidget(key, row, 0, Qt::AlignTop);
    auto* text = new QLabel(line.second);
    text->setObjectName(kText);
    grid->addWidget(text, row, 1);
    grid->setColumnStretch(1, 1);
}

void addList(QVBoxLayout* column, const KeyList& list)
{
    auto* heading = new QLabel(list.title);
    QFont font = heading->font();
    font.setPointSizeF(font.pointSizeF() * 1.2);
    heading->setFont(font);
    heading->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    column->addWidget(heading);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(18);
    grid->setVerticalSpacing(5);
    column->addLayout(grid);
    column->addSpacing(12);
    for (const Line& line : list.lines)
        addLine(grid, list.title, line);
}

/// The keys of the find field.
KeyList findKeys()
{
    return {u"Find field"_s,
        {{u"Up  Down"_s, u"Choose among what was found"_s}, {u"Enter"_s, u"Go there, run the command"_s},
            {u"Shift+Enter"_s, u"Filter the page by the text"_s},
            {u"Tab"_s, u"Complete a term of the filter"_s}, {u"Alt+Down"_s, u"Saved filters"_s},
            {u"Esc"_s, u"Close the list; again: remove the last term"_s},
            {u">"_s, u"As the first letter: only commands"_s}}};
}

QString keysOf(const QAction* action)
{
    QStringList keys;
    for (const QKeySequence& sequence : action->shortcuts())
        keys.append(sequence.toString(QKeySequence::NativeText));
    return keys.join(u",  "_s);
}

KeyList windowKeys(const QList<QAction*>& actions)
{
    KeyList list{u"Window"_s, {}};
    for (const QAction* action : actions) {
        if (const QString keys = keysOf(action); !keys.isEmpty())
            list.lines.append({keys, action->text().remove(u'&').remove(u"…"_s)});
    }
    return list;
}

KeyList fieldKeys()
{
    return {u"Lists, fields, own windows"_s,
        {{u"Ctrl+C"_s, u"Copy the cell"_s}, {u"Ctrl+Shift+C"_s, u"Copy the row"_s},
            {u"P"_s, u"Start page: pin a checkpoint, unpin it"_s},
            {u"Del"_s, u"Start page: forget a checkpoint"_s},
            {u"Arrows,  Space,  Enter"_s, u"Legend: choose a class, show or hide it"_s},
            {u"Ctrl+Shift+K"_s, u"Own window: keep what it shows"_s},
            {u"Ctrl+W"_s, u"Own window: close it"_s}}};
}

KeyList mapKeys()
{
    return {u"Partition map"_s,
        {{u"Wheel"_s, u"Scroll ranks"_s}, {u"Ctrl+Wheel,  W   S   +   -"_s, u"Zoom elements"_s},
            {u"Ctrl+Shift+Wheel,  Shift+W  Shift+S"_s, u"Zoom ranks"_s},
            {u"A   D"_s, u"Scroll left, right"_s},
            {u"Home  End  PgUp  PgDown"_s, u"Scroll to the ends, by a page of ranks"_s},
            {u"Arrows,  ,   ."_s, u"Neighbours, other ranks"_s},
            {u"Drag,  Shift+Arrows"_s, u"Select a range"_s}, {u"Space+Drag,  Middle drag"_s, u"Pan"_s},
            {u"Double click,  0"_s, u"Fit"_s}, {u"F"_s, u"Centre the selection; again: fit it"_s},
            {u"[   ]"_s, u"Previous, next fragment of the parameter"_s},
            {u"N   Shift+N"_s, u"Next, previous finding"_s}, {u"Z   Shift+Z"_s, u"Next, previous padding"_s},
            {u"H   Shift+H"_s, u"Fold a section, or all"_s},
            {u"P"_s, u"Pin the rank's row on top, unpin it"_s},
            {u"M   Shift+M"_s, u"Set a mark, go to the next one"_s},
            {u"U"_s, u"Ranks as rows, all as one line, or files as rows"_s},
            {u"Enter"_s, u"Open the parameter"_s}, {u"Esc"_s, u"Step back"_s}}};
}

QList<KeyList> tensorKeys()
{
    return {{u"Values and bytes"_s,
                {{u"Arrows,  PgUp  PgDown"_s, u"Neighbours, a page of rows"_s},
                    {u"Home  End"_s, u"First, last column"_s},
                    {u"Ctrl+Home  Ctrl+End"_s, u"First, last element"_s},
                    {u"Drag,  Shift+Arrows"_s, u"Select a block of values"_s},
                    {u"Ctrl+C"_s, u"Copy them with all digits"_s}}},
        {u"Heat map"_s,
            {{u"Arrows,  PgUp  PgDown"_s, u"Neighbours, a tenth of the picture"_s},
                {u"Home  End"_s, u"First, last column"_s}, {u"Ctrl+Home  Ctrl+End"_s, u"First, last cell"_s},
                {u"Enter"_s, u"Show the element among the values"_s}}},
        {u"Line of a vector"_s,
            {{u"Left  Right,  PgUp  PgDown"_s, u"Neighbours, a tenth of the line"_s},
                {u"Home  End"_s, u"First, last element"_s}, {u"Ctrl+Wheel,  W   S   +   -"_s, u"Zoom"_s},
                {u"Wheel,  A   D"_s, u"Scroll left, right"_s}, {u"Drag"_s, u"Zoom to a range"_s},
                {u"Double click,  0"_s, u"Show all"_s},
                {u"Enter"_s, u"Show the element among the values"_s}}},
        {u"Histogram"_s,
            {{u"Left  Right"_s, u"Lower end of the range"_s},
                {u"Shift+Left  Shift+Right"_s, u"Upper end of the range"_s}, {u"Drag"_s, u"Choose a range"_s},
                {u"Double click,  Esc"_s, u"All values"_s}}}};
}

} // namespace

ShortcutSheet::ShortcutSheet(const QList<QAction*>& actions, QWidget* parent)
    : QDialog(parent)
{
    setObjectName(u"shortcutSheet"_s);
    setWindowTitle(tr("Keyboard Shortcuts"));
    auto* lists = new QWidget(this);
    auto* columns = new QHBoxLayout(lists);
    columns->setContentsMargins(0, 0, 0, 0);
    columns->setSpacing(40);
    std::array<QVBoxLayout*, 2> column{new QVBoxLayout, new QVBoxLayout};
    for (QVBoxLayout* one : column) {
        one->setSpacing(10);
        columns->addLayout(one);
    }
    addList(column[0], windowKeys(actions));
    addList(column[0], findKeys());
    addList(column[0], fieldKeys());
    addList(column[1], mapKeys());
    for (const KeyList& list : tensorKeys())
        addList(column[1], list);
    for (QVBoxLayout* one : column)
        one->addStretch();
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(20, 18, 20, 14);
    rows->setSpacing(14);
    QWidget* area = scrolled(lists, this);
    area->setFocusPolicy(Qt::StrongFocus); // arrows and Page Down scroll it
    area->setAccessibleName(windowTitle());
    rows->addWidget(area, 1);
    rows->addWidget(buttons);
    const QSize whole = lists->sizeHint() + QSize(64, 90);
    for (QLabel* text : lists->findChildren<QLabel*>(kText)) {
        text->setAlignment(Qt::AlignLeading | Qt::AlignTop);
        text->setWordWrap(true); // where the screen is too narrow for it
    }
    resizeWithinScreen(this, whole);
}

} // namespace shardscope::ui
