// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/tiles/map_tile_key.h"

#include <QImage>

#include <list>
#include <unordered_map>
#include <vector>

namespace shardscope::ui {

/// Finished tiles, least recently used ones dropped beyond a byte limit. GUI thread only.
class MapTileCache
{
public:
    static constexpr qint64 kDefaultBytes = qint64{128} << 20;

    explicit MapTileCache(qint64 limitBytes = kDefaultBytes);

    /// The tile, now the most recently used one; null when it is not here.
    [[nodiscard]] const QImage* find(const MapTileKey& key);
    [[nodiscard]] bool contains(const MapTileKey& key) const { return m_entries.contains(key); }
    void insert(const MapTileKey& key, QImage tile);
    void clear();

    [[nodiscard]] qint64 bytes() const { return m_bytes; }
    [[nodiscard]] size_t size() const { return m_entries.size(); }

    /// The zooms of one picture that have tiles here, nearest zoom first: what to stretch while a tile is
    /// missing.
    [[nodiscard]] std::vector<MapLayer> layersNear(const MapLayer& wanted) const;

private:
    using Order = std::list<MapTileKey>;
    struct Entry {
        QImage tile;
        Order::iterator position;
    };
    struct LayerCount {
        MapLayer layer;
        size_t tiles = 0;
    };

    void drop(const MapTileKey& key);

    qint64 m_limitBytes;
    qint64 m_bytes = 0;
    Order m_order; ///< most recent first
    std::unordered_map<MapTileKey, Entry, MapTileKeyHash> m_entries;
    std::vector<LayerCount> m_layers;
};

} // namespace shardscope::ui
