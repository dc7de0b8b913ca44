// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/tensor/comparison.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

/// Elements [begin, end) of a tensor. `count` of them are meant: fewer than all if runs were joined.
struct DiffRun {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t count = 0;
    bool operator==(const DiffRun&) const = default;
};

/// Elements of one tensor as ascending runs with gaps between them, at most kMost. Beyond that the shortest
/// gaps are closed, of equal ones the last. The result does not depend on how the elements are divided into
/// calls. Value type.
class ElementRuns
{
public:
    static constexpr size_t kMost = 256;

    /// Elements after all those that were added; `begin` < `end`.
    void add(uint64_t begin, uint64_t end, uint64_t count);
    void append(const ElementRuns& further); ///< of later elements, or the next ones
    void shorten(size_t most);

    [[nodiscard]] const std::vector<DiffRun>& runs() const { return m_runs; }
    [[nodiscard]] bool isEmpty() const { return m_runs.empty(); }
    /// A run's elements inside [begin, end), and how many of them are meant: at most that many where a run of
    /// which not all are meant is cut (`isExact` false).
    struct Part {
        uint64_t elements = 0;
        uint64_t count = 0;
        bool isExact = true;
    };
    [[nodiscard]] Part in(uint64_t begin, uint64_t end) const;

private:
    std::vector<DiffRun> m_runs;
    uint64_t m_closed = 0; ///< gaps up to this length are closed at once: kMost are longer
};

/// Where two tensors of one size differ, as Comparison::different counts it. `found`: their comparison.
ElementRuns differentRuns(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Comparison& found);

/// Where one state of a parameter differs, and what was not compared. Sides: 0 left, 1 right.
struct StateRegions {
    ParamId left = kNoParam;
    ParamId right = kNoParam;
    uint32_t state = 0; ///< DiffRegions::stateName()
    ElementRuns different;
    std::array<ElementRuns, 2> lacking; ///< elements that a side does not have, or that cannot be read

    [[nodiscard]] bool isEmpty() const
    {
        return different.isEmpty() && lacking[0].isEmpty() && lacking[1].isEmpty();
    }
    [[nodiscard]] size_t runs() const
    {
        return different.runs().size() + lacking[0].runs().size() + lacking[1].runs().size();
    }
};

/// The regions of all states that differ or were not compared in full, by parameters as paired. At most
/// kMostRuns runs of 24 bytes: with more of them all states have fewer, in the end one of each kind.
class DiffRegions
{
public:
    static constexpr size_t kMostRuns = size_t{1} << 20;

    /// `names`: of the state, by side. Nothing is added without runs.
    void add(StateRegions regions, const std::array<std::string, 2>& names);
    [[nodiscard]] const std::vector<StateRegions>& states() const { return m_states; }
    [[nodiscard]] const std::string& stateName(const StateRegions& regions, size_t side) const
    {
        return m_names[regions.state][side];
    }

private:
    void shorten(StateRegions& regions) const;

    std::vector<StateRegions> m_states;
    std::vector<std::array<std::string, 2>> m_names;
    size_t m_runs = 0;
    size_t m_most = ElementRuns::kMost; ///< per list
};

} // namespace shardscope
