// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <vector>

namespace shardscope {

/// What a checkpoint lacks because files of ranks are missing or unreadable: the shares that the partition
/// map shows as missing. Nothing while the checkpoint is not fully read. Immutable; thread-safe.
class LostShares
{
public:
    /// O(units × ranks). Refers to `checkpoint`, which must live as long.
    explicit LostShares(const Checkpoint& checkpoint);
    /// Of one unit alone: O(ranks). kNoUnit: of none.
    LostShares(const Checkpoint& checkpoint, UnitId only);

    [[nodiscard]] bool isEmpty() const { return m_units.empty(); }
    /// The shares of a unit's partition that lack any state; ascending.
    [[nodiscard]] const std::vector<uint32_t>& of(UnitId unit) const;
    /// Those of them with elements of a parameter.
    [[nodiscard]] std::vector<uint32_t> of(ParamId param) const;
    /// Lost bytes of one state of a unit, without padding.
    [[nodiscard]] uint64_t bytesOf(UnitId unit, size_t state) const;
    /// Lost bytes of a parameter in all states of its unit.
    [[nodiscard]] uint64_t bytesOf(ParamId param) const;

private:
    struct OfUnit {
        std::vector<uint32_t> shares; ///< of any state
        std::vector<std::vector<uint32_t>> byState;
    };
    void look(size_t unit);

    const Checkpoint& m_checkpoint;
    std::vector<OfUnit> m_units; ///< by UnitId; empty if nothing is lost
};

} // namespace shardscope
