// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/plan/export/export.h"
#include "core/plan/export/export_names.h"
#include "core/torchfile/formats/dcp_metadata.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// A value of a distributed checkpoint other than a parameter's state: an option, a step or a counter of the
/// run.
struct DcpObject {
    std::vector<std::vector<DcpStep>> paths; ///< all entries that hold this value
    /// Its form as written by torch.save. The caller sets the path. If `isStep`: a tensor of one number.
    OutputFile archive;
    bool isStep = false;
};

/// The values of a distributed checkpoint that are not tensors of parameters:
///   `optim.state.NAME.step`, in the form of torch's optimizers: a float32 tensor without dimensions, shared
///     by all equal steps;
///   `optim.param_groups.N.KEY`, where `params` are names, in the optimizer's order;
///   `deepspeed.KEY`, from rank 0's model file (global_steps, lr_scheduler, ds_config, client state), the
///     loss scaler's numbers, and the facts of DeepSpeed's form that torch's form does not record
///     (core/checkpoint/dcp/dcp_native.h), so that the checkpoint can be rebuilt.
/// Values that need packages other than torch and NumPy are omitted, and `warnings` names them.
/// `sourceOfFile`: FileId → index into WritePlan::sources. Pure.
Result<std::vector<DcpObject>> dcpObjects(const Checkpoint& source, const std::vector<ExportName>& names,
    const std::vector<uint32_t>& sourceOfFile, std::vector<Finding>& warnings);

} // namespace shardscope
