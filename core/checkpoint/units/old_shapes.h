// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"

namespace shardscope {

/// Names and shapes of every param group (ZeRO-1/2) or sub-group (ZeRO-3), in flat order. The place depends
/// on the release. Since 0.6.0: the model file. Since 0.5.4: the optimizer files, as a list per group. Since
/// 0.3.14: the optimizer files, as one mapping of all parameters. Before 0.3.14, and with native experts
/// before 0.19.3: no file records them (engine.py, _save_checkpoint, _save_zero_checkpoint,
/// _save_moe_checkpoint).
///
/// What no file records is derived from lengths and from the model's copies of the masters. Unsupported or
/// Damaged where that fails. Loads all optimizer files if it needs them.
Result<ShapeLists> findParamShapes(Reading& reading);

} // namespace shardscope
