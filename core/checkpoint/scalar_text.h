// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle_graph.h"

#include <string>

namespace shardscope {

/// A plain value in one canonical spelling, so that equal values compare and digest equal whatever pickled
/// them: null, true, 7, 0.10000000000000001 (%.17g), "text" (JSON escapes for `"` and `\`), [a,b] for lists
/// and tuples, {"k":v,…} for mappings, their entries in ascending order of the bytes of `"k":v`; dtypes and
/// other names as <torch.float16>; anything else as <class name {attributes}>. Nesting beyond 16 levels is
/// cut to "…".
std::string scalarText(const PickleGraph& graph, NodeId node);

} // namespace shardscope
