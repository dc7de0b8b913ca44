// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_archives.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The nested state dict that a distributed checkpoint was saved from, without its tensors: every object is
/// where torch's planner took it from (`planner_data`; torch/distributed/checkpoint/_nested_dict.py), whole
/// or flattened. Its pickles are data and stay that.
struct DcpStateDict {
    PickleGraph graph; ///< the root is a mapping: "optim", "deepspeed", what else was saved
    TorchFile::HeldStorages storages; ///< those that the graph names
};

/// Reads the objects among the entries; `isWanted` by entry, tensors among them with their elements. An
/// `optimizer.` in front counts as `optim.`; without a path an entry is a key of the root, options of param
/// groups ("optim.param_groups.0.lr") where they belong. What cannot be read is told by the archives; what is
/// too large to be held is left out with a finding: 64 MiB of elements, 64 MiB of pickles.
Result<DcpStateDict> readDcpStateDict(const std::vector<DcpEntry>& entries, const std::vector<bool>& isWanted,
    DcpArchives& archives, Checkpoint& out, JobContext& job);

} // namespace shardscope
