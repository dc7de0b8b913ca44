// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// The parts of a result that differ from what a run saved: the marks of the source itself, and its findings
/// of severity error that `allow` names. Findings `marked`, in the source's order; beyond a bound they are
/// counted.
std::vector<Finding> marksOf(const Checkpoint& source, const std::vector<std::string>& allow);

} // namespace shardscope
