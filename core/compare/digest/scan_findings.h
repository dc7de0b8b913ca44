// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_digest.h"

#include <vector>

namespace shardscope {

/// What reading every byte has shown of files and records: files that end early, records whose bytes do not
/// have the CRC that they were saved with, by their addresses.
std::vector<Finding> findingsOf(const Checkpoint& checkpoint, const CheckpointScan& scan);

} // namespace shardscope
