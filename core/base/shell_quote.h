// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace shardscope {

/// The word as a shell must be given it: itself when it is harmless, else in single quotes.
inline std::string shellQuoted(std::string_view word)
{
    static constexpr std::string_view kHarmless
        = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,+@%";
    if (!word.empty() && word.find_first_not_of(kHarmless) == std::string_view::npos)
        return std::string(word);
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

} // namespace shardscope
