// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/shortcut_sheet.h"

#include "ui/widgets/window_fit.h"

#include <QAction>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <array>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::ShortcutSheet)
};

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

/// The keys of pages, which are no actions.
void addPageKeys(QVBoxLayout* column)
{
    QGridLayout* map = addList(column, Words::tr("Partition map"));
    const std::pair<QString, QString> mapKeys[] = {
        {Words::tr("Wheel"), Words::tr("Scroll ranks")},
        {Words::tr("Ctrl+Wheel,  W   S"), Words::tr("Zoom elements")},
        {Words::tr("Ctrl+Shift+Wheel,  Shift+W  Shift+S"), Words::tr("Zoom ranks")},
        {u"A   D"_s, Words::tr("Scroll left, right")},
        {Words::tr("Home  End  PgUp  PgDown"), Words::tr("Scroll to the ends, by a page of ranks")},
        {Words::tr("Arrows,  ,   ."), Words::tr("Neighbours, other ranks")},
        {Words::tr("Drag,  Shift+Arrows"), Words::tr("Select a range")},
        {Words::tr("Space+Drag, middle drag"), Words::tr("Pan")},
        {Words::tr("Double click,  0"), Words::tr("Fit")},
        {u"F"_s, Words::tr("Centre the selection; again: fit it")},
        {u"[   ]"_s, Words::tr("Previous, next fragment of the parameter")},
        {u"N   Shift+N"_s, Words::tr("Next, previous finding")},
        {u"Z   Shift+Z"_s, Words::tr("Next, previous padding")},
        {u"H   Shift+H"_s, Words::tr("Fold a section, or all")},
        {u"P"_s, Words::tr("Pin the rank's row on top, unpin it")},
        {u"M   Shift+M"_s, Words::tr("Set a mark, go to the next one")},
        {u"U"_s, Words::tr("Ranks as rows, all as one line, or files as rows")},
        {Words::tr("Enter"), Words::tr("Open the parameter")},
        {Words::tr("Esc"), Words::tr("Step back")},
    };
    for (const auto& [keys, meaning] : mapKeys)
        addLine(map, keys, meaning);
    QGridLayout* tensor = addList(column, Words::tr("Tensor"));
    const std::pair<QString, QString> tensorKeys[] = {
        {Words::tr("Arrows,  PgUp  PgDown"), Words::tr("Neighbours, a page of rows")},
        {Words::tr("Home  End"), Words::tr("First, last column (Ctrl: element)")},
        {Words::tr("Drag,  Shift+Arrows"), Words::tr("Select a block of values")},
        {u"Ctrl+C"_s, Words::tr("Copy them with all digits")},
        {Words::tr("Histogram: Left  Right"), Words::tr("Lower end of the range")},
        {Words::tr("Histogram: Shift+Left  Right"), Words::tr("Upper end of the range")},
        {Words::tr("Histogram: Drag,  Esc"), Words::tr("Choose a range, all values")},
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
