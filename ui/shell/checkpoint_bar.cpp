// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/checkpoint_bar.h"

#include "ui/style/icons.h"
#include "ui/text/text.h"

#include <QMouseEvent>
#include <QScopedValueRollback>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Where a checkpoint is; a file without a tag is its own place.
const io::Path& folderOf(const ReadCheckpoint& read)
{
    return read.checkpoint->tagFolder.empty() ? read.place.path : read.checkpoint->tagFolder;
}

bool isSame(const ReadCheckpoint& a, const ReadCheckpoint& b)
{
    return folderOf(a) == folderOf(b) && a.place.roots == b.place.roots && a.place.salvage == b.place.salvage;
}

} // namespace

CheckpointBar::CheckpointBar(const Theme& theme, QWidget* parent)
    : QTabBar(parent)
    , m_theme(theme)
{
    setObjectName(u"checkpointTabs"_s);
    setAccessibleName(tr("Open checkpoints"));
    setDocumentMode(true);
    setDrawBase(false);
    setExpanding(false);
    setElideMode(Qt::ElideMiddle);
    setUsesScrollButtons(true);
    hide();
    connect(this, &QTabBar::currentChanged, this, [this](int tab) {
        if (m_changing || tab < 0 || tab == m_shown)
            return;
        Q_EMIT chosen(tab);
    });
}

std::optional<HistoryPlace> CheckpointBar::take(ReadCheckpoint read, bool replaces)
{
    const QScopedValueRollback changing(m_changing, true);
    const auto same = std::find_if(
        m_entries.begin(), m_entries.end(), [&](const OpenEntry& entry) { return isSame(entry.read, read); });
    if (same != m_entries.end()) {
        same->read = std::move(read);
        showCurrent(static_cast<size_t>(same - m_entries.begin()));
        return same->place;
    }
    if (replaces && m_shown >= 0) {
        m_entries[static_cast<size_t>(m_shown)] = {std::move(read), {}};
        showCurrent(static_cast<size_t>(m_shown));
        return std::nullopt;
    }
    if (m_entries.size() == kMostOpen) {
        const auto oldest = std::min_element(m_entries.begin(), m_entries.end(),
            [](const OpenEntry& a, const OpenEntry& b) { return a.lastShown < b.lastShown; });
        remove(static_cast<int>(oldest - m_entries.begin()));
    }
    m_entries.push_back({std::move(read), {}});
    setTabButton(addTab({}), RightSide, makeCloseButton());
    showCurrent(m_entries.size() - 1);
    return std::nullopt;
}

void CheckpointBar::refine(ReadCheckpoint read)
{
    if (m_shown < 0)
        return;
    m_entries[static_cast<size_t>(m_shown)].read = std::move(read);
    describe(static_cast<size_t>(m_shown));
}

void CheckpointBar::leave(HistoryPlace place)
{
    if (m_shown >= 0)
        m_entries[static_cast<size_t>(m_shown)].place = std::move(place);
}

void CheckpointBar::remove(int tab)
{
    const QScopedValueRollback changing(m_changing, true);
    m_entries.erase(m_entries.begin() + tab);
    if (m_shown == tab)
        m_shown = -1;
    else if (m_shown > tab)
        --m_shown;
    removeTab(tab);
    setVisible(m_entries.size() > 1);
}

/// In place of the style's, which is red as an error is.
QToolButton* CheckpointBar::makeCloseButton()
{
    auto* button = new QToolButton(this);
    button->setAutoRaise(true);
    button->setIcon(themedIcon(m_theme, u"close"_s, ThemeRole::MutedText));
    button->setIconSize(QSize(12, 12));
    button->setFocusPolicy(Qt::NoFocus); // Ctrl+W does the same
    connect(button, &QToolButton::clicked, this, [this, button] {
        for (int tab = 0; tab < count(); ++tab) {
            if (tabButton(tab, RightSide) == button)
                return QTimer::singleShot(0, this, [this, tab] { Q_EMIT tabCloseRequested(tab); });
        }
    });
    return button;
}

void CheckpointBar::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::MiddleButton && tabAt(event->position().toPoint()) >= 0)
        Q_EMIT tabCloseRequested(tabAt(event->position().toPoint()));
    else
        QTabBar::mouseReleaseEvent(event);
}

void CheckpointBar::showCurrent(size_t entry)
{
    m_shown = static_cast<int>(entry);
    m_entries[entry].lastShown = ++m_clock;
    describe(entry);
    setCurrentIndex(m_shown);
    setVisible(m_entries.size() > 1);
}

void CheckpointBar::describe(size_t entry)
{
    const ReadCheckpoint& read = m_entries[entry].read;
    const Checkpoint& checkpoint = *read.checkpoint;
    const int tab = static_cast<int>(entry);
    const QString name = checkpointName(checkpoint, read.place.path);
    setTabText(tab, QString(name).replace(u'&', u"&&"_s));
    tabButton(tab, RightSide)->setToolTip(tr("Close %1").arg(name));
    tabButton(tab, RightSide)->setAccessibleName(tr("Close %1").arg(name));
    setTabToolTip(tab, u"%1\n%2"_s.arg(pathText(folderOf(read)), titleText(checkpoint)));
}

} // namespace shardscope::ui
