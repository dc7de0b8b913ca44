// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// `param_alignment_paddings` of one optimizer file of ZeRO-1/2: per param group one number per parameter
/// (runtime/zero/stage_1_and_2.py, state_dict; since 0.19.8). Where withoutZeroPaddings() left the zeros out,
/// a mapping with their counts is in place of the list, so an empty list is one that is empty on disk.
class RecordedPaddings
{
public:
    /// Nothing where the file does not have the key.
    static std::optional<RecordedPaddings> of(const PickleGraph& graph);

    [[nodiscard]] size_t groups() const { return m_counts.size(); }
    /// Of parameters in a group.
    [[nodiscard]] size_t count(size_t group) const { return m_counts[group]; }
    /// Nothing where it is not a number.
    [[nodiscard]] std::optional<int64_t> padding(size_t group, size_t param) const;
    /// Whether any group has an entry.
    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] bool isAllZero() const;

private:
    const PickleGraph* m_graph = nullptr;
    std::vector<size_t> m_counts;
    std::vector<std::span<const NodeId>> m_items; ///< by group; empty where all zeros were left out
};

/// Whether an optimizer file records the paddings of its rank's units. Stock DeepSpeed compares the whole
/// list with its own, and stops where they differ. True for a file that does not have the key.
bool recordsPaddingsOf(
    const PickleGraph& optimFile, const Checkpoint& checkpoint, const std::vector<UnitId>& units);

/// An optimizer file's pickle without the list of alignment paddings, where that is long and all zero: one
/// number per parameter in every rank's file, so that keeping them would cost parameters × ranks.
PickleGraph withoutZeroPaddings(PickleGraph graph);

} // namespace shardscope
