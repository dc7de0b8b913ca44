// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"

#include <optional>
#include <string>

namespace shardscope {

/// Tensors that libraries for other accelerators save by functions of their own. asTensor() reads those whose
/// elements are in a storage: of an Ascend NPU (torch_npu), and of any device that saves a copy on the CPU
/// (torch/_tensor.py, _reduce_ex_internal). All others are foreign.

/// Whether a call makes such a tensor, in a form that asTensor() does not read.
[[nodiscard]] bool isForeignTensor(const PickleGraph& graph, NodeId node);
/// The name of the library for people.
[[nodiscard]] std::string tensorLibrary(const PickleGraph& graph, NodeId node);
/// The library of the first foreign tensor in a pickle. Nothing if there is none.
[[nodiscard]] std::optional<std::string> foreignTensors(const PickleGraph& graph);

} // namespace shardscope
