// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/folder/discover.h"

namespace shardscope {

/// Opens a file that belongs to no checkpoint. Lists the records of a torch file. For kinds that are
/// recognised and not read, reports only the name.
Status openSingleFile(io::FileSystem& files, const Discovery& found, JobContext& job, Checkpoint& out);

} // namespace shardscope
