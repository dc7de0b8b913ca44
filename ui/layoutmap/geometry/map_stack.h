// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/layoutmap/geometry/map_layout.h"
#include "ui/layoutmap/geometry/map_source.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// What a map shows of a checkpoint.
struct MapSubject {
    std::optional<uint32_t> section; ///< only this one of MapLooks::sections; unset: all
    std::string state; ///< where a unit has no such state, its first one is shown
    MapQuery::Projection projection = MapQuery::Projection::Partitions;
    bool files = false; ///< in place of all that: files as rows
    bool operator==(const MapSubject&) const = default;
};

/// All sections of a map, from top to bottom. Immutable; shared by the GUI thread and the tile workers.
class MapStack
{
public:
    using Point = MapSource::Point;

    MapStack(CheckpointPtr checkpoint, const MapSubject& subject, MapSource::Shared shared,
        std::span<const Finding> more = {});
    /// Of files as rows.
    MapStack(FileRowsPtr files, const MapSource::Shared& shared);

    /// Null if rows are ranks.
    [[nodiscard]] const FileRows* files() const
    {
        return m_sections.empty() ? nullptr : m_sections.front()->files();
    }
    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(m_sections.size()); }
    [[nodiscard]] const MapSourcePtr& sourcePtr(uint32_t section) const { return m_sections[section]; }
    [[nodiscard]] const MapSource& source(uint32_t section) const { return *m_sections[section]; }
    [[nodiscard]] const MapSource& sourceAt(Point point) const { return *m_sections[point.section]; }
    [[nodiscard]] const Checkpoint& checkpoint() const { return *m_checkpoint; }
    [[nodiscard]] MapQuery::Projection projection() const { return m_projection; }
    [[nodiscard]] std::optional<uint32_t> sectionOf(UnitId unit) const;
    [[nodiscard]] std::optional<uint32_t> sectionOf(ParamId param) const;
    /// `beside`: another map that is to have the same scale. Sections belong together if they have the same
    /// first parameter. Maps of different projections, and of files, have scales of their own.
    [[nodiscard]] std::vector<MapLayout::Size> sizes(const MapStack* beside = nullptr) const;
    [[nodiscard]] int8_t worstSeverity() const; ///< of everything
    /// As MapSource::otherStatesWithWorst(), of everything.
    [[nodiscard]] std::vector<std::string> otherStatesWithWorst() const;
    /// Of units and tensors.
    [[nodiscard]] const MapSectionContent& content(uint32_t section) const
    {
        return m_looks->sections[m_numbers[section]];
    }
    [[nodiscard]] MapCell cellAt(Point point) const
    {
        return sourceAt(point).cellAt(point.row, point.element);
    }
    [[nodiscard]] uint32_t highestLayer() const;

private:
    CheckpointPtr m_checkpoint;
    MapQuery::Projection m_projection = MapQuery::Projection::Partitions;
    MapLooksPtr m_looks;
    std::vector<MapSourcePtr> m_sections;
    std::vector<uint32_t> m_numbers; ///< of m_sections, in MapLooks::sections
};
using MapStackPtr = std::shared_ptr<const MapStack>;

} // namespace shardscope::ui
