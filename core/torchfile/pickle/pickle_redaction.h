// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"

#include <span>
#include <vector>

namespace shardscope {

/// Overwrites in a pickle every value with a node that is not in `kept`, and moves nothing: text and bytes
/// become the same number of x, numbers 0 (1 in protocol 0, which reads 00 as a truth value), True becomes
/// False. The structure of the pickle stays: opcodes, lengths, None, names of classes, references.
///
/// `stream` is what `graph` was parsed from, from its first byte; `kept` has an entry per node. A node that
/// the stream fetches in several places is one value, kept for all of them or for none.
void redactPickle(std::span<char> stream, const PickleGraph& graph, const std::vector<bool>& kept);

} // namespace shardscope
