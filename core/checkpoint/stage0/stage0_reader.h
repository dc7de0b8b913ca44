// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/stage0: the reader of checkpoints without ZeRO, whose optimizer does not name its
// parameters. Start with readStage0(), then Stage0Groups.

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Reads a checkpoint without ZeRO: one model file. Infers the names of the optimizer's parameters, or
/// returns why there is no model, for Reading::stop().
Status readStage0(Reading& reading);

} // namespace shardscope
