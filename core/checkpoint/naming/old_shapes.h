// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/checkpoint/naming: finds the parameters of an optimizer's groups where no file records their
// names, by lengths and by values that match. It uses core/checkpoint/{experts,units,folder,model} and lower
// rooms. Start with findParamShapes(), then GroupSearch.

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"

namespace shardscope {

/// Names and shapes of every param group (ZeRO-1/2) or sub-group (ZeRO-3), in flat order. The place depends
/// on the release. Since 0.6.0: the model file. Since 0.5.4: the optimizer files, as a list per group. Since
/// 0.3.14: the optimizer files, as one mapping of all parameters. Before 0.3.14, and with native experts
/// before 0.19.3: no file records them (engine.py, _save_checkpoint, _save_zero_checkpoint,
/// _save_moe_checkpoint).
///
/// What no file records is derived from lengths and from the model's copies of the masters. If that fails,
/// refuse() or noModel() records the reason and nothing is returned. Loads all optimizer files if it needs
/// them.
std::optional<ShapeLists> findParamShapes(Reading& reading);

} // namespace shardscope
