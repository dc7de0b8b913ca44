// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/checkpoint.h"

namespace shardscope {

/// Fills a checkpoint of kind Dcp from the `.metadata` of a folder and the archives that it leads to.
///
/// Parameters are the tensors below `model.`, or all that belong to no optimizer where nothing is called so;
/// states are `optim.state.NAME.STATE` (or `optimizer.…`) of a parameter's shape, with `step` beside them,
/// and groups are what `optim.param_groups.N.params` lists. A tensor is stored whole, or cut into equal runs
/// of rows, as FSDP shards it (torch.chunk along the first dimension): other cuts are told in a finding, and
/// so is what cannot be read. Errors as readDcpMetadata(); NotACheckpoint where there is no tensor.
Status readDistributed(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out);

} // namespace shardscope
