// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_marker.h"

#include "ui/jobs/free_later.h"
#include "ui/session/check_run.h"
#include "ui/session/findings/finding_store.h"

namespace shardscope::ui {

FindingMarker::FindingMarker(const FindingStore& store, QObject* parent)
    : QObject(parent)
    , m_store(store)
{
    connect(&store, &FindingStore::changed, this, &FindingMarker::look);
}

void FindingMarker::follow(const CheckpointPtr& checkpoint)
{
    if (checkpoint == m_checkpoint)
        return;
    m_checkpoint = checkpoint;
    m_found.reset();
    m_places.reset();
    m_finder.cancel();
    look();
}

FindingPlacesPtr FindingMarker::of(const CheckpointPtr& checkpoint) const
{
    return checkpoint && checkpoint == m_checkpoint ? m_places : nullptr;
}

void FindingMarker::look()
{
    if (!m_checkpoint)
        return;
    const FindingStore::Findings found = m_store.of(m_checkpoint);
    const bool isSame
        = found == m_found || (m_found && found->size() == m_found->size() && m_store.run().isRunning());
    if (isSame)
        return; // a check reports more often than it finds something
    m_found = found;
    m_finder.run<FindingPlacesPtr>(
        [checkpoint = m_checkpoint, found](
            const std::stop_token& token, const std::function<void(FindingPlacesPtr)>& deliver) {
            auto places = std::make_shared<const FindingPlaces>(checkpoint, found, token);
            if (!token.stop_requested())
                deliver(freedOnWorker(std::move(places)));
        },
        [this](const FindingPlacesPtr& places) {
            m_places = places;
            Q_EMIT changed();
        });
}

} // namespace shardscope::ui
