// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_layout.h"
#include "ui/layoutmap/geometry/map_source.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// What one section of a map has: units, or tensors that no unit has.
struct MapSectionContent {
    std::vector<UnitId> units;
    std::vector<const WholeTensor*> tensors; ///< of the checkpoint
};
/// The sections of a checkpoint, from top to bottom.
///
/// A group and a sub-group have a section each, in every tensor slice and stage. The frozen parameters of a
/// part share one, and so do the tensors of a group that are a unit each (distributed checkpoints). Frozen
/// parameters and buffers that are stored whole, and weights alone, come last, with a section for each kind.
std::vector<MapSectionContent> mapSections(const Checkpoint& checkpoint);
/// Names of the states that sections have, in order of first use.
std::vector<std::string> mapStates(
    const Checkpoint& checkpoint, const std::vector<MapSectionContent>& sections);

/// What a map shows of a checkpoint.
struct MapSubject {
    std::optional<uint32_t> section; ///< only this one of mapSections(); unset: all
    std::string state; ///< where a unit has no such state, its first one is shown
    MapQuery::Projection projection = MapQuery::Projection::Partitions;
    bool operator==(const MapSubject&) const = default;
};

/// All sections of a map, from top to bottom. Immutable; shared by the GUI thread and the tile workers.
class MapStack
{
public:
    using Point = MapSource::Point;

    MapStack(CheckpointPtr checkpoint, const MapSubject& subject, MapSource::Shared shared,
        std::span<const Finding> more = {});
    /// `sections` are mapSections() of the checkpoint, which takes a scan of its tensors.
    MapStack(CheckpointPtr checkpoint, const std::vector<MapSectionContent>& sections,
        const MapSubject& subject, MapSource::Shared shared, std::span<const Finding> more);

    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(m_sections.size()); }
    [[nodiscard]] const MapSourcePtr& sourcePtr(uint32_t section) const { return m_sections[section]; }
    [[nodiscard]] const MapSource& source(uint32_t section) const { return *m_sections[section]; }
    [[nodiscard]] const MapSource& sourceAt(Point point) const { return *m_sections[point.section]; }
    [[nodiscard]] const Checkpoint& checkpoint() const { return *m_checkpoint; }
    [[nodiscard]] MapQuery::Projection projection() const { return m_projection; }
    [[nodiscard]] std::optional<uint32_t> sectionOf(UnitId unit) const;
    [[nodiscard]] std::optional<uint32_t> sectionOf(ParamId param) const;
    [[nodiscard]] std::vector<MapLayout::Size> sizes() const;
    [[nodiscard]] int8_t worstSeverity() const; ///< of everything
    [[nodiscard]] MapCell cellAt(Point point) const
    {
        return sourceAt(point).cellAt(point.row, point.element);
    }
    [[nodiscard]] uint32_t highestLayer() const;

private:
    CheckpointPtr m_checkpoint;
    MapQuery::Projection m_projection;
    std::vector<MapSourcePtr> m_sections;
};
using MapStackPtr = std::shared_ptr<const MapStack>;

} // namespace shardscope::ui
