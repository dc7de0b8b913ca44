// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace shardscope::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1; ///< done, but the answer is negative

/// Exit codes with their meaning, for help texts. core/base/error.h maps errors to them.
std::span<const std::pair<int, std::string_view>> exitMeanings();

} // namespace shardscope::cli
