// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace shardscope {

/// Whether a global belongs to what torch, DeepSpeed and the standard containers put into checkpoints.
[[nodiscard]] bool isKnownGlobal(std::string_view module, std::string_view name);
/// Whether Python would run commands or arbitrary code through it. For labels only: what is not listed is not
/// safe.
[[nodiscard]] bool isDangerousGlobal(std::string_view module, std::string_view name);
/// builtins.getattr in either spelling.
[[nodiscard]] bool isGetattr(std::string_view module, std::string_view name);

} // namespace shardscope
