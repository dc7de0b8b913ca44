// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_archives.h"
#include "core/checkpoint/dcp/dcp_keys.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The nested state dict that was saved as a distributed checkpoint, without its tensors. Every object, whole
/// or flattened, is where torch's planner took it from (`planner_data`;
/// torch/distributed/checkpoint/_nested_dict.py). Its pickles are only parsed, never executed.
struct DcpStateDict {
    PickleGraph graph; ///< the root is a mapping: "optim", "deepspeed" and other saved keys
    TorchFile::HeldStorages storages; ///< those that the graph names
};

/// Reads the objects among the entries; `keys` has one for each. `isWanted` selects entries by index; tensors
/// among them come with their elements. Options of single parameters become param groups: parameters with
/// equal options are one group, and groups and parameters are in the entries' order. The archives report what
/// cannot be read. Objects above the limits (64 MiB of elements, 64 MiB of pickles) are left out with a
/// finding. `isTaken` gets
/// what is in the result or named by a finding.
Result<DcpStateDict> readDcpStateDict(const std::vector<DcpEntry>& entries, const std::vector<DcpKey>& keys,
    const std::vector<bool>& isWanted, std::vector<bool>& isTaken, DcpArchives& archives, Checkpoint& out,
    JobContext& job);

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
