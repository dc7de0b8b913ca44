// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Reserves room for the parameters that the model file names. Adding them then moves none.
void reserveParameters(const Reading& reading);
/// Adds one parameter. Returns the existing id if the name is known.
ParamId addParameter(Reading& reading, std::string name, Shape shape, ParamRole role);
/// Adds a trainable parameter as the next one of `unit`, which becomes the checkpoint's next one. Appends its
/// elements. Damaged if the name is taken: names of experts are derived, others are distinct
/// (readParamShapes()).
Status placeInNextUnit(
    Reading& reading, std::string name, Shape shape, FlatUnit& unit, std::vector<uint64_t>& elements);
/// Reads parameters, buffers, frozen parameters and aliases from the model file. Reads whole tensors if
/// `weightsAreWhole` (ZeRO-1/2). The trainable parameters must have been added before, from param_shapes.
void readModule(Reading& reading, bool weightsAreWhole);
/// The entries of `param_shapes`: names and shapes in flat order. Nothing if it is absent or malformed, or
/// names a parameter twice.
struct NamedShape {
    std::string_view name; ///< valid as long as the model file's content
    Shape shape;
};
using ShapeLists = std::vector<std::vector<NamedShape>>;
std::optional<ShapeLists> readParamShapes(const Reading& reading);
std::optional<ShapeLists> readParamShapes(const PickleGraph& graph, NodeId modelRoot);
/// Whether the model file has such lists. The engine writes them only for ZeRO.
bool wasSavedWithZero(const Reading& reading);

/// Adds a tensor that a file holds whole as the copy of a parameter. False, with a finding, if it is not such
/// a copy.
bool addWholeTensor(Reading& reading, FileId file, ParamId param, const TensorView& tensor);
/// Sorts Checkpoint::whole after tensors were added.
void sortWholeTensors(Reading& reading);

} // namespace shardscope
