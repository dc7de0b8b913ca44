// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"

#include <span>
#include <string>
#include <string_view>

namespace shardscope {

/// The candidate that `word` most likely meant, or empty when none is near enough.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "did you mean `X`?" with the nearest candidate, else `otherwise`.
Hint nearestHint(const std::string& word, std::span<const std::string> candidates, Hint otherwise);

} // namespace shardscope
