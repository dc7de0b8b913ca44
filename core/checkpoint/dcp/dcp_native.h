// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_state_dict.h"
#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <vector>

namespace shardscope {

/// Facts that DeepSpeed's files hold and a state dict of torch's form does not. A distributed checkpoint that
/// Shardscope writes keeps them in one object, "deepspeed.native_form". It is a mapping:
///   "zero_stage": an int; 0 without ZeRO;
///   "steps": a list with a text per param group: how its optimizer stores the step. "absent" (only in the
///     group's options), "integer", "real", or "tensor float32" with the dtype's name;
///   "module": a mapping from every name of the model's state dict to its torch.dtype in the model, in the
///     model's order. The checkpoint itself holds the masters. Absent for pipelines, which keep weights in
///     layer files;
///   "tied": a mapping from each further name of a tied parameter to the name that it is trained under.
inline constexpr std::string_view kDcpNativeForm = "native_form";

/// How a step is stored, as described above.
struct DcpStepForm {
    StepForm form = StepForm::Absent;
    DType type = DType::Float32;
};
std::string dcpStepFormText(const DcpStepForm& form);
std::optional<DcpStepForm> parseDcpStepForm(std::string_view text);

/// The facts of a distributed checkpoint, in the form of DeepSpeed's files. Code that reads those files can
/// read this form, too.
struct DcpNative {
    /// The root has the form of a model file. Counters, scheduler, configuration and client state have their
    /// own names: those of "deepspeed.*" and the other keys of the root. It has "buffer_names" and, if
    /// "native_form" records them, a "module" of empty tensors in the model's dtypes.
    std::shared_ptr<const TorchFile> content;
    NodeId wrapper = kNoNode; ///< in the form of an optimizer file: loss scaler, clip_grad, zero_stage
    std::vector<NodeId> groupOptions; ///< by param group; kNoNode if not recorded
    std::vector<std::vector<std::string>> members; ///< by param group: names of its parameters, in order
    int zeroStage = 0;
    std::vector<std::optional<DcpStepForm>> steps; ///< by param group; unset if not recorded
    std::vector<std::string> bufferNames;
    std::vector<std::pair<std::string, std::string>> tied; ///< name, owner's name
};

/// Builds it from the state dict. `metadata`: the file that gets this content.
DcpNative makeDcpNative(DcpStateDict dict, const CheckpointFile& metadata);

} // namespace shardscope
