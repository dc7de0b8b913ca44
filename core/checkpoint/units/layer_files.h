// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Pipeline stages keep their weights in files of single layers (layer_LL-…-model_states.pt, pipe/module.py):
/// copies of this part's parameters, and its buffers and frozen parameters.
Status readLayerFiles(Reading& reading);

} // namespace shardscope
