// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_archives.h"
#include "core/checkpoint/dcp/dcp_keys.h"
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

} // namespace shardscope
