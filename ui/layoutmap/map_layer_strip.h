// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/map_part.h"

#include <QString>

#include <functional>
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

/// Neighbouring layers on screen, from left to right in logical pixels.
struct LayerBox {
    uint32_t first = 0;
    uint32_t last = 0;
    double left = 0;
    double right = 0;
    QString text{}; ///< "layer 7", "7", or "7–12" of several; empty if there is no room
};

/// Gives every layer a text, in as few boxes as needed: where numbers do not fit, neighbours share one. `gap`
/// is the room around a text. Pure.
std::vector<LayerBox> labelledLayers(
    std::vector<LayerBox> layers, double gap, const std::function<double(const QString&)>& widthOf);

/// The line above the ruler: which layers the elements below belong to, in the row that the ruler measures.
/// rowText() says which one. Hidden where no name has a layer.
class MapLayerStrip : public MapPart
{
    Q_OBJECT
public:
    explicit MapLayerStrip(MapViewport* viewport, QWidget* parent = nullptr);

    void setStack(MapStackPtr stack) override;
    /// The row whose layers are shown.
    void setRow(MapSource::Point row);
    /// "dp 3": the row whose layers are shown; "all rows" if they are all
    /// alike, or "sub-group 2" if other sections have other layers.
    [[nodiscard]] QString rowText() const;
    [[nodiscard]] QSize sizeHint() const override;

Q_SIGNALS:
    void rowTextChanged();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] std::vector<LayerBox> boxes() const;

    MapSource::Point m_row;
};

} // namespace shardscope::ui
