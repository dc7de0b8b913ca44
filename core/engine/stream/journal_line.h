// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// Lines of journals: "CRC32 TEXT", so that a line that was not written to its end is recognised.

/// The line of a text without line feeds, with its line feed.
std::string guarded(const std::string& text);
/// Takes the next complete line off a text; false at its end.
bool takeLine(std::string_view& text, std::string_view& line);
/// Takes the CRC off a line; false if it is not that of the rest.
bool takeGuard(std::string_view& line);
/// Takes the text up to the next space.
std::string_view takeWord(std::string_view& rest);
/// The number that a word spells in decimal.
std::optional<uint64_t> number(std::string_view word);

} // namespace shardscope
