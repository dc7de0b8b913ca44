// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_names.h"

#include "core/checkpoint/model/layer_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace shardscope::ui {

namespace {

uint8_t hueFromName(std::string_view name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char character : name) {
        hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
    }
    return static_cast<uint8_t>((hash >> 32) % MapNames::kHues);
}

uint32_t layerFromName(std::string_view name)
{
    const auto numbered = numberedName(name);
    return numbered ? numbered->number : MapNames::kNoLayer;
}

} // namespace

std::string_view nameWithoutHolder(const Checkpoint& checkpoint, ParamId param)
{
    const std::string_view name = checkpoint.params[index(param)].name;
    const size_t colon = checkpoint.parts.empty() ? std::string_view::npos : name.rfind(':');
    return colon == std::string_view::npos || colon == 0 ? name : name.substr(0, colon);
}

MapNames::MapNames(CheckpointPtr checkpoint)
    : m_checkpoint(std::move(checkpoint))
{
}

void MapNames::read() const
{
    const std::vector<Parameter>& params = m_checkpoint->params;
    m_hues.resize(params.size());
    m_layers.resize(params.size(), kNoLayer);
    for (size_t i = 0; i < params.size(); ++i) {
        m_layers[i] = layerFromName(params[i].name);
        if (m_layers[i] != kNoLayer) {
            m_highestLayer = std::max(m_highestLayer, m_layers[i]);
        }
    }
    std::unordered_map<std::string_view, uint8_t> chosen;
    uint8_t previous = kHues;
    const auto choose = [&](ParamId param) {
        const std::string_view name = nameWithoutHolder(*m_checkpoint, param);
        uint8_t hue = hueFromName(name);
        hue = hue == previous ? static_cast<uint8_t>((hue + 5) % kHues) : hue;
        previous = chosen.try_emplace(name, hue).first->second;
        m_hues[index(param)] = previous;
    };
    for (const FlatUnit& unit : m_checkpoint->units)
        std::for_each(unit.params.begin(), unit.params.end(), choose);
    for (uint32_t i = 0; i < params.size(); ++i) {
        if (params[i].unit == kNoUnit)
            choose(ParamId{i});
    }
    m_isRead.store(true, std::memory_order_release);
}

void MapNames::readAhead() const
{
    std::call_once(m_read, [this] { read(); });
}

uint8_t MapNames::hueOf(ParamId param) const
{
    std::call_once(m_read, [this] { read(); });
    return m_hues[index(param)];
}

uint32_t MapNames::layerOf(ParamId param) const
{
    std::call_once(m_read, [this] { read(); });
    return m_layers[index(param)];
}

uint32_t MapNames::highestLayer() const
{
    std::call_once(m_read, [this] { read(); });
    return m_highestLayer;
}

bool MapNames::hasLayers() const
{
    return std::any_of(m_checkpoint->params.begin(), m_checkpoint->params.end(),
        [](const Parameter& param) { return layerFromName(param.name) != kNoLayer; });
}

} // namespace shardscope::ui
