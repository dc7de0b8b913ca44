// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shardscope::cli {

/// The candidate that `word` most likely meant, or empty when none is near enough.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

} // namespace shardscope::cli
