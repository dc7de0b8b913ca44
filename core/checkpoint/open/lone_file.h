// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/folder/discover.h"

namespace shardscope {

/// A file that belongs to no checkpoint: records of a torch file can be listed, of kinds that are recognised
/// and not read, only the name is reported.
Status openLoneFile(io::FileSystem& files, const Discovery& found, JobContext& job, Checkpoint& out);

} // namespace shardscope
