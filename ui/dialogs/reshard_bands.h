// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_flow.h"

#include <QWidget>

#include <vector>

namespace shardscope::ui {

class LayoutMapView;

/// Frames the blocks of a flow on two maps, one below the other, blocks that touch as one, with bands between
/// the maps that lead from the columns of each block to those of its elements. It takes no input and has the
/// size of its parent, which contains both maps.
class ReshardBands : public QWidget
{
public:
    explicit ReshardBands(QWidget* parent);

    /// `isFaint`: nobody points at it.
    void setFlow(
        const std::optional<MapFlow>& flow, const LayoutMapView* from, const LayoutMapView* to, bool isFaint);
    [[nodiscard]] const std::optional<MapFlow>& flow() const { return m_flow; }
    /// The map that the flow comes from; null without one.
    [[nodiscard]] const LayoutMapView* from() const { return m_from; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Between the maps, where nothing else is: no band crosses cells, titles or figures of a ruler.
    [[nodiscard]] QRectF gap() const;

    std::optional<MapFlow> m_flow;
    std::vector<MapBlock> m_fromFrames;
    std::vector<MapBlock> m_toFrames;
    const LayoutMapView* m_from = nullptr;
    const LayoutMapView* m_to = nullptr;
    bool m_isFaint = false;
};

} // namespace shardscope::ui
