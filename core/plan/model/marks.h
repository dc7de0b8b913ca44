// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// The parts of a result that no run saved: marks of the source itself, and its findings of severity error
/// that `allow` names. They are findings `marked`, in the source's order. Above a limit they are only
/// counted.
std::vector<Finding> marksOf(const Checkpoint& source, const std::vector<std::string>& allow);

} // namespace shardscope
