// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Makes room for the parameters that the model file names, so that adding them moves none.
void reserveParameters(const Reading& reading);
/// Adds one parameter; the index of the old one when the name is known.
ParamId addParameter(Reading& reading, std::string name, Shape shape, ParamRole role);
/// Parameters, buffers, frozen ones and aliases from the model file; whole tensors when `weightsAreWhole`
/// (ZeRO-1/2). The trainable ones must have been added before, from param_shapes.
void readModule(Reading& reading, bool weightsAreWhole);
/// The entries of `param_shapes`: names and shapes in flat order. Nothing when it is absent, malformed or
/// names a parameter twice.
struct NamedShape {
    std::string_view name; ///< lives as long as the model file's content
    Shape shape;
};
using ShapeLists = std::vector<std::vector<NamedShape>>;
std::optional<ShapeLists> readParamShapes(const Reading& reading);
std::optional<ShapeLists> readParamShapes(const PickleGraph& graph, NodeId modelRoot);
/// Whether the model file has such lists, which the engine writes for ZeRO alone.
bool wasSavedWithZero(const Reading& reading);

} // namespace shardscope
