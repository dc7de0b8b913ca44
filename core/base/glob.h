// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace shardscope {

/// Whether all of `text` fits a shell-like pattern: `*` is any run of bytes, dots and slashes among them, `?`
/// any one character of UTF-8, all else itself. Time at most the product of the two lengths.
[[nodiscard]] bool fitsGlob(std::string_view pattern, std::string_view text);

} // namespace shardscope
