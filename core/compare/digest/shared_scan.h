// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/shared_work.h"
#include "core/compare/digest/state_digest.h"

#include <vector>

namespace shardscope {

/// The numbers of the files that this process scans, of files with these sizes; all without `shared`.
std::vector<size_t> filesToScan(const std::vector<uint64_t>& sizes, const SharedWork* shared);

/// Completes a scan of the files `own` with what the other processes found in the others. `scanned`: how the
/// scan ended.
Status combineScans(
    SharedWork& shared, const std::vector<size_t>& own, const Status& scanned, CheckpointScan& scan);

} // namespace shardscope
