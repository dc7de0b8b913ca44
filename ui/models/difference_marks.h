// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/judged_diff.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::ui {

/// How one state of a parameter compares to the other checkpoint's.
/// OtherState: equal, but another state of the parameter has other values.
enum class DifferenceMark : uint8_t { Equal, LastBit, Values, OneSide, OtherState, NotCompared };
inline constexpr size_t kDifferenceMarks = 6;

/// Elements of one state of a parameter, and what the comparison found among them.
struct MarkedPiece {
    DifferenceMark mark = DifferenceMark::NotCompared;
    bool isWhole = true; ///< the mark is that of all elements of the state; nothing else is known
    ElementRuns::Part different{};
    uint64_t lackingHere = 0; ///< elements; at most that many where `isExact` is false
    uint64_t lackingThere = 0;
};

/// The outcome of a comparison for the map of one side. Immutable; shared between threads.
struct DifferenceMarks {
    /// By state and ParamId of the checkpoint that is drawn: of all elements of the state. A state that is
    /// not listed was not compared.
    std::vector<std::pair<std::string, std::vector<DifferenceMark>>> states;
    bool isRight = false; ///< which side is drawn
    bool padding = false; ///< bytes of stored padding differ, somewhere
    uint32_t present = 0; ///< bit per mark: on this side
    uint32_t otherPresent = 0; ///< and on the other one
    std::shared_ptr<const JudgedDiff> judged; ///< owns the objects of `params`
    std::vector<const ParamDifference*> params; ///< by ParamId, as above; null: equal, or not compared

    /// By ParamId: the first of the parameter's in judged->diff.regions.states(), or kNoRegions if it has
    /// none, or if its stored elements cannot be found there.
    static constexpr uint32_t kNoRegions = 0xFFFFFFFF;
    std::vector<uint32_t> regions;
    std::vector<ParamId> compared; ///< by ParamId: the parameter of the compared checkpoint
    std::shared_ptr<const MergedSlices> slices; ///< of those parameters, if what is drawn is their slices

    /// Null where the state was not compared.
    [[nodiscard]] const std::vector<DifferenceMark>* ofState(std::string_view state) const;
    /// The elements [begin, end) of a parameter's state as they are stored, for example one fragment. O(log
    /// runs), of slices for each of their runs.
    [[nodiscard]] MarkedPiece ofPiece(
        ParamId param, std::string_view state, uint64_t begin, uint64_t end) const;
    /// Whether all pieces of the parameter's states have the marks of the whole states.
    [[nodiscard]] bool isUniform(ParamId param) const
    {
        return index(param) >= regions.size() || regions[index(param)] == kNoRegions;
    }
    /// The numbers for parameters marked LastBit or Values; null for others.
    [[nodiscard]] const StateDifference* valuesOf(ParamId param, std::string_view state) const;
    /// The states of a parameter whose values differ among its stored elements [begin, end), as this side
    /// names them.
    [[nodiscard]] std::vector<std::string> differentStates(ParamId param, uint64_t begin, uint64_t end) const;
    /// The state to begin with: one that differs, if any does.
    [[nodiscard]] std::string firstDifferentState() const;
};
using DifferenceMarksPtr = std::shared_ptr<const DifferenceMarks>;

/// `drawn` is one of the two checkpoints as stored in files; `states` are the compared states, empty for
/// all.
std::shared_ptr<DifferenceMarks> differenceMarks(std::shared_ptr<const JudgedDiff> judged, bool isRight,
    const Checkpoint& drawn, const std::vector<std::string>& states);

/// Of two marks of neighbours that share a pixel, the one to show.
DifferenceMark worseMark(DifferenceMark one, DifferenceMark other);

/// Finds a parameter of `from` in `to` by its name, or by the part before the colon that names a slice.
ParamId sameParameter(const Checkpoint& from, ParamId param, const Checkpoint& to);

} // namespace shardscope::ui
