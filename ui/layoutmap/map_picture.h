// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <QPicture>

namespace shardscope::ui {

class LayoutMapView;

/// What a map shows, taken down so that a worker can write it to a file: as PNG in the screen's resolution,
/// as SVG with every cell a shape and every name a text. Value type.
struct MapPicture {
    /// A part of the view as its painter's commands, and where it stands.
    struct Part {
        QPoint at;
        QPicture drawing;
    };

    QString caption; ///< one line above: what this is and where it comes from
    QSize size; ///< logical pixels, caption and all
    double ratio = 1; ///< device pixels per logical pixel
    std::vector<Part> parts; ///< ruler, ranks, pinned rows, legend
    QPoint cellsAt; ///< where the map itself stands
    MapRenderRequest cells; ///< the map itself, in device pixels
    QPicture overlay; ///< names, values, marks; in device pixels
};

/// GUI thread; cheap. The view must show a map.
MapPicture takeMapPicture(LayoutMapView& view, const QString& caption);

/// Writes *.svg as SVG, all else as PNG; says why it cannot, or nothing. Takes time: for a worker.
QString saveMapPicture(const MapPicture& picture, const QString& path);

} // namespace shardscope::ui
