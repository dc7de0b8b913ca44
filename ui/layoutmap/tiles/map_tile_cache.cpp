// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/tiles/map_tile_cache.h"

#include <algorithm>
#include <cstdlib>

namespace shardscope::ui {

MapTileCache::MapTileCache(qint64 limitBytes)
    : m_limitBytes(limitBytes)
{
}

const QImage* MapTileCache::find(const MapTileKey& key)
{
    const auto found = m_entries.find(key);
    if (found == m_entries.end()) {
        return nullptr;
    }
    m_order.splice(m_order.begin(), m_order, found->second.position);
    return &found->second.tile;
}

void MapTileCache::insert(const MapTileKey& key, QImage tile)
{
    drop(key);
    m_bytes += tile.sizeInBytes();
    m_order.push_front(key);
    m_entries.emplace(key, Entry{std::move(tile), m_order.begin()});
    const auto layer = std::find_if(
        m_layers.begin(), m_layers.end(), [&](const auto& item) { return item.layer == key.layer; });
    if (layer == m_layers.end()) {
        m_layers.push_back({key.layer, 1});
    } else {
        ++layer->tiles;
    }
    while (m_bytes > m_limitBytes && m_order.size() > 1) {
        drop(m_order.back());
    }
}

void MapTileCache::clear()
{
    m_entries.clear();
    m_order.clear();
    m_layers.clear();
    m_bytes = 0;
}

void MapTileCache::drop(const MapTileKey& key)
{
    const auto found = m_entries.find(key);
    if (found == m_entries.end()) {
        return;
    }
    const auto layer = std::find_if(
        m_layers.begin(), m_layers.end(), [&](const auto& item) { return item.layer == found->first.layer; });
    if (--layer->tiles == 0) {
        m_layers.erase(layer);
    }
    m_bytes -= found->second.tile.sizeInBytes();
    const auto position = found->second.position;
    m_entries.erase(found);
    m_order.erase(position);
}

std::vector<MapLayer> MapTileCache::layersNear(const MapLayer& wanted) const
{
    std::vector<MapLayer> layers;
    for (const auto& item : m_layers) {
        if (item.layer.isSamePicture(wanted) && !(item.layer == wanted)) {
            layers.push_back(item.layer);
        }
    }
    const auto distance = [&](const MapLayer& layer) {
        return std::abs(layer.scale.step() - wanted.scale.step())
            + 4 * std::abs(layer.rowScale.level() - wanted.rowScale.level());
    };
    std::sort(layers.begin(), layers.end(),
        [&](const MapLayer& a, const MapLayer& b) { return distance(a) < distance(b); });
    return layers;
}

} // namespace shardscope::ui
