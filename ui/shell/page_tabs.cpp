// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/page_tabs.h"

#include "ui/dialogs/manual_window.h"
#include "ui/shell/page_tab_bar.h"
#include "ui/style/icons.h"

#include <QTabBar>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageTabs::PageTabs(const PageContext& context, QWidget* parent)
    : QTabWidget(parent)
    , m_compareRun(context.compareRun)
{
    setObjectName(u"pageTabs"_s);
    setTabBar(new PageTabBar(this));
    setDocumentMode(true);
    tabBar()->setAccessibleName(tr("Pages"));
    connect(&context.compareRun, &CompareRun::changed, this, [this] {
        for (Page* page : m_pages)
            if (!m_behind.contains(page))
                markDifferences(page);
    });
    // First of all that hear of it: what they ask the page is what it shows.
    connect(this, &QTabWidget::currentChanged, this, [this] { filled(currentId()); });
}

void PageTabs::addPages(const PageContext& context)
{
    for (const PageEntry& entry : pageList())
        add(entry, context);
}

void PageTabs::leaveSession()
{
    m_filling.clear();
    for (Page* page : m_pages) {
        if (page == current() || page->servesOthers())
            continue;
        page->leaveSession();
        m_behind.insert(page);
    }
}

void PageTabs::fill(Page* page)
{
    m_behind.remove(page);
    page->showSession();
    page->setLit(m_lit);
    markDifferences(page);
}

void PageTabs::markDifferences(Page* page) const
{
    const CompareOutcomePtr& outcome = m_compareRun.outcome();
    page->setDifferences(outcome ? outcome->leftMarks : nullptr);
}

Page* PageTabs::filled(PageId id)
{
    if (m_behind.contains(page(id)))
        fill(page(id));
    return page(id);
}

bool PageTabs::showSession(const Session& session)
{
    m_lit.reset();
    for (Page* page : m_pages) {
        if (!m_behind.contains(page))
            fill(page);
        else
            m_filling.add([this, page] { filled(static_cast<PageId>(m_pages.indexOf(page))); });
    }
    // Without a checkpoint only the runs of a folder can be looked at. Only the tab is disabled: a page would
    // tell every widget in it.
    const auto enable = [&](int tab) {
        tabBar()->setTabEnabled(tab, session.checkpoint() || static_cast<PageId>(tab) == PageId::Runs);
    };
    const int front = currentIndex();
    for (int tab = 0; tab < count(); ++tab)
        if (tab != front)
            enable(tab);
    enable(front); // last: the next enabled one comes to the front
    const io::Path run = session.checkpoint() ? session.checkpoint()->runFolder : io::Path();
    return std::exchange(m_run, run) != run;
}

void PageTabs::add(const PageEntry& entry, const PageContext& context)
{
    Page* page = entry.make(context, this);
    m_pages.append(page);
    setManualTopic(page, entry.topic);
    const int tab = addTab(page, themedIcon(context.theme, entry.icon, ThemeRole::MutedText), entry.title);
    connect(page, &Page::matchesChanged, this, [this](const ParamMarks& matches) {
        m_lit = matches;
        for (Page* each : m_pages)
            if (!m_behind.contains(each))
                each->setLit(matches);
    });
    connect(page, &Page::tabChanged, this, [this, page, tab] {
        const Page::Tab now = page->tab();
        setTabText(tab, now.title);
        setTabToolTip(tab, now.tip);
        setTabIcon(tab, now.icon);
    });
}

} // namespace shardscope::ui
