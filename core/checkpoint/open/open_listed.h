// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/discover.h"
#include "core/checkpoint/folder/run_listing.h"
#include "core/checkpoint/open/open.h"

namespace shardscope {

/// discover(), but OpenOptions::kind decides between what the folder holds of several kinds: weights next to
/// the tags, a universal checkpoint next to native ones, a distributed checkpoint. NotACheckpoint if it holds
/// nothing of that kind.
Result<Discovery> discoverAsked(
    io::FileSystem& files, const io::Path& path, const OpenOptions& options, JobContext& job);

/// openCheckpoint() of one tag of a run that was listed before; `options` has its name.
Result<OpenedCheckpoint> openListed(
    io::FileSystem& files, const RunListing& listing, const OpenOptions& options, JobContext& job);

/// openCheckpoint() of what discover() or discoverIn() found. `listing`: of the run, if it was listed before;
/// else null.
Result<OpenedCheckpoint> openDiscovered(io::FileSystem& files, const Discovery& found,
    const RunListing* listing, const OpenOptions& options, JobContext& job);

} // namespace shardscope
