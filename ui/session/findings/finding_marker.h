// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/finding_places.h"
#include "ui/jobs/latest_only.h"
#include "ui/session/findings/finding_store.h"

#include <QObject>

#include <functional>

namespace shardscope::ui {

/// Looks up, on a worker, what the findings of a checkpoint touch, again whenever they change: for views that
/// mark it. Lives on the GUI thread.
class FindingMarker : public QObject
{
    Q_OBJECT
public:
    using Receive = std::function<void(const FindingPlacesPtr&)>;

    /// `store` outlives it. `receive` gets null until the places of a checkpoint are known.
    FindingMarker(const FindingStore& store, Receive receive, QObject* parent = nullptr);

    void setCheckpoint(const CheckpointPtr& checkpoint);
    [[nodiscard]] bool isBusy() const { return m_finder.isRunning(); }

private:
    void look();

    const FindingStore& m_store;
    Receive m_receive;
    CheckpointPtr m_checkpoint;
    FindingStore::Findings m_found; ///< that were looked up, or are
    LatestOnly m_finder{WorkLength::Short};
};

} // namespace shardscope::ui
