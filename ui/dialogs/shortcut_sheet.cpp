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

void addLine(QGridLayout* grid, const QString& keys, const QString& meaning)
{
    const int row = grid->rowCount();
    auto* key = new QLabel(keys);
    key->setTextFormat(Qt::PlainText);
    QFont bold = key->font();
    bold.setBold(true);
    key->setFont(bold);
    grid->addWidget(key, row, 0);
    grid->addWidget(new QLabel(meaning), row, 1);
}

QGridLayout* addList(QVBoxLayout* column, const QString& title)
{
    auto* heading = new QLabel(title);
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
    return grid;
}

/// The keys of the find field.
void addFindKeys(QVBoxLayout* column)
{
    QGridLayout* find = addList(column, u"Find field"_s);
    const std::pair<QString, QString> findKeys[] = {
        {u"Up  Down"_s, u"Choose among what was found"_s},
        {u"Enter"_s, u"Go there, run the command"_s},
        {u"Shift+Enter"_s, u"Filter the page by the text"_s},
        {u"Tab"_s, u"Complete a term of the filter"_s},
        {u"Alt+Down"_s, u"Saved filters"_s},
        {u"Esc"_s, u"Close the list; again: remove the last term"_s},
        {u">"_s, u"As the first letter: only commands"_s},
    };
    for (const auto& [keys, meaning] : findKeys)
        addLine(find, keys, meaning);
}

/// The keys of pages, which are no actions.
void addPageKeys(QVBoxLayout* column)
{
    QGridLayout* map = addList(column, u"Partition map"_s);
    const std::pair<QString, QString> mapKeys[] = {
        {u"Wheel"_s, u"Scroll ranks"_s},
        {u"Ctrl+Wheel,  W   S"_s, u"Zoom elements"_s},
        {u"Ctrl+Shift+Wheel,  Shift+W  Shift+S"_s, u"Zoom ranks"_s},
        {u"A   D"_s, u"Scroll left, right"_s},
        {u"Home  End  PgUp  PgDown"_s, u"Scroll to the ends, by a page of ranks"_s},
        {u"Arrows,  ,   ."_s, u"Neighbours, other ranks"_s},
        {u"Drag,  Shift+Arrows"_s, u"Select a range"_s},
        {u"Space+Drag, middle drag"_s, u"Pan"_s},
        {u"Double click,  0"_s, u"Fit"_s},
        {u"F"_s, u"Centre the selection; again: fit it"_s},
        {u"[   ]"_s, u"Previous, next fragment of the parameter"_s},
        {u"N   Shift+N"_s, u"Next, previous finding"_s},
        {u"Z   Shift+Z"_s, u"Next, previous padding"_s},
        {u"H   Shift+H"_s, u"Fold a section, or all"_s},
        {u"P"_s, u"Pin the rank's row on top, unpin it"_s},
        {u"M   Shift+M"_s, u"Set a mark, go to the next one"_s},
        {u"U"_s, u"Ranks as rows, all as one line, or files as rows"_s},
        {u"Enter"_s, u"Open the parameter"_s},
        {u"Esc"_s, u"Step back"_s},
    };
    for (const auto& [keys, meaning] : mapKeys)
        addLine(map, keys, meaning);
    QGridLayout* tensor = addList(column, u"Tensor"_s);
    const std::pair<QString, QString> tensorKeys[] = {
        {u"Arrows,  PgUp  PgDown"_s, u"Neighbours, a page of rows"_s},
        {u"Home  End"_s, u"First, last column (Ctrl: element)"_s},
        {u"Drag,  Shift+Arrows"_s, u"Select a block of values"_s},
        {u"Ctrl+C"_s, u"Copy them with all digits"_s},
        {u"Histogram: Left  Right"_s, u"Lower end of the range"_s},
        {u"Histogram: Shift+Left  Right"_s, u"Upper end of the range"_s},
        {u"Histogram: Drag,  Esc"_s, u"Choose a range, all values"_s},
    };
    for (const auto& [keys, meaning] : tensorKeys)
        addLine(tensor, keys, meaning);
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
    QGridLayout* window = addList(column[0], tr("Window"));
    for (const QAction* action : actions) {
        QStringList keys;
        for (const QKeySequence& sequence : action->shortcuts())
            keys.append(sequence.toString(QKeySequence::NativeText));
        if (!keys.isEmpty())
            addLine(window, keys.join(u",  "_s), action->text().remove(u'&').remove(u"…"_s));
    }
    addLine(window, u"Ctrl+C"_s, tr("Copy the cell (Ctrl+Shift+C: the row)"));
    addFindKeys(column[0]);
    addPageKeys(column[1]);
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
    resizeWithinScreen(this, lists->sizeHint() + QSize(64, 90));
}

} // namespace shardscope::ui
