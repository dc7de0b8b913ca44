// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/run_listing.h"
#include "core/checkpoint/open/open.h"

namespace shardscope {

/// openCheckpoint() of one tag of a run that was listed before; `options` has its name.
Result<OpenedCheckpoint> openListed(
    io::FileSystem& files, const RunListing& listing, const OpenOptions& options, JobContext& job);

} // namespace shardscope
