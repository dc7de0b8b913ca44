// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace shardscope {

/// Whether DeepSpeed itself writes this key into a model-states file (runtime/engine.py, _save_checkpoint);
/// all others are the client's.
[[nodiscard]] bool isEngineKey(std::string_view key);

} // namespace shardscope
