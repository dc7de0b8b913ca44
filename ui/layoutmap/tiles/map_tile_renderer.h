// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/layoutmap/tiles: pictures of parts of the map, with tiles made on worker threads, their cache, and
// what is painted over them. It uses ui/layoutmap/geometry, ui/text; only ui/layoutmap includes it. Start
// with renderMap(), then MapTileLoader.

#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/tiles/map_tile_key.h"

#include <QImage>
#include <QRect>

namespace shardscope::ui {

/// Everything a picture of a part of the map depends on.
struct MapRenderRequest {
    MapSourcePtr source;
    MapGeometry geometry;
    MapStyle style;
    std::shared_ptr<const MapPalette> palette;
    int patternScale = 1; ///< device pixels per pattern pixel: the pixel ratio, rounded
    int64_t x = 0; ///< content pixels
    int64_t y = 0;
    int width = kTilePixels;
    int height = kTilePixels;
};

/// Height of the gap below a row of the given height; thin rows have none.
int rowGap(int rowHeight);
/// Rows taller than this are drawn as boxes with borders and patterns; below it, colour alone has to do.
inline constexpr int kTallestFlatRow = 6;

/// Draws a part of the map: kinds, patterns, borders and findings, pixel by pixel. A pure function; any
/// thread. Pixels outside the map are background.
QImage renderMap(const MapRenderRequest& request);

} // namespace shardscope::ui
