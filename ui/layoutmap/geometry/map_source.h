// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/layoutmap/geometry: positions, zoom, colours and words of the map; it paints nothing. It uses
// ui/{models,jobs,text,style}, core/layout and lower rooms. Start with MapSource, then MapGeometry and
// MapViewport.

#include "core/layout/map_query.h"
#include "ui/layoutmap/geometry/map_geometry.h"

#include <QString>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace shardscope::ui {

/// What the hue of a cell means.
enum class MapColourMode : uint8_t { Kind, Parameter, Layer, Rank, Difference };
/// Those that any map has; Difference needs a comparison.
inline constexpr std::array<MapColourMode, 4> kMapColourModes
    = {MapColourMode::Kind, MapColourMode::Parameter, MapColourMode::Layer, MapColourMode::Rank};

/// One flat unit and state, ready to be painted: the layout's answers plus hues and layer numbers per
/// parameter.
///
/// Immutable after construction, shared by the GUI thread and the tile workers.
class MapSource
{
public:
    static constexpr uint8_t kHues = 12;
    static constexpr uint32_t kNoLayer = 0xFFFFFFFFu;

    MapSource(CheckpointPtr checkpoint, const MapQuery::Subject& subject, ParamLooksPtr looks = nullptr,
        std::span<const Finding> more = {});

    [[nodiscard]] const MapQuery& query() const { return m_query; }
    [[nodiscard]] const Checkpoint& checkpoint() const { return *m_query.checkpoint(); }
    [[nodiscard]] const FlatUnit& unit() const;
    [[nodiscard]] const FlatPartition& partition() const { return unit().partition; }
    [[nodiscard]] const UnitState& state() const { return unit().states[m_query.stateIndex()]; }
    [[nodiscard]] MapQuery::Projection projection() const { return m_query.projection(); }
    [[nodiscard]] uint32_t ranks() const { return partition().ranks(); }

    /// Rows that all have the same parameter at the same offset: ZeRO-3 as partitions.
    [[nodiscard]] bool hasEqualRows() const;

    /// The rank and the offset inside its flat buffer of a point, and back.
    struct Place {
        uint32_t rank = 0;
        uint64_t offset = 0;
    };
    [[nodiscard]] Place placeOf(uint32_t row, uint64_t element) const;
    struct Stored {
        StoredRun run; ///< absent if nothing is stored
        uint64_t offset = 0; ///< the element inside the run
    };
    /// What stores the first element of the cell at `place`.
    [[nodiscard]] Stored storedAt(const MapCell& cell, Place place) const;
    struct Point {
        uint32_t row = 0;
        uint64_t element = 0;
    };
    [[nodiscard]] Point pointOf(uint32_t rank, uint64_t offset) const;

    /// 0 … kHues−1, from the name; neighbours in the flat order differ.
    [[nodiscard]] uint8_t hueOf(ParamId param) const;
    /// The first number in the dotted name, kNoLayer when there is none; and the highest of them.
    [[nodiscard]] uint32_t layerOf(ParamId param) const;
    [[nodiscard]] uint32_t highestLayer() const;

    /// The name as display text; invalid bytes replaced.
    [[nodiscard]] QString nameOf(ParamId param) const;

private:
    [[nodiscard]] uint32_t positionInUnit(ParamId param) const;
    void readNames() const;

    MapQuery m_query;
    /// Only some colour modes use names; they are read when the first such mode is shown.
    mutable std::once_flag m_namesRead;
    mutable std::vector<uint8_t> m_hues;
    mutable std::vector<uint32_t> m_layers;
    mutable uint32_t m_highestLayer = 0;
};

using MapSourcePtr = std::shared_ptr<const MapSource>;

} // namespace shardscope::ui
