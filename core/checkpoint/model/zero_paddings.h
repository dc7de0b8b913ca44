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
    /// Whether the group's list was left out because all of it is zero.
    [[nodiscard]] bool isLeftOut(size_t group) const { return m_items[group].empty(); }
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

/// The paddings that the optimizer file of a rank with these units records. Computed once for many ranks.
class ExpectedPaddings
{
public:
    ExpectedPaddings(const Checkpoint& checkpoint, const std::vector<UnitId>& units);

    /// Whether a file records them. Stock DeepSpeed compares the whole list with its own, and stops if they
    /// differ. True for a file without the key.
    [[nodiscard]] bool areIn(const PickleGraph& optimFile) const;

private:
    struct Group {
        std::vector<int64_t> paddings; ///< behind each parameter
        bool allZero = true;
    };
    std::vector<Group> m_groups;
};

/// An optimizer file's pickle without the list of alignment paddings, if that list is long and all zero. The
/// list has one number per parameter in every rank's file, so keeping it would cost parameters × ranks of
/// memory.
PickleGraph withoutZeroPaddings(PickleGraph graph);

} // namespace shardscope
