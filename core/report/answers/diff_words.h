// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"

#include <string>
#include <string_view>

namespace shardscope {

/// The kind of a difference in answers (cli.md): "values", or "dtype" if the dtypes differ.
std::string_view differenceKind(const StateDifference& difference);
/// "incomplete-left" or "incomplete-right": the side that lacks elements.
std::string_view differenceKind(const PartialState& difference);
/// "option" or "scalar".
std::string_view differenceKind(const ScalarDifference& difference);
/// The owner of a scalar: "group/0", "loss_scaler", "lr_scheduler", "client_state", "engine".
std::string scalarOwner(const StateScalar& scalar);

} // namespace shardscope
