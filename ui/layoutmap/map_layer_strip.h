// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"

#include <vector>

namespace shardscope::ui {

/// A run of elements of one row that belong to one layer, or to none.
struct LayerRun {
    uint32_t layer = MapNames::kNoLayer;
    uint64_t begin = 0; ///< elements of the row
    uint64_t end = 0;
    bool operator==(const LayerRun&) const = default;
};

/// The layers in a range of a row, without gaps. Cells that no pixel shows belong to the run before them.
std::vector<LayerRun> layerRuns(
    const MapSource& source, uint32_t row, const MapGeometry& geometry, int64_t left, int64_t right);

/// The line above the ruler: which layers the elements below belong to, in the row that the ruler measures.
/// Hidden where no name has a layer.
class MapLayerStrip : public MapPart
{
    Q_OBJECT
public:
    explicit MapLayerStrip(MapViewport* viewport, QWidget* parent = nullptr);

    void setStack(MapStackPtr stack) override;
    /// The row whose layers are shown.
    void setRow(MapSource::Point row);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    MapSource::Point m_row;
};

} // namespace shardscope::ui
