// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/report/json: pickled values as JSON. Start here.

#include "core/describe/json_writer.h"
#include "core/torchfile/pickle/pickle_graph.h"

namespace shardscope {

/// Writes a pickled value as JSON: None, booleans, numbers, strings, lists, tuples and mappings as
/// themselves, everything else (objects, tensors, classes) as the short text of nodeText().
///
/// The size is bounded for any file: beyond 8 levels or 10,000 nodes the short text is written, because a
/// shared node can occur any number of times.
void writeNode(JsonWriter& json, const PickleGraph& graph, NodeId node);

/// Writes the pairs of a mapping that have string keys as fields of the open JSON object, except those in
/// `except`. The last of equal keys is used, as in Python.
void writeMappingFields(
    JsonWriter& json, const PickleGraph& graph, NodeId mapping, std::string_view except = {});

} // namespace shardscope
