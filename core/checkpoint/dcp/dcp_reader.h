// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Fills a checkpoint of kind Dcp from the `.metadata` of a folder and the archives that it leads to.
///
/// Parameters are the tensors below `model.`, or all that belong to no optimizer where nothing is called so;
/// states are `optim.state.NAME.STATE` (or `optimizer.…`) of a parameter's shape, with `step` beside them as
/// a tensor or a number, and groups are what `optim.param_groups.N` holds: `params`, and the options. What
/// lies under `deepspeed.` is what DeepSpeed and the run kept beside them (core/plan/export/dcp_objects.h
/// writes it, dcp_native.h makes a model file's content of it again). A tensor is stored whole, in runs of
/// rows as FSDP shards it (torch.chunk along the first dimension), or in boxes of any kind. What cannot be
/// read is reported in findings. Errors as readDcpMetadata(); NotACheckpoint where there is no tensor.
Status readDistributed(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out);

} // namespace shardscope
