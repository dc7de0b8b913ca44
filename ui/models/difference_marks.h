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

/// The outcome of a comparison for the map of one side. Immutable; shared between threads.
struct DifferenceMarks {
    /// By state and ParamId of the checkpoint that is drawn. A state that is not listed was not compared.
    std::vector<std::pair<std::string, std::vector<DifferenceMark>>> states;
    bool isRight = false; ///< which side is drawn
    bool padding = false; ///< bytes of stored padding differ, somewhere
    uint32_t present = 0; ///< bit per mark: on this side
    uint32_t otherPresent = 0; ///< and on the other one
    std::shared_ptr<const JudgedDiff> judged; ///< owns the objects of `params`
    std::vector<const ParamDifference*> params; ///< by ParamId, as above; null: equal, or not compared

    /// Null where the state was not compared.
    [[nodiscard]] const std::vector<DifferenceMark>* ofState(std::string_view state) const;
    /// The numbers for parameters marked LastBit or Values; null for others.
    [[nodiscard]] const StateDifference* valuesOf(ParamId param, std::string_view state) const;
    /// The states of a parameter whose values differ, as this side names them.
    [[nodiscard]] std::vector<std::string> differentStates(ParamId param) const;
    /// The state to begin with: one that differs, if any does.
    [[nodiscard]] std::string firstDifferentState() const;
};
using DifferenceMarksPtr = std::shared_ptr<const DifferenceMarks>;

/// `drawn` is one of the two checkpoints as stored in files; `states` are the compared states, empty for
/// all.
std::shared_ptr<DifferenceMarks> differenceMarks(std::shared_ptr<const JudgedDiff> judged, bool isRight,
    const Checkpoint& drawn, const std::vector<std::string>& states);

/// Finds a parameter of `from` in `to` by its name, or by the part before the colon that names a slice.
ParamId sameParameter(const Checkpoint& from, ParamId param, const Checkpoint& to);

} // namespace shardscope::ui
