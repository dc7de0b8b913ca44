// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_source.h"

#include "core/base/text.h"

#include <algorithm>

namespace shardscope::ui {

namespace {

uint8_t hueFromName(std::string_view name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char character : name) {
        hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
    }
    return static_cast<uint8_t>((hash >> 32) % MapSource::kHues);
}

uint32_t layerFromName(std::string_view name)
{
    while (!name.empty()) {
        const auto dot = name.find('.');
        const auto part = name.substr(0, dot);
        const bool number = !part.empty() && part.size() <= 6
            && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (number) {
            uint32_t value = 0;
            for (const char digit : part) {
                value = value * 10 + static_cast<uint32_t>(digit - '0');
            }
            return value;
        }
        name = dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
    }
    return MapSource::kNoLayer;
}

} // namespace

MapSource::MapSource(CheckpointPtr checkpoint, const MapQuery::Subject& subject, ParamLooksPtr looks,
    std::span<const Finding> more)
    : m_query(std::move(checkpoint), subject, std::move(looks), more)
{
}

void MapSource::readNames() const
{
    const auto& params = unit().params;
    m_hues.reserve(params.size());
    m_layers.reserve(params.size());
    for (const ParamId param : params) {
        const auto& name = checkpoint().params[index(param)].name;
        auto hue = hueFromName(name);
        if (!m_hues.empty() && m_hues.back() == hue) {
            hue = static_cast<uint8_t>((hue + 5) % kHues);
        }
        m_hues.push_back(hue);
        m_layers.push_back(layerFromName(name));
        if (m_layers.back() != kNoLayer) {
            m_highestLayer = std::max(m_highestLayer, m_layers.back());
        }
    }
}

const FlatUnit& MapSource::unit() const
{
    return checkpoint().units[index(m_query.unit())];
}

bool MapSource::hasEqualRows() const
{
    return projection() == MapQuery::Projection::Partitions && partition().rule() == PartitionRule::Sliced;
}

MapSource::Place MapSource::placeOf(uint32_t row, uint64_t element) const
{
    if (projection() == MapQuery::Projection::Partitions) {
        return {row, element};
    }
    const uint64_t length = std::max<uint64_t>(partition().partitionElements(), 1);
    return {static_cast<uint32_t>(element / length), element % length};
}

MapSource::Stored MapSource::storedAt(const MapCell& cell, Place place) const
{
    FlatPiece piece{
        .rank = place.rank, .paramOffset = cell.paramOffset, .flatOffset = place.offset, .elements = 1};
    if (cell.param != kNoParam)
        piece.param = checkpoint().params[index(cell.param)].indexInUnit;
    Stored out;
    state().visitPiece(piece, [&out](const StoredPiece& stored) {
        out = {stored.run, stored.runOffset};
        return false;
    });
    return out;
}

MapSource::Point MapSource::pointOf(uint32_t rank, uint64_t offset) const
{
    if (projection() == MapQuery::Projection::Partitions) {
        return {rank, offset};
    }
    return {0, rank * partition().partitionElements() + offset};
}

uint32_t MapSource::positionInUnit(ParamId param) const
{
    return checkpoint().params[index(param)].indexInUnit;
}

uint8_t MapSource::hueOf(ParamId param) const
{
    std::call_once(m_namesRead, [this] { readNames(); });
    return m_hues[positionInUnit(param)];
}

uint32_t MapSource::layerOf(ParamId param) const
{
    std::call_once(m_namesRead, [this] { readNames(); });
    return m_layers[positionInUnit(param)];
}

uint32_t MapSource::highestLayer() const
{
    std::call_once(m_namesRead, [this] { readNames(); });
    return m_highestLayer;
}

QString MapSource::nameOf(ParamId param) const
{
    const auto text = toValidUtf8(checkpoint().params[index(param)].name);
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace shardscope::ui
