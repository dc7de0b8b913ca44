// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// The rows of an answer. A state that lacks elements on a side is incomplete, and no difference.
struct DifferenceCounts {
    uint64_t differences = 0;
    uint64_t incomplete = 0;
};
DifferenceCounts countDifferences(const StateDiff& diff);
/// "5 differences, 93 tensors incomplete"; empty if there is neither.
std::string countsText(const DifferenceCounts& counts);

/// The kind of a difference in answers (cli.md): "values", or "dtype" if the dtypes differ.
std::string_view differenceKind(const StateDifference& difference);
/// "incomplete-left" or "incomplete-right": the side that lacks elements.
std::string_view differenceKind(const PartialState& difference);
/// "option" or "scalar".
std::string_view differenceKind(const ScalarDifference& difference);
/// The owner of a scalar: "group/0", "loss_scaler", "lr_scheduler", "client_state", "engine".
std::string scalarOwner(const StateScalar& scalar);

} // namespace shardscope
