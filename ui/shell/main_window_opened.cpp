// SPDX-License-Identifier: Apache-2.0
// What comes back at the next start: open checkpoints, and named layouts.
#include "ui/shell/main_window.h"

#include "ui/dialogs/settings_dialog.h"
#include "ui/pages/jobs_panel.h"
#include "ui/shell/checkpoint_bar.h"
#include "ui/shell/opened_again.h"
#include "ui/shell/page_filter.h"
#include "ui/shell/window_docks.h"
#include "ui/style/text_size.h"
#include "ui/widgets/message_bar.h"

#include <QInputDialog>
#include <QMenu>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void MainWindow::openAgain(const QList<OpenedEntry>& entries)
{
    if (entries.isEmpty())
        return;
    auto* opener = new OpenedAgain(*this, entries);
    connect(opener, &OpenedAgain::missed, this, [this](const QStringList& lines) {
        const QString text = tr("Not opened again:") % u'\n' % lines.join(u'\n');
        if (m_session.checkpoint())
            m_messages->showMessage(Severity::Warning, text);
        else
            showOpenError(Error{ErrorCode::NotFound, text.toStdString(), {}, {}});
    });
}

void MainWindow::openAgain(const OpenedEntry& entry)
{
    openPath(entry.path, entry.tag);
    m_wanted.page = pageNamed(entry.page);
    m_wanted.address = entry.selected;
    m_wanted.paramFilter = entry.filter;
}

void MainWindow::setPartner(const QString& path)
{
    m_tabs->page(PageId::Compare)->compareWith(path, false);
}

/// The checkpoints of all tabs, the one that is shown last.
void MainWindow::storeOpened()
{
    QList<OpenedEntry> entries;
    const int shown = m_open->currentIndex();
    for (int tab = 0; tab < m_open->count(); ++tab) {
        const ReadCheckpoint& read = m_open->entry(tab).read;
        const HistoryPlace seen = tab == shown ? place() : m_open->entry(tab).place;
        OpenedEntry entry;
        std::tie(entry.path, entry.tag) = placeToOpen(read);
        entry.page = pageEntry(seen.page).name;
        entry.filter = seen.filter;
        const auto& params = read.checkpoint->params;
        if (seen.thing.param != kNoParam && index(seen.thing.param) < params.size())
            entry.selected = QString::fromStdString(params[index(seen.thing.param)].name);
        if (tab == shown && m_compareRun.wish())
            entry.against = QString::fromStdString(m_compareRun.wish()->other.native());
        entries.append(entry);
    }
    if (shown >= 0 && shown < entries.size())
        std::rotate(entries.begin() + shown, entries.begin() + shown + 1, entries.end());
    m_settings.setOpened(entries);
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
