// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace shardscope {

/// The findings of a checkpoint with the parameter or file that each is about, looked up once for all units.
/// It refers to the findings that it was made from. Immutable; thread-safe.
class PlacedFindings
{
public:
    struct Item {
        const Finding* finding = nullptr;
        const Place* where = nullptr; ///< of the finding, or one of its parts
        ParamId param = kNoParam; ///< the owner, of an alias
        FileId file = kNoFile;
    };
    /// `more`: findings besides the checkpoint's own, for example the doctor's.
    explicit PlacedFindings(const Checkpoint& checkpoint, std::span<const Finding> more = {});
    [[nodiscard]] const std::vector<Item>& items() const { return m_items; }

private:
    std::vector<Item> m_items;
};

/// The places of a checkpoint's findings in one state of one flat unit, for the worst severity in a block.
///
/// A finding is placed by its `parts`, else by its `where`: a parameter's name or address marks these
/// elements on every rank that has them, a file or a record of it marks the whole rank, a rank address marks
/// its elements, and a byte of a file one element. Findings without a place, or in another unit or another
/// state of this unit, are left out. Findings about a state that the unit does not have (the 16-bit weights)
/// mark all of its states; those that say what is absent mark only that. Immutable; thread-safe.
class SeverityIndex
{
public:
    SeverityIndex() = default;
    /// `id` is kNoUnit for a unit that is not in the checkpoint: one tensor (whole_units.h).
    SeverityIndex(const Checkpoint& checkpoint, const FlatUnit& unit, UnitId id, uint32_t stateIndex,
        const PlacedFindings& findings);

    [[nodiscard]] bool isEmpty() const { return m_empty; }
    /// Worst severity over ranks [rankBegin, rankEnd) × flat offsets [begin, end), exact: −1 none, 0 info, 1
    /// warning, 2 error. Cost follows the marks near the block, not its size.
    [[nodiscard]] int8_t worst(const FlatPartition& partition, uint32_t rankBegin, uint32_t rankEnd,
        uint64_t begin, uint64_t end) const;

private:
    friend class SeverityIndexBuilder;

    /// Elements rank · partition + offset: whole ranks, single elements, and all parameters of Contiguous
    /// units.
    struct Run {
        uint64_t begin = 0;
        uint64_t end = 0;
    };
    /// Elements of one parameter of a Sliced unit. Their ranks and offsets follow from the partition.
    struct Mark {
        uint32_t param = 0;
        uint64_t begin = 0;
        uint64_t end = 0;
    };
    struct Level {
        std::vector<Run> runs; ///< ascending, disjoint
        std::vector<Mark> marks; ///< ascending by parameter and begin, disjoint
    };

    std::array<Level, 3> m_levels; ///< by severity
    bool m_empty = true;
};

} // namespace shardscope
