// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/dcp: the reader of PyTorch distributed checkpoints; core/plan/export, which writes
// such checkpoints, needs it too. Start with readDistributed(), then DcpUnits.

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Fills a checkpoint of kind Dcp from the `.metadata` of a folder and the archives that it names.
///
/// The folder holds `.metadata`, or two folders do (distributedFolders()). parseDcpKeys() says what each
/// entry means. States have the parameter's shape; `step` is next to them, a tensor or a number. `deepspeed.`
/// holds other state of DeepSpeed and of the run (core/plan/export/dcp_objects.h writes it, dcp_native.h
/// turns it back into a model file's content).
///
/// No tensor and no part of the optimizer is dropped: what is not in the model afterwards and in no finding
/// makes the checkpoint unsupported, by name.
///
/// A tensor is stored whole, in runs of rows as FSDP shards it (torch.chunk along the first dimension), or in
/// boxes of any kind. What cannot be read is reported in findings. Errors as readDcpMetadata();
/// NotACheckpoint if there is no tensor, Unsupported for an optimizer without weights.
Status readDistributed(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out);

} // namespace shardscope
