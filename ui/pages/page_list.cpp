// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/filter_bar.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/files_page.h"
#include "ui/pages/findings_page.h"
#include "ui/pages/health_page.h"
#include "ui/pages/map_page.h"
#include "ui/pages/overview_page.h"
#include "ui/pages/parameters_page.h"
#include "ui/pages/runs_page.h"
#include "ui/pages/tensor_page.h"

#include <QLabel>

namespace shardscope::ui {

Page::Page(const PageContext& context, QWidget* parent)
    : QWidget(parent)
    , m_context(context)
{
}

void Page::showSession()
{
    m_checkpoint = m_context.session.checkpoint();
    m_place = m_context.session.place();
    showCheckpoint();
    follow(m_context.selection.current());
}

void Page::leaveSession()
{
    m_place = {};
    if (std::exchange(m_checkpoint, nullptr))
        leaveCheckpoint();
}

QLabel* Page::makeEmpty(const QString& name)
{
    auto* label = new QLabel(this);
    label->setObjectName(name);
    label->setAlignment(Qt::AlignCenter);
    label->setWordWrap(true);
    label->setMargin(40);
    return label;
}

FilterBar* Page::makeFilterBar()
{
    m_filterBar = new FilterBar(m_context.theme, this);
    connect(m_filterBar, &FilterBar::filterWanted, this, &Page::filterWanted);
    return m_filterBar;
}

void Page::showFilter(const FilterView& view)
{
    if (m_filterBar != nullptr)
        m_filterBar->show(view);
}

void Page::tellFilter(const FilterView& view)
{
    showFilter(view);
    Q_EMIT filtered(view);
}

const QList<PageEntry>& pageList()
{
    static const QList<PageEntry> kPages{OverviewPage::entry(), MapPage::entry(), ParametersPage::entry(),
        TensorPage::entry(), FilesPage::entry(), ComparePage::entry(), FindingsPage::entry(),
        RunsPage::entry(), HealthPage::entry()};
    return kPages;
}

const PageEntry& pageEntry(PageId id)
{
    return pageList()[static_cast<qsizetype>(id)];
}

std::optional<PageId> pageNamed(const QString& name)
{
    for (const PageEntry& entry : pageList())
        if (entry.name == name)
            return entry.id;
    return std::nullopt;
}

} // namespace shardscope::ui
