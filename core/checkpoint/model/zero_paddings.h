// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// `param_alignment_paddings` of one optimizer file of ZeRO-1/2: per param group, one number per parameter
/// (runtime/zero/stage_1_and_2.py, state_dict; since 0.19.8). withoutZeroPaddings() replaces a list of zeros
/// by a mapping with their counts. So a list that is empty here is empty on disk.
class RecordedPaddings
{
public:
    /// Nothing if the file does not have the key.
    static std::optional<RecordedPaddings> of(const PickleGraph& graph);

    [[nodiscard]] size_t groups() const { return m_counts.size(); }
    /// Number of parameters in a group.
    [[nodiscard]] size_t count(size_t group) const { return m_counts[group]; }
    /// Nothing if the entry is not a number.
    [[nodiscard]] std::optional<int64_t> padding(size_t group, size_t param) const;
    /// Whether any group has an entry.
    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] bool isAllZero() const;

private:
    const PickleGraph* m_graph = nullptr;
    std::vector<size_t> m_counts;
    std::vector<std::span<const NodeId>> m_items; ///< by group; empty if the zeros were left out
};

/// Whether an optimizer file records the paddings of its rank's units. Stock DeepSpeed compares the whole
/// list with its own, and stops if they differ. True for a file without the key.
bool recordsPaddingsOf(
    const PickleGraph& optimFile, const Checkpoint& checkpoint, const std::vector<UnitId>& units);

/// An optimizer file's pickle without the list of alignment paddings, if that list is long and all zero. The
/// list has one number per parameter in every rank's file, so keeping it would cost parameters × ranks of
/// memory.
PickleGraph withoutZeroPaddings(PickleGraph graph);

} // namespace shardscope
