// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_digest.h"

#include <vector>

namespace shardscope {

/// Findings from reading every byte: files that end early, and records that do not match their saved CRC, by
/// their addresses.
std::vector<Finding> findingsOf(const Checkpoint& checkpoint, const CheckpointScan& scan);

} // namespace shardscope
