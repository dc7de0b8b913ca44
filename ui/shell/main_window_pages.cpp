// SPDX-License-Identifier: Apache-2.0
// Pages in their own windows, and ways to a page.
#include "ui/shell/main_window.h"

#include "ui/dialogs/manual_window.h"
#include "ui/models/address_selection.h"
#include "ui/session/shell_words.h"
#include "ui/shell/page_filter.h"
#include "ui/shell/page_window.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

std::optional<SelectedThing> thingAt(const Checkpoint& checkpoint, const QString& address)
{
    if (auto thing = selectionOf(checkpoint, address))
        return std::move(*thing);
    const auto param = checkpoint.findParam(address.toStdString()); // without elements it has no address
    if (!param)
        return std::nullopt;
    SelectedThing thing;
    thing.param = *param;
    return thing;
}

} // namespace

PageWindow* MainWindow::openPageWindow()
{
    return m_session.checkpoint() ? openPageWindow(pageEntry(m_tabs->currentId())) : nullptr;
}

void MainWindow::openPageWindows(const QStringList& pages)
{
    for (const QString& stored : pages) {
        const QStringList words = stored.split(u' ');
        const auto id = pageNamed(words.first());
        if (!id || !m_session.checkpoint())
            continue;
        PageWindow* window = openPageWindow(pageEntry(*id));
        if (words.size() > 1)
            window->restoreGeometry(QByteArray::fromBase64(words[1].toLatin1()));
        if (words.size() > 2) {
            window->setPinned(true);
            const QString place = QString::fromUtf8(QByteArray::fromBase64(words[2].toLatin1()));
            window->selection().select(thingAt(*m_session.checkpoint(), place).value_or(SelectedThing()));
        }
    }
    if (!pages.isEmpty())
        activateWindow();
}

PageWindow* MainWindow::openPageWindow(const PageEntry& entry)
{
    auto* window = new PageWindow(m_session, m_theme, this);
    Page* page = entry.make(
        {m_session, window->selection(), m_compareRun, m_findingStore, m_settings, m_theme}, window);
    addManualKey(window, entry.topic);
    connectPage(page);
    page->setLit(m_tabs->lit());
    const Page* parameters = m_tabs->page(PageId::Parameters);
    connect(parameters, &Page::matchesChanged, window, [window, page](const ParamMarks& lit) {
        if (!window->isPinned() || !lit)
            page->setLit(lit);
    });
    if (entry.id == PageId::Parameters) {
        page->setFilter(m_filter->text());
        connect(page, &Page::filterWanted, window, [this, window, page](const QString& text) {
            window->isPinned() ? page->setFilter(text) : m_filter->field()->setText(text);
        });
        connect(parameters, &Page::filtered, window, [this, window, page] {
            if (!window->isPinned())
                page->setFilter(m_filter->text());
        });
    }
    window->setPage(page, entry);
    window->show();
    window->activateWindow();
    return window;
}

bool MainWindow::goToAddress(const QString& address)
{
    if (!m_session.checkpoint())
        return false;
    auto thing = thingAt(*m_session.checkpoint(), address);
    if (thing)
        m_session.selection().select(std::move(*thing));
    return thing.has_value();
}

void MainWindow::showPageWhenOpen(const QString& name)
{
    m_wanted.page = pageNamed(name);
}

void MainWindow::selectWhenOpen(const QString& address)
{
    m_wanted.address = address;
}

void MainWindow::filterWhenOpen(const QString& text)
{
    m_wanted.filter = text;
}

QString MainWindow::viewCommand()
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    if (!checkpoint)
        return {};
    QStringList words;
    const auto add = [&](const QString& option, const QString& value) {
        if (!value.isEmpty())
            words << option << quotedWord(value);
    };
    add(u"--filter"_s, m_filter->field()->text());
    add(u"--select"_s, addressOf(*checkpoint, m_session.selection().current()));
    if (const auto& wish = m_compareRun.wish())
        add(u"--against"_s, pathText(wish->other));
    return pageCommand(
        pageEntry(m_tabs->currentId()).name, words, sourceWords(*checkpoint, m_session.place()));
}

void MainWindow::compareWith(const QString& path, bool start)
{
    showPage(PageId::Compare);
    if (m_session.isOpening())
        m_wanted.page = PageId::Compare;
    m_tabs->filled(PageId::Compare)->compareWith(path, start);
}

} // namespace shardscope::ui
