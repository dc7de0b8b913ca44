// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/save_file.h"
#include "ui/layoutmap/tiles/map_tile_renderer.h"

#include <QImage>
#include <QPicture>

namespace shardscope::ui {

class LayoutMapView;

/// A snapshot of a map that a worker can write to a file: as PNG in the screen's resolution,
/// as SVG with every cell a shape and every name a text. Value type.
struct MapPicture {
    /// A part of the view as painter commands, and its position.
    struct Part {
        QPoint at;
        QPicture drawing;
    };

    QString caption; ///< one line above the map: its content and source
    QStringList facts{}; ///< "Time: …": who made it, when and of what; kept in the file, but not drawn
    QSize size; ///< logical pixels, with the caption
    double ratio = 1; ///< device pixels per logical pixel
    std::vector<Part> parts; ///< ruler, ranks, pinned rows, legend
    QPoint cellsAt; ///< position of the map itself
    MapStackRequest cells; ///< the map itself, in device pixels
    QPicture overlay; ///< names, values, marks; in device pixels
};

/// GUI thread; cheap. The view must show a map.
MapPicture takeMapPicture(LayoutMapView& view, const QString& caption);

/// The whole map, small and without words, as large as `pixels`; null if there is no map. Slow: for a worker.
/// `findings`: of the check, besides those from opening the checkpoint.
QImage mapThumbnail(const CheckpointPtr& checkpoint, const MapLooksPtr& looks,
    const std::vector<Finding>& findings, const MapPalette& palette, QSize pixels);

/// In device pixels, for the clipboard. Slow: for a worker.
QImage imageOf(const MapPicture& picture);

/// Writes *.svg as SVG, all else as PNG. Returns the error text, or an empty text. Slow: for a worker.
QString saveMapPicture(const MapPicture& picture, const SaveTarget& target);

} // namespace shardscope::ui
