// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"

namespace shardscope {

/// Names and shapes of every param group (ZeRO-1/2) or sub-group (ZeRO-3), in flat order, from wherever the
/// release that saved kept them: the model file since 0.6.0; before it the optimizer files, as a list per
/// group since 0.5.4, as one mapping of all parameters since 0.3.14; nowhere before that, and nowhere with
/// native experts before 0.19.3 (engine.py, _save_checkpoint, _save_zero_checkpoint, _save_moe_checkpoint).
/// What is not told follows from lengths and from the model's copies of the masters, or not at all: then
/// refuse() or noModel() says why, and nothing comes back. Loads all optimizer files where it needs them.
std::optional<ShapeLists> findParamShapes(Reading& reading);

} // namespace shardscope
