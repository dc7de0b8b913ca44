// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/quick_pick.h"

#include "ui/controls/cell_delegate.h"
#include "ui/models/model_roles.h"

#include <QCoreApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kWidth = 640;
constexpr int kHeight = 420;
constexpr int kIdRole = Qt::UserRole + 100;

bool movesInList(int key)
{
    return key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown;
}

} // namespace

QuickPick::QuickPick(
    Theme& theme, const QString& title, const QString& hint, PickFinder finder, QWidget* parent)
    : QDialog(parent, Qt::Popup)
    , m_finder(std::move(finder))
    , m_text(new QLineEdit(this))
    , m_list(new QTreeWidget(this))
    , m_none(new QLabel(tr("No matches."), this))
{
    setObjectName(u"quickPick"_s);
    setWindowTitle(title);
    setAccessibleName(title);
    m_text->setObjectName(u"quickPickText"_s);
    m_text->setAccessibleName(title);
    m_text->setPlaceholderText(hint);
    m_text->setClearButtonEnabled(true);
    m_text->installEventFilter(this);
    m_list->setObjectName(u"quickPickList"_s);
    m_list->setAccessibleName(title);
    m_list->setColumnCount(2);
    m_list->setHeaderHidden(true);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setFocusPolicy(Qt::NoFocus); // the line keeps the keyboard
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setItemDelegate(new CellDelegate(theme, m_list));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    m_none->setObjectName(u"quickPickNone"_s);
    m_none->setAlignment(Qt::AlignCenter);
    m_none->setForegroundRole(QPalette::PlaceholderText);
    m_none->hide();
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(10, 10, 10, 10);
    rows->setSpacing(8);
    rows->addWidget(m_text);
    rows->addWidget(m_list, 1);
    rows->addWidget(m_none, 1);
    resize(std::min(kWidth, parent->width() - 40), std::min(kHeight, parent->height() - 80));
    move(parent->mapToGlobal(QPoint((parent->width() - width()) / 2, 60)));
    connect(m_text, &QLineEdit::textChanged, this, &QuickPick::find);
    connect(m_list, &QTreeWidget::itemClicked, this, &QuickPick::choose);
    m_text->setFocus();
    find();
}

bool QuickPick::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_text || event->type() != QEvent::KeyPress)
        return QDialog::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
        m_chooseWhenFound = m_runner.isRunning();
        if (!m_chooseWhenFound)
            choose();
        return true;
    }
    if (movesInList(key->key())) {
        QCoreApplication::sendEvent(m_list, event);
        return true;
    }
    return QDialog::eventFilter(watched, event);
}

void QuickPick::find()
{
    m_chooseWhenFound = false;
    m_runner.run<PickList>(
        [finder = m_finder, typed = m_text->text()](const std::stop_token& token,
            const std::function<void(PickList)>& deliver) { deliver(finder(typed, token)); },
        [this](PickList picks) { show(std::move(picks)); });
}

void QuickPick::show(PickList picks)
{
    m_list->clear();
    QList<QTreeWidgetItem*> items;
    for (const Pick& pick : picks) {
        auto* item = new QTreeWidgetItem({pick.text, pick.detail});
        item->setData(0, kIdRole, pick.id);
        item->setData(1, MutedRole, true);
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
        item->setToolTip(0, pick.text);
        items.append(item);
    }
    m_list->addTopLevelItems(items);
    m_list->setVisible(!items.isEmpty());
    m_none->setVisible(items.isEmpty());
    if (!items.isEmpty())
        m_list->setCurrentItem(items.first());
    if (std::exchange(m_chooseWhenFound, false))
        choose();
}

void QuickPick::choose()
{
    const QTreeWidgetItem* item = m_list->currentItem();
    if (item == nullptr)
        return;
    const auto id = item->data(0, kIdRole).toUInt();
    accept(); // before the selected action opens another dialog
    Q_EMIT picked(id);
}

} // namespace shardscope::ui
