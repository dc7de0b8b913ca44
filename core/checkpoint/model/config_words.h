// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace shardscope {

/// Whether a text of ds_config or of a scheduler is a word with a meaning to DeepSpeed: a device, a dtype, a
/// mode, the name of an optimizer or a schedule. False for a user's text, such as a path. Sources:
/// runtime/constants.py, runtime/config.py, runtime/zero/offload_config.py, runtime/lr_schedules.py.
[[nodiscard]] bool isConfigWord(std::string_view text);
/// Whether it may be a key that DeepSpeed knows: letters, digits and `_ . -`, at most 64 characters.
[[nodiscard]] bool looksLikeConfigKey(std::string_view text);

} // namespace shardscope
