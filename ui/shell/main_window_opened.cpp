// SPDX-License-Identifier: Apache-2.0
// What comes back at the next start: open checkpoints, and named layouts.
#include "ui/shell/main_window.h"

#include "ui/dialogs/settings_dialog.h"
#include "ui/models/address_selection.h"
#include "ui/pages/jobs_panel.h"
#include "ui/pages/start_page.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/missed_list.h"
#include "ui/shell/opened_again.h"
#include "ui/shell/page_filter.h"
#include "ui/shell/page_window.h"
#include "ui/shell/window_docks.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"
#include "ui/widgets/message_bar.h"

#include <QApplication>
#include <QInputDialog>
#include <QMap>
#include <QMenu>

#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

MissedList& MainWindow::missed()
{
    return *findChild<MissedList*>();
}

void MainWindow::openAgain(const QList<OpenedEntry>& entries)
{
    QMap<int, QList<OpenedEntry>> byWindow;
    for (const OpenedEntry& entry : entries)
        byWindow[entry.window].append(entry);
    MainWindow* window = this;
    for (const QList<OpenedEntry>& group : byWindow) {
        window = window == nullptr ? openNewWindow() : window;
        std::exchange(window, nullptr)->openAgainHere(group);
    }
}

void MainWindow::openAgainHere(const QList<OpenedEntry>& entries)
{
    auto* opener = new OpenedAgain(*this, entries);
    connect(opener, &OpenedAgain::missed, this, [this](const OpenedEntry& entry, const Error& why) {
        m_messages->hide(); // the list says it
        m_start->clearMessages();
        missed().add(entry, why);
    });
    opener->start();
}

void MainWindow::openAgain(const OpenedEntry& entry)
{
    OpenedPlace place{
        toPath(entry.path), entry.tag.toStdString(), {}, entry.salvage, kindNamed(entry.kind.toStdString())};
    for (const QString& root : entry.roots)
        place.roots.push_back(toPath(root));
    openPlace(std::move(place));
    m_wanted.page = pageNamed(entry.page);
    m_wanted.address = entry.selected;
    m_wanted.paramFilter = entry.filter;
}

void MainWindow::fillKindMenu(QMenu* menu)
{
    menu->clear();
    const auto add = [&](const QString& text, std::optional<CheckpointKind> kind) {
        QAction* action = menu->addAction(text);
        action->setCheckable(true);
        action->setChecked(m_session.shown().place.kind == kind);
        action->setEnabled(m_session.checkpoint() != nullptr);
        connect(action, &QAction::triggered, this, [this, kind] {
            OpenedPlace place = m_session.shown().place;
            // `latest` may name another tag by now.
            const CheckpointPtr& checkpoint = m_session.checkpoint();
            if (!place.kind && place.tag.empty() && !checkpoint->runFolder.empty()
                && kind != CheckpointKind::Universal)
                place.tag = checkpoint->tag;
            place.kind = kind;
            openPlace(std::move(place));
            m_wanted.replaces = true;
        });
    };
    add(tr("As &Detected"), {});
    menu->addSeparator();
    for (const KindTraits& traits : kKindTraits) {
        if (!isUnknown(traits.kind))
            add(kindText(traits.kind), traits.kind);
    }
}

void MainWindow::setPartner(const QString& path)
{
    m_tabs->filled(PageId::Compare)->compareWith(path, false);
}

OpenedEntry MainWindow::entryToOpen(const ReadCheckpoint& read)
{
    OpenedEntry entry;
    const OpenedPlace place = placeToReopen(*read.checkpoint, read.place, true);
    entry.path = QString::fromStdString(place.path.native());
    entry.tag = QString::fromStdString(place.tag);
    for (const io::Path& root : place.roots)
        entry.roots.append(QString::fromStdString(root.native()));
    entry.salvage = place.salvage;
    if (place.kind)
        entry.kind = toText(kindName(*place.kind));
    return entry;
}

/// The checkpoints of all tabs, the one that is shown last; those that could not be opened again, or were not
/// yet, come first.
QList<OpenedEntry> MainWindow::openedEntries()
{
    QList<OpenedEntry> entries;
    const int shown = m_open->currentIndex();
    for (int tab = 0; tab < m_open->count(); ++tab) {
        const ReadCheckpoint& read = m_open->entry(tab).read;
        const HistoryPlace seen = tab == shown ? place() : m_open->entry(tab).place;
        OpenedEntry entry = entryToOpen(read);
        entry.page = pageEntry(seen.page).name;
        entry.filter = seen.filter;
        const auto& params = read.checkpoint->params;
        if (seen.thing.param != kNoParam && index(seen.thing.param) < params.size())
            entry.selected = QString::fromStdString(params[index(seen.thing.param)].name);
        if (tab == shown && m_compareRun.wish())
            entry.against = QString::fromStdString(m_compareRun.wish()->other.native());
        entries.append(entry);
    }
    if (shown >= 0 && shown < entries.size()) {
        for (PageWindow* window : findChildren<PageWindow*>()) {
            if (!window->isVisible())
                continue;
            QString page = window->pageName() % u' ' % QString::fromLatin1(window->saveGeometry().toBase64());
            if (window->isPinned()) {
                const QString place
                    = addressOf(*m_open->entry(shown).read.checkpoint, window->selection().current());
                page += u' ' % QString::fromLatin1(place.toUtf8().toBase64());
            }
            entries[shown].pages.append(page);
        }
        std::rotate(entries.begin() + shown, entries.begin() + shown + 1, entries.end());
    }
    QList<OpenedEntry> waiting = missed().entries();
    for (const OpenedAgain* opener : findChildren<OpenedAgain*>())
        waiting += opener->waiting();
    return waiting + entries;
}

QList<MainWindow*> MainWindow::openWindows()
{
    QList<MainWindow*> windows{this};
    for (QWidget* widget : QApplication::topLevelWidgets()) {
        auto* window = qobject_cast<MainWindow*>(widget);
        if (window != nullptr && window != this && window->isVisible() && &window->m_settings == &m_settings)
            windows.append(window);
    }
    return windows;
}

QList<OpenedEntry> MainWindow::openedInAllWindows()
{
    QList<OpenedEntry> all;
    const QList<MainWindow*> windows = openWindows();
    for (int i = 0; i < windows.size(); ++i) {
        for (OpenedEntry entry : windows[i]->openedEntries()) {
            entry.window = i;
            all.append(entry);
        }
    }
    return all;
}

void MainWindow::quit()
{
    const QList<MainWindow*> windows = openWindows();
    for (MainWindow* window : windows) {
        if (window->jobs().activeCount() > 0) {
            window->raise();
            window->activateWindow();
            window->m_jobs.askBeforeClosing([window] { window->quit(); });
            return;
        }
    }
    const QList<OpenedEntry> all = openedInAllWindows();
    for (MainWindow* window : windows)
        window->close();
    m_settings.setOpened(all);
}

void MainWindow::fillLayoutMenu(QMenu* menu)
{
    menu->clear();
    for (const QString& name : m_settings.layouts()) {
        QAction* action = menu->addAction(QString(name).replace(u'&', u"&&"_s));
        connect(action, &QAction::triggered, this, [this, name] { m_docks->apply(m_settings.layout(name)); });
    }
    if (!menu->isEmpty())
        menu->addSeparator();
    QAction* save = menu->addAction(tr("&Save This Layout…"));
    save->setObjectName(u"actionSaveLayout"_s);
    connect(save, &QAction::triggered, this, &MainWindow::askForLayoutName);
    menu->addAction(m_actions[ActionId::ResetLayout]);
}

void MainWindow::askForLayoutName()
{
    auto* ask = new QInputDialog(this);
    ask->setObjectName(u"layoutNameDialog"_s);
    ask->setAttribute(Qt::WA_DeleteOnClose);
    ask->setWindowTitle(tr("Save Layout"));
    ask->setLabelText(tr("Name of the layout; one of the same name is replaced"));
    connect(ask, &QInputDialog::textValueSelected, this, [this](const QString& name) {
        if (!name.trimmed().isEmpty())
            m_settings.setLayout(name.trimmed(), m_docks->state());
    });
    ask->open();
}

void MainWindow::showSettings()
{
    auto* dialog = new SettingsDialog(m_settings, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &SettingsDialog::themeChosen, this,
        [this](ThemeMode mode) { m_actions.themes()[static_cast<qsizetype>(mode)]->trigger(); });
    connect(dialog, &SettingsDialog::textSizeChosen, this, [this](int percent) {
        m_settings.setTextSize(percent);
        applyTextSize(percent);
    });
    connect(dialog, &SettingsDialog::jobLimitChosen, this, [this](int jobs) {
        m_settings.setJobLimit(jobs);
        m_docks->jobs()->setLimit(jobs);
    });
    dialog->open();
}

} // namespace shardscope::ui
