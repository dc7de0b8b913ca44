// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/finding_places.h"
#include "ui/jobs/latest_only.h"

#include <QObject>

namespace shardscope::ui {

class FindingStore;

/// Looks up, on a worker, what the findings of a checkpoint touch, again whenever they change: once for all
/// views that mark it. Lives on the GUI thread.
class FindingMarker : public QObject
{
    Q_OBJECT
public:
    /// `store` outlives it.
    explicit FindingMarker(const FindingStore& store, QObject* parent = nullptr);

    /// Looks up the places of this checkpoint from now on; null: of none. Without effect if it is the same
    /// one, so that every view can name what it shows.
    void follow(const CheckpointPtr& checkpoint);
    /// Null until they are known, and for a checkpoint that is not followed.
    [[nodiscard]] FindingPlacesPtr of(const CheckpointPtr& checkpoint) const;
    [[nodiscard]] bool isBusy() const { return m_finder.isRunning(); }

Q_SIGNALS:
    /// Places are known, or other ones.
    void changed();

private:
    void look();

    const FindingStore& m_store;
    CheckpointPtr m_checkpoint;
    FindingPlaces::Findings m_found; ///< that were looked up, or are
    FindingPlacesPtr m_places;
    LatestOnly m_finder{WorkLength::Short};
};

} // namespace shardscope::ui
