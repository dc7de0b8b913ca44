// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shardscope {

/// The candidate that `word` most likely meant, or empty when none is near enough.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// A hint: "did you mean `X`?" with the nearest candidate, else `otherwise`.
std::string nearestHint(
    std::string_view word, std::span<const std::string> candidates, std::string_view otherwise);

} // namespace shardscope
