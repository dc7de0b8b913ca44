// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/json/json_writer.h"
#include "core/torchfile/pickle/pickle_graph.h"

namespace shardscope {

/// Writes a pickled value as JSON: None, booleans, numbers, strings, lists, tuples and mappings as
/// themselves, all else (objects, tensors, classes) as the short text of nodeText().
///
/// Bounded whatever the file holds: beyond 8 levels or 10,000 nodes the short text stands in, because a
/// shared node may be met any number of times.
void writeNode(JsonWriter& json, const PickleGraph& graph, NodeId node);

/// The pairs of a mapping with string keys as the fields of an open JSON object, without those named in
/// `except`. Of equal keys the last counts, as in Python.
void writeMappingFields(
    JsonWriter& json, const PickleGraph& graph, NodeId mapping, std::string_view except = {});

} // namespace shardscope
