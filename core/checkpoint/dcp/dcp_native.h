// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_state_dict.h"
#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <vector>

namespace shardscope {

/// What DeepSpeed's files hold and a state dict of torch's form does not, so that a distributed checkpoint
/// that Shardscope writes carries it in one object, "deepspeed.native_form". It is a mapping:
///   "zero_stage": an int; 0 for none;
///   "steps": a list with a text per param group, how its optimizer keeps the step: "absent" (nowhere but in
///     the group's options), "integer", "real", or "tensor float32" with the dtype's name;
///   "module": a mapping from every name of the model's state dict to the torch.dtype that the model has it
///     in, in the model's order; the checkpoint itself holds the masters. Absent for pipelines, whose weights
///     lie in layers' files;
///   "tied": a mapping from the further names of tied parameters to the name under which each is trained.
inline constexpr std::string_view kDcpNativeForm = "native_form";

/// How a step is kept, as above.
struct DcpStepForm {
    StepForm form = StepForm::Absent;
    DType type = DType::Float32;
};
std::string dcpStepFormText(const DcpStepForm& form);
std::optional<DcpStepForm> parseDcpStepForm(std::string_view text);

/// A distributed checkpoint's facts in the form in which DeepSpeed's files tell them, so that whatever reads
/// those reads them, too.
struct DcpNative {
    /// The root is that of a model file: counters, scheduler, configuration and client state under their own
    /// names (those of "deepspeed.*", and what else stands at the root), "buffer_names", and a "module" of
    /// empty tensors in the model's dtypes where "native_form" tells them.
    std::shared_ptr<const TorchFile> content;
    NodeId wrapper = kNoNode; ///< as of an optimizer file: loss scaler, clip_grad, zero_stage
    std::vector<NodeId> groupOptions; ///< by param group; kNoNode where none are told
    std::vector<std::vector<std::string>> members; ///< by param group: names of its parameters, in order
    int zeroStage = 0;
    std::vector<std::optional<DcpStepForm>> steps; ///< by param group, as far as told
    std::vector<std::string> bufferNames;
    std::vector<std::pair<std::string, std::string>> tied; ///< name, owner's name
};

/// Makes it from the state dict. `metadata`: the file whose content it stands for.
DcpNative makeDcpNative(DcpStateDict dict, const CheckpointFile& metadata);

} // namespace shardscope
