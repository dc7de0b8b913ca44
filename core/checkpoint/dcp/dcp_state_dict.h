// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_archives.h"
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

/// Reads the objects among the entries. `isWanted` selects entries by index; tensors among them come with
/// their elements. A leading `optimizer.` counts as `optim.`. An entry without a path is a key of the root.
/// Options of param groups ("optim.param_groups.0.lr") go where they belong. The archives report what cannot
/// be read. Objects above the limits (64 MiB of elements, 64 MiB of pickles) are left out with a finding.
Result<DcpStateDict> readDcpStateDict(const std::vector<DcpEntry>& entries, const std::vector<bool>& isWanted,
    DcpArchives& archives, Checkpoint& out, JobContext& job);

} // namespace shardscope
