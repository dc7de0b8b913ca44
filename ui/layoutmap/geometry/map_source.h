// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/layoutmap/geometry: positions, zoom, colours and words of the map; it paints nothing. Start with
// MapStack, MapSource, then MapLayout, MapGeometry and MapViewport.

#include "core/layout/map_query.h"
#include "ui/layoutmap/geometry/file_rows.h"
#include "ui/layoutmap/geometry/map_geometry.h"
#include "ui/layoutmap/geometry/map_names.h"

#include <QString>

#include <array>
#include <memory>
#include <vector>

namespace shardscope::ui {

/// What the hue of a cell means.
enum class MapColourMode : uint8_t { Kind, Parameter, Layer, Rank, Difference };
/// Those that any map has; Difference needs a comparison.
inline constexpr std::array<MapColourMode, 4> kMapColourModes
    = {MapColourMode::Kind, MapColourMode::Parameter, MapColourMode::Layer, MapColourMode::Rank};

/// One section of the map, ready to be painted: one flat unit and state, or several with the same ranks one
/// after another (frozen parameters, and tensors of distributed checkpoints, are a unit each), with hues and
/// layer numbers per parameter. Or the files, all in one section: files() says which.
///
/// Immutable after construction, shared by the GUI thread and the tile workers. Construction costs O(parts ×
/// rows) for several parts, O(cells) for files.
class MapSource
{
public:
    static constexpr uint8_t kHues = MapNames::kHues;
    static constexpr uint32_t kNoLayer = MapNames::kNoLayer;

    /// What sections of one checkpoint share; each is made here where it is null.
    struct Shared {
        MapLooksPtr looks = nullptr;
        MapNamesPtr names = nullptr;
        uint32_t number = 0; ///< of this section in its map
    };
    /// `parts` are units with the same number of ranks, in the same projection, ascending by unit or by
    /// parameter; not empty.
    MapSource(std::vector<MapQuery> parts, Shared shared);
    MapSource(CheckpointPtr checkpoint, const MapQuery::Subject& subject, MapLooksPtr looks = nullptr,
        std::span<const Finding> more = {});
    MapSource(FileRowsPtr files, Shared shared);

    /// Null if the rows are ranks. Else there are no parts, and nothing that is said of them.
    [[nodiscard]] const FileRows* files() const { return m_files.get(); }
    [[nodiscard]] uint32_t number() const { return m_number; }
    [[nodiscard]] const Checkpoint& checkpoint() const
    {
        return *(m_files ? m_files->checkpoint() : m_parts.front().checkpoint());
    }
    [[nodiscard]] MapQuery::Projection projection() const
    {
        return m_files ? MapQuery::Projection::Partitions : m_parts.front().projection();
    }
    /// Of files: the rows.
    [[nodiscard]] uint32_t ranks() const { return m_files ? rows() : unit().partition.ranks(); }
    [[nodiscard]] uint32_t rows() const { return m_files ? m_files->rows() : m_parts.front().rows(); }
    [[nodiscard]] uint64_t columns() const { return m_begins.back(); }

    /// Its units. Most sections have one; these describe the first.
    [[nodiscard]] const std::vector<MapQuery>& parts() const { return m_parts; }
    [[nodiscard]] uint64_t beginOf(size_t part) const { return m_begins[part]; }
    [[nodiscard]] size_t partAt(uint64_t element) const;
    [[nodiscard]] std::optional<size_t> partOf(UnitId unit) const;
    /// The part that has a parameter.
    [[nodiscard]] std::optional<size_t> partOf(ParamId param) const;
    /// Whether its parts are tensors that no unit of the checkpoint has.
    [[nodiscard]] bool isOutsideUnits() const { return !m_files && m_parts.front().unit() == kNoUnit; }
    [[nodiscard]] const FlatUnit& unitAt(uint64_t element) const { return m_parts[partAt(element)].flat(); }
    [[nodiscard]] const UnitState& stateAt(uint64_t element) const;
    [[nodiscard]] const MapQuery& query() const { return m_parts.front(); }
    [[nodiscard]] const FlatUnit& unit() const { return m_parts.front().flat(); }
    [[nodiscard]] const FlatPartition& partition() const { return unit().partition; }
    [[nodiscard]] const UnitState& state() const { return unit().states[m_parts.front().stateIndex()]; }

    /// As of MapQuery, over all parts, and as of FileRows.
    [[nodiscard]] MapCell cellAt(uint32_t row, uint64_t x) const;
    void forEachCell(
        uint32_t row, uint64_t begin, uint64_t end, const std::function<bool(const MapCell&)>& visit) const;
    [[nodiscard]] int8_t worstSeverity(
        uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;
    /// Of a whole row.
    [[nodiscard]] int8_t worstSeverity(uint32_t row) const;
    /// The states of a row with the worst finding there, if the state that is shown does not have it; else
    /// none.
    [[nodiscard]] std::vector<std::string> otherStatesWithWorst(
        uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;
    [[nodiscard]] bool anyMissing(uint32_t rowBegin, uint32_t rowEnd) const;
    [[nodiscard]] MapQuery::Sum sum(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin, uint64_t end) const;
    /// Of a part of one row; parameters are not counted. Whole rows are known.
    [[nodiscard]] MapQuery::Sum amounts(uint32_t row, uint64_t begin, uint64_t end) const;
    /// Bytes of all states in a row, whichever is shown; not of files.
    [[nodiscard]] uint64_t bytesOfStates(uint32_t row) const;
    /// Whether the buffer of a row has padding; not of files.
    [[nodiscard]] bool hasPadding(uint32_t row) const;
    /// Of everything; known where there is not one part.
    [[nodiscard]] MapQuery::Sum total() const;

    /// Rows that all have the same parameter at the same offset: ZeRO-3 as partitions.
    [[nodiscard]] bool hasEqualRows() const;

    /// The rank and the offset inside its flat buffer of a point, and back.
    struct Place {
        uint32_t rank = 0;
        uint64_t offset = 0;
        size_t part = 0;
    };
    [[nodiscard]] Place placeOf(uint32_t row, uint64_t element) const;
    struct Stored {
        StoredRun run; ///< absent if nothing is stored
        uint64_t offset = 0; ///< the element inside the run
    };
    /// What stores the first element of the cell at `place`.
    [[nodiscard]] Stored storedAt(const MapCell& cell, Place place) const;
    /// A place of the map: a row and an element of one of its sections.
    struct Point {
        uint32_t row = 0;
        uint64_t element = 0;
        uint32_t section = 0;
        bool operator==(const Point&) const = default;
    };
    [[nodiscard]] Point pointOf(uint32_t rank, uint64_t offset, size_t part = 0) const;

    [[nodiscard]] uint8_t hueOf(ParamId param) const { return m_names->hueOf(param); }
    [[nodiscard]] uint32_t layerOf(ParamId param) const { return m_names->layerOf(param); }
    [[nodiscard]] uint32_t highestLayer() const { return m_names->highestLayer(); }
    [[nodiscard]] bool hasReadNames() const { return m_names->isRead(); }

    /// The name as display text; invalid bytes replaced.
    [[nodiscard]] QString nameOf(ParamId param) const;
    /// The name without the suffix that tells slices of the same name apart: the section says which one it
    /// is.
    [[nodiscard]] QString labelOf(ParamId param) const;

private:
    void lookAtRows();
    [[nodiscard]] uint64_t countBytes(uint32_t row) const;
    template <class SumOf>
    [[nodiscard]] MapQuery::Sum sumOfParts(uint64_t begin, uint64_t end, SumOf sumOf) const;

    FileRowsPtr m_files;
    std::vector<MapQuery> m_parts;
    std::vector<uint64_t> m_begins; ///< first element of each part, and the number of all
    // Of files and of several parts, so that no query has to visit all of them:
    std::vector<bool> m_missingRows;
    std::vector<MapQuery::Sum> m_rowSums;
    std::vector<uint64_t> m_rowBytes; ///< of all states
    MapQuery::Sum m_total;
    bool m_hasFindings = false;
    MapNamesPtr m_names;
    uint32_t m_number;
};

using MapSourcePtr = std::shared_ptr<const MapSource>;

} // namespace shardscope::ui
