// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"

namespace shardscope {

/// Names and shapes of every param group of a pipeline stage that BF16_Optimizer saved without ZeRO (stage
/// 0). No model file lists `param_shapes` then. `param_slice_mappings` of the stage's optimizer files has the
/// names in flat order and the numbers of elements. The layer files have the shapes.
///
/// Unsupported or Damaged where there is no model. Loads all optimizer files and the layer files of the
/// slice.
Result<ShapeLists> findMappedShapes(Reading& reading);

} // namespace shardscope
