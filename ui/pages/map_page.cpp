// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/map_page.h"

#include "ui/layoutmap/layout_map_view.h"
#include "ui/session/check_run.h"
#include "ui/session/findings/finding_store.h"
#include "ui/text/text.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageEntry MapPage::entry()
{
    return {u"map"_s, u"actionMap"_s, tr("Partition map"), tr("Partition &Map"), u"map"_s, u"concepts"_s,
        [](const PageContext& context, QWidget* parent) -> Page* {
            auto* page = new MapPage(context.theme, context.selection, parent);
            page->followFindings(context.findings);
            return page;
        }};
}

void MapPage::showSession(const Session& session)
{
    setCheckpoint(session.checkpoint(), session.looks());
}

bool MapPage::isBusy() const
{
    return isVisible() && m_map->isBusy();
}

MapPage::MapPage(Theme& theme, Selection& selection, QWidget* parent)
    : Page(parent)
    , m_map(new LayoutMapView(&theme, this))
    , m_empty(new QLabel(this))
{
    setObjectName(u"mapPage"_s);
    m_map->setObjectName(u"layoutMap"_s);
    m_map->setSelection(&selection);
    m_empty->setObjectName(u"mapEmpty"_s);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setMargin(40);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->addWidget(m_map, 1);
    rows->addWidget(m_empty, 1);
    setFocusProxy(m_map);
    connect(m_map, &LayoutMapView::parameterActivated, this, &MapPage::parameterActivated);
    setCheckpoint(nullptr);
}

void MapPage::setCheckpoint(const CheckpointPtr& checkpoint, const MapLooksPtr& looks)
{
    m_checkpoint = checkpoint;
    m_marked.reset(); // the map forgets them
    const bool hasSections = checkpoint && looks && !looks->sections.empty();
    m_map->setCheckpoint(hasSections ? checkpoint : nullptr, hasSections ? looks : nullptr);
    m_map->setVisible(hasSections);
    m_empty->setVisible(!hasSections);
    if (!checkpoint)
        m_empty->setText(tr("Open a checkpoint to see where its elements are stored."));
    else if (checkpoint->modelError)
        m_empty->setText(tr("There is no layout to draw.\n%1").arg(errorText(*checkpoint->modelError)));
    else
        m_empty->setText(tr("This checkpoint has no tensors to draw."));
    showFindings();
}

void MapPage::followFindings(const FindingStore& store)
{
    m_store = &store;
    connect(&store, &FindingStore::changed, this, &MapPage::showFindings);
    showFindings();
}

void MapPage::showFindings()
{
    if (m_store == nullptr || !m_checkpoint)
        return;
    const FindingStore::Findings found = m_store->of(m_checkpoint);
    const bool isSame
        = found == m_marked || (m_marked && found->size() == m_marked->size() && m_store->run().isRunning());
    if (isSame)
        return; // a check reports more often than it finds something
    m_marked = found;
    m_map->setFindings(*found);
}

} // namespace shardscope::ui
