// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"

namespace shardscope {

/// Names and shapes of every param group of a pipeline stage that BF16_Optimizer saved without ZeRO (stage
/// 0), where no model file lists `param_shapes`: `param_slice_mappings` of the stage's optimizer files names
/// the parameters in flat order and counts their elements, and the layer files have their shapes. Else
/// refuse() or noModel() says why, and nothing comes back. Loads all optimizer files and the layer files of
/// the slice.
std::optional<ShapeLists> findMappedShapes(Reading& reading);

} // namespace shardscope
