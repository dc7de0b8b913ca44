// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

namespace shardscope {

/// Pipeline stages store weights in files of single layers (layer_LL-…-model_states.pt, pipe/module.py).
/// These hold copies of this part's parameters, its buffers and its frozen parameters.
Status readLayerFiles(Reading& reading);

} // namespace shardscope
