// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"

#include <string>
#include <vector>

namespace shardscope {

struct NotComparedSides {
    const Checkpoint& left;
    const Checkpoint& right;
    const std::vector<StateScalar>& leftScalars;
    const std::vector<StateScalar>& rightScalars;
};

/// Adds what the model of a side does not have (findUnreadStates()), scalars that texts do not show, and the
/// reasons why the parameters and tensors that `out` counts were not compared: the errors that were found in
/// the two. `states`: only these were asked for; empty: all.
void explainNotCompared(
    const NotComparedSides& sides, const std::vector<std::string>& states, NotCompared& out);

} // namespace shardscope
