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
{
    setObjectName(u"pageTabs"_s);
    setTabBar(new PageTabBar(this));
    setDocumentMode(true);
    tabBar()->setAccessibleName(tr("Pages"));
    for (const PageEntry& entry : pageList())
        add(entry, context);
    connect(&context.compareRun, &CompareRun::changed, this, [this, &run = context.compareRun] {
        const CompareOutcomePtr& outcome = run.outcome();
        for (Page* page : m_pages)
            page->setDifferences(outcome ? outcome->leftMarks : nullptr);
    });
}

bool PageTabs::showSession(const Session& session)
{
    m_lit.reset();
    for (Page* page : m_pages)
        page->showSession();
    // Without a checkpoint only the runs of a folder can be looked at.
    for (int tab = 0; tab < count(); ++tab)
        setTabEnabled(tab, session.checkpoint() || static_cast<PageId>(tab) == PageId::Runs);
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
