// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardscope {

/// Text from a file, safe to print. Control characters, escape sequences, bidirectional overrides and bytes
/// that are not UTF-8 become visible `\xHH` or `\u{HEX}`. A name then cannot control the terminal or mislead
/// the reader.
std::string printable(std::string_view raw);
/// Terminal columns that printable UTF-8 text takes: one per character, two for wide East Asian ones, none
/// for marks.
size_t displayWidth(std::string_view text);

} // namespace shardscope
