// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/severity_index.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace shardscope {

/// A rank's part of a flat unit: the unit, and its place in the unit's partition.
using UnitShare = std::pair<UnitId, uint32_t>;

/// What one finding touches. Each is there once.
struct TouchedPlaces {
    std::vector<ParamId> params; ///< that it names, or that have the elements it names; tied ones included
    std::vector<RankCoordinate> ranks;
    std::vector<UnitId> units; ///< flat groups, sub-groups and frozen parameters
    std::vector<FileId> files;
    /// All that a rank has of a unit, where the file is lost or the finding is about the whole buffer: the
    /// parameters there are touched, too. They are not listed: a lost rank of ZeRO-3 has all of them.
    std::vector<UnitShare> shares;
};

/// The places that findings touch, decided once for all views: tables, trees, details and filters. The map
/// marks single elements (SeverityIndex); it places a finding as this does.
///
/// A finding is placed by its `parts`, else by its `where`. Elements of a parameter touch the ranks, units
/// and files that have them; a rank's buffer its rank, unit and file; a file the rank that it belongs to,
/// and what is lost with it. Immutable; thread-safe.
class FindingPlaces
{
public:
    using Findings = std::shared_ptr<const std::vector<Finding>>;
    /// Of findings, by number; ascending.
    using Numbers = std::vector<uint32_t>;

    /// O(units × ranks + fragments of what the findings name), so for a worker. A stop leaves the rest out.
    FindingPlaces(CheckpointPtr checkpoint, Findings findings, const std::stop_token& token = {});

    [[nodiscard]] const Checkpoint& checkpoint() const { return *m_checkpoint; }
    [[nodiscard]] const std::vector<Finding>& findings() const { return *m_findings; }
    [[nodiscard]] const TouchedPlaces& touched(uint32_t finding) const { return m_touched[finding]; }
    /// The parameters of `params` and `shares`; one may come twice. O(parameters there), and of shares a
    /// search. A stop leaves the rest out.
    void forEachParam(
        uint32_t finding, const std::function<void(ParamId)>& visit, const std::stop_token& token = {}) const;

    // The findings that touch a place. O(log places + findings there).
    [[nodiscard]] Numbers ofParam(ParamId param) const;
    /// Whether one that is no info touches it: as ofParam(), but it ends at the first.
    [[nodiscard]] bool hasMark(ParamId param) const;
    [[nodiscard]] Numbers ofRank(const RankCoordinate& rank) const;
    [[nodiscard]] Numbers ofUnit(UnitId unit) const;
    [[nodiscard]] Numbers ofFile(FileId file) const;

private:
    friend class FindingPlacer;
    /// The shares that can touch a parameter, from the first to the last; null if there are none.
    [[nodiscard]] std::optional<std::pair<UnitShare, UnitShare>> sharesAt(ParamId param) const;

    /// Places, ascending, each with a finding.
    template <class Key>
    using Index = std::vector<std::pair<Key, uint32_t>>;

    CheckpointPtr m_checkpoint;
    Findings m_findings;
    std::vector<TouchedPlaces> m_touched; ///< by finding
    Index<ParamId> m_params;
    Index<uint64_t> m_ranks;
    Index<UnitId> m_units;
    Index<FileId> m_files;
    Index<UnitShare> m_shares;
};
using FindingPlacesPtr = std::shared_ptr<const FindingPlaces>;

} // namespace shardscope
