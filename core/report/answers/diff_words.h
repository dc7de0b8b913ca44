// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"

#include <string>
#include <string_view>

namespace shardscope {

/// What a difference is called in answers (cli.md): "values", or "dtype" where the sides differ in it.
std::string_view differenceKind(const StateDifference& difference);
/// "option" or "scalar".
std::string_view differenceKind(const ScalarDifference& difference);
/// Whose scalar it is: "group/0", "loss_scaler", "lr_scheduler", "client_state", "engine".
std::string scalarOwner(const StateScalar& scalar);

} // namespace shardscope
