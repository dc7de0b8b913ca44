// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <string_view>

namespace shardscope {

/// Whether DeepSpeed itself writes this key into a model-states file (runtime/engine.py, _save_checkpoint).
/// All other keys are the client's.
[[nodiscard]] bool isEngineKey(std::string_view key);

/// The mapping in an optimizer file that holds masters, states and scaler. kNoNode if there is none.
inline NodeId wrapperOf(const PickleGraph& graph)
{
    return lookup(graph, graph.root(), "optimizer_state_dict");
}

} // namespace shardscope
