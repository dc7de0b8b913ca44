// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/layoutmap/tiles: pictures of parts of the map, with tiles made on worker threads, their cache,
// and what is painted over them. Start with renderMap(), then MapTileLoader.

#include "ui/layoutmap/geometry/map_row_sampler.h"
#include "ui/layoutmap/geometry/map_stack.h"
#include "ui/layoutmap/tiles/map_tile_key.h"

#include <QImage>
#include <QRect>

namespace shardscope::ui {

/// Everything a picture of a part of one section depends on.
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

/// The same of a part of the whole map.
struct MapStackRequest {
    MapStackPtr stack;
    std::shared_ptr<const MapLayout> layout;
    MapStyle style;
    std::shared_ptr<const MapPalette> palette;
    int patternScale = 1;
    int64_t x = 0; ///< content pixels
    int64_t y = 0;
    int width = kTilePixels;
    int height = kTilePixels;

    /// The part of a section in this picture, and where in the picture it begins; without height if there is
    /// none.
    struct Piece {
        MapRenderRequest request;
        int top = 0;
    };
    [[nodiscard]] Piece pieceOf(uint32_t section) const;
    /// The sections with rows in the picture.
    [[nodiscard]] MapRange sections() const;
};

/// Height of the gap below a row of the given height; thin rows have none.
int rowGap(int rowHeight);
/// Rows taller than this are drawn as boxes with borders and patterns; below it, colour alone has to do.
inline constexpr int kTallestFlatRow = 6;

/// Draws a part of the map: kinds, patterns, borders and findings, pixel by pixel. A pure function; any
/// thread. Pixels outside the map are background.
QImage renderMap(const MapRenderRequest& request);
/// Headers are background; MapHeaders draws them.
QImage renderMap(const MapStackRequest& request);

} // namespace shardscope::ui
