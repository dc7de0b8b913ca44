// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/rank_load.h"
#include "ui/layoutmap/geometry/map_flow.h"
#include "ui/style/theme.h"

#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace shardscope::ui {

class ElidedLabel;
class LayoutMapView;
class ReshardBands;

/// The maps of a checkpoint before and after a reshard, one below the other in one scale. Bands lead from the
/// fragment under the pointer, or the focused one, of either map to where its elements are in the other.
class ReshardMaps : public QWidget
{
    Q_OBJECT
public:
    /// One of the two checkpoints.
    struct Side {
        CheckpointPtr checkpoint; ///< null: an empty map
        MapLooksPtr looks; ///< of `checkpoint`
        QString title; ///< "Now: 4 GPUs"
        RankLoad load; ///< of `checkpoint`
    };

    ReshardMaps(const Theme& theme, QWidget* parent = nullptr);

    void setBefore(const Side& side);
    void setAfter(const Side& side);

    /// The bands on screen; empty if there are none.
    [[nodiscard]] const std::optional<MapFlow>& flow() const { return m_flow; }
    /// Where the fragment's elements go, in words.
    [[nodiscard]] QString flowText() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    friend class ReshardBands;

    void setSide(LayoutMapView* map, QLabel* title, const Side& side);
    void useOneScale();
    void onPlace(LayoutMapView* map);
    void updateFlow();
    [[nodiscard]] LayoutMapView* otherThan(const LayoutMapView* map) const;
    [[nodiscard]] QString describeFlow(const LayoutMapView& map) const;

    LayoutMapView* m_before;
    LayoutMapView* m_after;
    QLabel* m_beforeTitle;
    QLabel* m_afterTitle;
    ElidedLabel* m_words;
    ReshardBands* m_bands;
    QVBoxLayout* m_rows = nullptr;
    LayoutMapView* m_from = nullptr; ///< the map of `m_flow`'s fragment
    std::optional<MapFlow> m_flow;
};

} // namespace shardscope::ui
