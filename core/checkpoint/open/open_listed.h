// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/folder/run_listing.h"
#include "core/checkpoint/open/open.h"

namespace shardscope {

/// openCheckpoint() of one tag of a run that was listed before; `options` has its name.
Result<OpenedCheckpoint> openListed(
    io::FileSystem& files, const RunListing& listing, const OpenOptions& options, JobContext& job);

/// openCheckpoint() of what discover() or discoverIn() found. `listing`: of the run, if it was listed before;
/// else null.
Result<OpenedCheckpoint> openDiscovered(io::FileSystem& files, const Discovery& found,
    const RunListing* listing, const OpenOptions& options, JobContext& job);

} // namespace shardscope
