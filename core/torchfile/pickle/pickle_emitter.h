// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"

#include <string>

namespace shardscope {

/// The graph as a protocol-2 stream, with the opcodes, batching (1000) and memo numbering of CPython's C
/// pickler.
///
/// A graph parsed from such a stream and not edited gives the same bytes. Kinds that protocol 2 cannot
/// express as they are (Bytes, Set, …) are written in the form CPython uses; Extension and Buffer nodes are
/// Unsupported. Iterative: nesting depth is safe.
Result<std::string> emitPickle(const PickleGraph& graph);

} // namespace shardscope
