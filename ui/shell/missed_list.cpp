// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/missed_list.h"

#include "ui/pages/start_page.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

MissedList::MissedList(Theme& theme, QWidget* parent)
    : QFrame(parent)
    , m_theme(theme)
    , m_rows(new QVBoxLayout(this))
{
    setObjectName(u"missedList"_s);
    setAccessibleName(tr("Checkpoints that could not be opened again"));
    m_rows->setContentsMargins(12, 6, 12, 6);
    m_rows->setSpacing(4);
    hide();
}

void MissedList::add(const OpenedEntry& entry, const Error& why)
{
    remove(entry);
    m_lines.append({entry, makeLine(entry, why)});
    m_rows->addWidget(m_lines.last().widget);
    show();
}

QWidget* MissedList::makeLine(const OpenedEntry& entry, const Error& why)
{
    auto* line = new QWidget(this);
    line->setObjectName(u"missedLine"_s);
    auto* icon = new QLabel(line);
    icon->setPixmap(themedIcon(m_theme, u"warning"_s, ThemeRole::Warning).pixmap(16, 16));
    auto* path = new ElidedLabel(line);
    path->setObjectName(u"missedPath"_s);
    path->setText(openedText(entry));
    path->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    auto* reason = new ElidedLabel(line);
    reason->setObjectName(u"missedReason"_s);
    reason->setIsSentence(true);
    reason->setForegroundRole(QPalette::PlaceholderText);
    // Another folder that it was opened with may be what is gone.
    const bool isGone = why.code == ErrorCode::NotFound && toText(why.path) == entry.path;
    reason->setText(isGone ? tr("not found")
            : why.code == ErrorCode::NotFound && !why.path.empty()
            ? tr("%1 was not found").arg(toText(why.path))
            : toText(why.message));
    if (isGone)
        reason->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed); // the path needs the room
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    row->addWidget(icon);
    row->addWidget(path, 3);
    row->addWidget(reason, 2);
    const auto addButton = [&](const QString& name, const QString& text) {
        auto* button = new QPushButton(text, line);
        button->setObjectName(name);
        button->setAccessibleName(tr("%1: %2").arg(text, entry.path));
        row->addWidget(button);
        return button;
    };
    // Later: the button is deleted with its line.
    connect(addButton(u"missedTryAgain"_s, tr("Try Again")), &QPushButton::clicked, this, [this, entry] {
        QTimer::singleShot(0, this, [this, entry] {
            remove(entry);
            Q_EMIT tryAgain(entry);
        });
    });
    connect(addButton(u"missedRemove"_s, tr("Remove")), &QPushButton::clicked, this,
        [this, entry] { QTimer::singleShot(0, this, [this, entry] { remove(entry); }); });
    return line;
}

void MissedList::remove(const OpenedEntry& like)
{
    for (qsizetype i = m_lines.size() - 1; i >= 0; --i) {
        if (isSamePlace(m_lines[i].entry, like))
            delete m_lines.takeAt(i).widget;
    }
    setVisible(!m_lines.isEmpty());
}

QList<OpenedEntry> MissedList::entries() const
{
    QList<OpenedEntry> out;
    for (const Line& line : m_lines)
        out.append(line.entry);
    return out;
}

} // namespace shardscope::ui
