// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_scale.h"
#include "ui/layoutmap/geometry/map_source.h"

#include <cstddef>
#include <cstdint>

namespace shardscope::ui {

/// Width and height of a tile, in device pixels.
inline constexpr int kTilePixels = 256;

/// Everything that determines a map's picture at one zoom, except the place in it.
struct MapLayer {
    MapQuery::Projection projection = MapQuery::Projection::Partitions;
    MapColourMode mode = MapColourMode::Kind;
    MapScale scale;
    MapRowScale rowScale;
    uint32_t theme = 0; ///< changes with the palette and the pixel ratio
    uint32_t revision
        = 0; ///< changes with the sections and their data, the state shown and the classes dimmed

    /// The same picture at another zoom?
    [[nodiscard]] bool isSamePicture(const MapLayer& other) const
    {
        return projection == other.projection && mode == other.mode && theme == other.theme
            && revision == other.revision;
    }
    bool operator==(const MapLayer&) const = default;
};

struct MapTileKey {
    MapLayer layer;
    int64_t x = 0; ///< in tiles from the content's left edge
    int64_t y = 0;
    bool operator==(const MapTileKey&) const = default;
};

struct MapTileKeyHash {
    size_t operator()(const MapTileKey& key) const
    {
        uint64_t hash = 0x9E3779B97F4A7C15u;
        const auto mix = [&](uint64_t value) {
            hash = (hash ^ value) * 0xBF58476D1CE4E5B9u;
            hash ^= hash >> 29;
        };
        mix(static_cast<uint64_t>(key.x));
        mix(static_cast<uint64_t>(key.y));
        mix(static_cast<uint64_t>(key.layer.scale.step() + 4096));
        mix(static_cast<uint64_t>(key.layer.rowScale.level() + 4096));
        mix(static_cast<uint64_t>(key.layer.projection) << 8 | static_cast<uint64_t>(key.layer.mode));
        mix(static_cast<uint64_t>(key.layer.theme) << 32 | key.layer.revision);
        return static_cast<size_t>(hash);
    }
};

} // namespace shardscope::ui
