// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_flow.h"

#include <QWidget>

namespace shardscope::ui {

class LayoutMapView;

/// Paints a flow over two maps, one below the other, as bands from block to block. It takes no input and has
/// the size of its parent, which contains both maps.
class ReshardBands : public QWidget
{
public:
    explicit ReshardBands(QWidget* parent);

    /// `isFaint`: nobody points at it, and what is below it must stay readable.
    void setFlow(
        const std::optional<MapFlow>& flow, const LayoutMapView* from, const LayoutMapView* to, bool isFaint);
    [[nodiscard]] const std::optional<MapFlow>& flow() const { return m_flow; }
    /// The map that the flow comes from; null without one.
    [[nodiscard]] const LayoutMapView* from() const { return m_from; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Titles, rulers and headers of sections, which no line crosses.
    [[nodiscard]] QRegion texts() const;

    std::optional<MapFlow> m_flow;
    const LayoutMapView* m_from = nullptr;
    const LayoutMapView* m_to = nullptr;
    bool m_isFaint = false;
};

} // namespace shardscope::ui
