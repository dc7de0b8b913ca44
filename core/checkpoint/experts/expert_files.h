// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reads the files of experts: each expert has one of its own (layer_L_expert_X_…, engine.py,
/// _save_moe_checkpoint).
Status readExpertFiles(Reading& reading);

} // namespace shardscope
