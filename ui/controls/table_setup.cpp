// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/table_setup.h"

#include "ui/controls/cell_delegate.h"
#include "ui/models/model_roles.h"
#include "ui/style/text_size.h"
#include "ui/widgets/actions_menu.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHeaderView>
#include <QScopedValueRollback>
#include <QTableView>
#include <QTimer>
#include <QTreeView>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

const QString kTableText = u"tableText"_s;

/// Keeps the heights of a table's rows and header as its text needs them.
class TableText final : public QObject
{
public:
    explicit TableText(QTableView* table)
        : QObject(table)
        , m_table(table)
    {
        fit();
    }

    void setWidest(const QStringList& texts)
    {
        m_widest = texts;
        fitColumns();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::FontChange)
            fit();
        return QObject::eventFilter(watched, event);
    }

private:
    void fit()
    {
        const int text = m_table->fontMetrics().height();
        m_table->verticalHeader()->setDefaultSectionSize(text + 9);
        m_table->horizontalHeader()->setFont(m_table->font());
        m_table->horizontalHeader()->setFixedHeight(text + 11);
        fitColumns();
    }

    void fitColumns()
    {
        constexpr int kMargins = 28; // of cells, and for the sort indicator
        const QFontMetrics metrics = m_table->fontMetrics();
        for (int column = 0; column < m_widest.size(); ++column) {
            const QString title = m_table->model()->headerData(column, Qt::Horizontal).toString();
            m_table->setColumnWidth(column,
                std::max(metrics.horizontalAdvance(m_widest[column]), metrics.horizontalAdvance(title))
                    + kMargins);
        }
    }

    QTableView* m_table;
    QStringList m_widest; ///< by column
};

/// Keeps the width of a tree's column between what it needs and what the others leave.
class SharedColumn final : public QObject
{
public:
    SharedColumn(QTreeView* tree, int column, int least)
        : QObject(tree)
        , m_tree(tree)
        , m_column(column)
        , m_least(least)
    {
        connect(tree->header(), &QHeaderView::sectionResized, this, [this](int section, int former) {
            // Larger text makes the header widen what is too narrow for it, which nobody chose.
            const bool isForced = former < m_tree->header()->minimumSectionSize();
            m_isChosen = m_isChosen || (section == m_column && !m_isFitting && !isForced);
        });
        // Later: the rows are laid out by then.
        connect(tree->model(), &QAbstractItemModel::modelReset, this,
            [this] { QTimer::singleShot(0, this, [this] { fit(); }); });
        tree->viewport()->installEventFilter(this);
        fit();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Resize)
            fit();
        return QObject::eventFilter(watched, event);
    }

private:
    void fit()
    {
        constexpr double kMostShare = 0.45;
        if (m_isChosen)
            return;
        const QScopedValueRollback fitting(m_isFitting, true);
        const QAbstractItemView* view = m_tree; // where the function is public
        const int most = static_cast<int>(kMostShare * m_tree->viewport()->width());
        const int least = std::min(static_cast<int>(m_least * std::max(textScale(), 1.0)), most);
        m_tree->setColumnWidth(m_column, std::clamp(view->sizeHintForColumn(m_column), least, most));
    }

    QTreeView* m_tree;
    int m_column;
    int m_least;
    bool m_isFitting = false;
    bool m_isChosen = false; ///< by the user
};

/// Keeps the least height of a view as its rows need it.
class RowRoom final : public QObject
{
public:
    RowRoom(QAbstractItemView* view, int rows)
        : QObject(view)
        , m_view(view)
        , m_rows(rows)
    {
        view->installEventFilter(this);
        fit();
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::FontChange)
            fit();
        return QObject::eventFilter(watched, event);
    }

private:
    void fit()
    {
        constexpr int kAround = 8; // the text of a row
        const int row = m_view->fontMetrics().height() + kAround;
        const bool hasTitles = qobject_cast<QTreeView*>(m_view) != nullptr;
        m_view->setMinimumHeight((m_rows + (hasTitles ? 1 : 0)) * row + 2 * m_view->frameWidth());
    }

    QAbstractItemView* m_view;
    int m_rows;
};

QString copyText(const QModelIndex& at)
{
    const QVariant exact = at.data(CopyRole);
    return (exact.isValid() ? exact : at.data(Qt::DisplayRole)).toString();
}

QString rowText(const QModelIndex& at)
{
    QStringList cells;
    for (int column = 0; column < at.model()->columnCount(at.parent()); ++column)
        cells.append(copyText(at.siblingAtColumn(column)));
    return cells.join(u'\t');
}

/// Whether its cells are small pictures, which have no width of their own.
bool isDrawn(const QTableView& table, int column)
{
    return table.model()->index(0, column).data(SparkRole).isValid();
}

bool hasMarks(const QTableView& table, int column)
{
    constexpr int kMostRows = 1000;
    for (int row = 0; row < std::min(table.model()->rowCount(), kMostRows); ++row)
        if (table.model()->index(row, column).data(SeverityRole).toInt() >= 0)
            return true;
    return false;
}

void addCopyActions(QAbstractItemView* view)
{
    QAction* cell = addViewAction(view, u"Copy"_s);
    cell->setShortcut(QKeySequence::Copy);
    cell->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QObject::connect(cell, &QAction::triggered, view, [view] {
        if (view->currentIndex().isValid())
            QApplication::clipboard()->setText(copyText(view->currentIndex()));
    });
    QAction* row = addViewAction(view, u"Copy Row"_s);
    row->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C));
    row->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    QObject::connect(row, &QAction::triggered, view, [view] {
        if (view->currentIndex().isValid())
            QApplication::clipboard()->setText(rowText(view->currentIndex()));
    });
}

void prepareView(
    QAbstractItemView* view, const Theme& theme, const QString& objectName, const QString& spokenName)
{
    view->setObjectName(objectName);
    view->setAccessibleName(spokenName);
    view->setItemDelegate(new CellDelegate(theme, view));
    showActionsInMenu(view);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setSelectionBehavior(QAbstractItemView::SelectRows);
    view->setSelectionMode(QAbstractItemView::SingleSelection);
    view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    const auto frame = [view, &theme] { // where lists have the colour of what is around them
        view->setFrameStyle(theme.mode() == ThemeMode::HighContrast ? int(QFrame::Box) | int(QFrame::Plain)
                                                                    : int(QFrame::NoFrame));
    };
    QObject::connect(&theme, &Theme::changed, view, frame);
    frame();
    addCopyActions(view);
}

} // namespace

QAction* addViewAction(QAbstractItemView* view, const QString& text)
{
    auto* action = new QAction(text, view);
    view->addAction(action);
    return action;
}

void prepareTable(QTableView* table, const Theme& theme, const QString& objectName, const QString& spokenName)
{
    prepareView(table, theme, objectName, spokenName);
    table->setShowGrid(false);
    table->setAlternatingRowColors(true);
    table->setWordWrap(false);
    table->setTabKeyNavigation(false);
    table->setCornerButtonEnabled(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setMinimumSectionSize(16);
    table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setStretchLastSection(true);
    table->horizontalHeader()->setMinimumSectionSize(48);
    table->horizontalHeader()->setObjectName(objectName % u"Header"_s);
    auto* text = new TableText(table);
    text->setObjectName(kTableText);
    table->installEventFilter(text);
}

void fitColumns(QTableView* table, const QStringList& widest)
{
    static_cast<TableText*>(table->findChild<QObject*>(kTableText, Qt::FindDirectChildrenOnly))
        ->setWidest(widest);
}

void fitColumns(QTableView* table, int most)
{
    constexpr const char* kFitted = "fittedWidths";
    constexpr int kRoom = 12;
    constexpr int kTitleRoom = 26; ///< with the mark of the sorted column
    constexpr int kPictureLetters = 10;
    const int markRoom = iconSize(16).width() + 8; // of SeverityRole
    const QAbstractItemView* view = table; // where the function is public
    const QHeaderView* header = table->horizontalHeader();
    const QVariantList former = table->property(kFitted).toList(); // 0: of a hidden column
    QVariantList widths;
    bool isChosen = false;
    for (int column = 0; column + 1 < header->count(); ++column) {
        const int width = table->columnWidth(column);
        const int fitted = former.value(column).toInt();
        isChosen = isChosen || (width > 0 && fitted > 0 && width != fitted);
    }
    if (isChosen && former.size() == header->count() - 1)
        return;
    for (int column = 0; column + 1 < header->count(); ++column) {
        const int title = header->fontMetrics().horizontalAdvance(
            table->model()->headerData(column, Qt::Horizontal).toString());
        const int room = hasMarks(*table, column) ? kRoom + markRoom : kRoom;
        const int content = isDrawn(*table, column)
            ? kPictureLetters * header->fontMetrics().averageCharWidth()
            : view->sizeHintForColumn(column);
        table->setColumnWidth(column, std::clamp(content + room, title + kTitleRoom, most));
        widths.append(table->columnWidth(column));
    }
    table->setProperty(kFitted, widths);
}

void shareWidth(QTreeView* tree, int column, int least)
{
    new SharedColumn(tree, column, least);
}

void keepRows(QAbstractItemView* view, int rows)
{
    new RowRoom(view, rows);
}

void prepareTree(QTreeView* tree, const Theme& theme, const QString& objectName, const QString& spokenName)
{
    prepareView(tree, theme, objectName, spokenName);
    tree->setUniformRowHeights(true);
    tree->setAnimated(false);
    tree->setIndentation(16);
}

} // namespace shardscope::ui
