// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/checkpoint_bar.h"

#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"

#include <QMouseEvent>
#include <QScopedValueRollback>
#include <QSet>
#include <QStyleOptionTab>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kReadable = 20; ///< characters that a tab keeps room for

/// Where a checkpoint is; a file without a tag is its own place.
const io::Path& folderOf(const ReadCheckpoint& read)
{
    return read.checkpoint->tagFolder.empty() ? read.place.path : read.checkpoint->tagFolder;
}

bool isSame(const ReadCheckpoint& a, const ReadCheckpoint& b)
{
    return folderOf(a) == folderOf(b) && a.place.roots == b.place.roots && a.place.salvage == b.place.salvage;
}

QString tagOf(const OpenEntry& entry)
{
    return entry.read.checkpoint->runFolder.empty() ? QString() : toText(entry.read.checkpoint->tag);
}

/// The name of the run folder, or of what was opened instead of one.
QString runOf(const OpenEntry& entry)
{
    const Checkpoint& checkpoint = *entry.read.checkpoint;
    return checkpoint.runFolder.empty() ? checkpointName(checkpoint, entry.read.place.path)
                                        : pathText(checkpoint.runFolder.filename());
}

/// The length of the words with which all of the names begin.
qsizetype commonWords(const QSet<QString>& names)
{
    if (names.size() < 2)
        return 0;
    const QString& first = *names.begin();
    qsizetype common = first.size();
    for (const QString& name : names) {
        const auto end = std::mismatch(first.begin(), first.begin() + common, name.begin(), name.end());
        common = end.first - first.begin();
    }
    while (common > 0 && !u"-_. "_s.contains(first[common - 1]))
        --common;
    return common;
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
    button->setIconSize(shardscope::ui::iconSize(14));
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
    const QString whole = name(tab);
    setTabText(tab, QString(whole).replace(u'&', u"&&"_s));
    tabButton(tab, RightSide)->setToolTip(tr("Close %1").arg(whole));
    tabButton(tab, RightSide)->setAccessibleName(tr("Close %1").arg(whole));
    setTabToolTip(tab, QStringList{whole, pathText(folderOf(read)), titleText(checkpoint)}.join(u'\n'));
}

QString CheckpointBar::name(int tab) const
{
    const ReadCheckpoint& read = entry(tab).read;
    return checkpointName(*read.checkpoint, read.place.path);
}

QString CheckpointBar::shortName(int tab) const
{
    QSet<QString> tags;
    QSet<QString> runs;
    for (const OpenEntry& each : m_entries) {
        tags.insert(tagOf(each));
        runs.insert(runOf(each));
    }
    const auto rest = [](const QString& name, const QSet<QString>& all) {
        const qsizetype common = commonWords(all);
        return common > 0 ? QString(u'…' + name.mid(common)) : name;
    };
    const QString tag = rest(tagOf(entry(tab)), tags);
    const QString run = rest(runOf(entry(tab)), runs);
    if (tag.isEmpty() || static_cast<size_t>(runs.size()) == m_entries.size())
        return run;
    return runs.size() == 1 ? tag : QString(tag % u" – " % run);
}

QString CheckpointBar::fitted(int tab, int width) const
{
    const QString whole = name(tab);
    if (fontMetrics().horizontalAdvance(whole) <= width)
        return whole;
    return fontMetrics().elidedText(shortName(tab), Qt::ElideMiddle, width);
}

QString CheckpointBar::shownText(int tab) const
{
    QStyleOptionTab option;
    initStyleOption(&option, tab);
    return option.text.replace(u"&&"_s, u"&"_s);
}

QSize CheckpointBar::minimumTabSizeHint(int tab) const
{
    const auto widthOf = [this](const QString& text) { // as tabSizeHint() measures it
        return fontMetrics().size(Qt::TextShowMnemonic, QString(text).replace(u'&', u"&&"_s)).width();
    };
    const int whole = widthOf(name(tab));
    const int least = std::min(widthOf(shortName(tab)), kReadable * fontMetrics().averageCharWidth());
    QSize size = tabSizeHint(tab);
    size.rwidth() -= std::max(whole - least, 0);
    return size;
}

void CheckpointBar::initStyleOption(QStyleOptionTab* option, int tab) const
{
    QTabBar::initStyleOption(option, tab);
    const int room = style()->subElementRect(QStyle::SE_TabBarTabText, option, this).width();
    option->text = fitted(tab, room).replace(u'&', u"&&"_s);
}

} // namespace shardscope::ui
