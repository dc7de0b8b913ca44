// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// `%HH` for exactly `% # ! [ ] + @` and control bytes, as addresses spell names and paths (cli.md,
/// "Addresses").
std::string percentEncode(std::string_view raw);
/// The reverse; nothing where a `%` is not followed by two hex digits.
std::optional<std::string> percentDecode(std::string_view text);

[[nodiscard]] bool isValidUtf8(std::string_view text);
/// Invalid bytes become U+FFFD; control characters and bidirectional overrides stay as they are.
std::string toValidUtf8(std::string_view text);
/// The bytes as lower-case hex, for `name_hex` fields.
std::string toHex(std::string_view bytes);

/// Below, equal to or above 0, like memcmp(), but runs of digits compare by their value: "layers.2" comes
/// before "layers.10". Equal values with other numbers of leading zeros differ.
int compareNaturally(std::string_view left, std::string_view right);

/// "12.3 MiB", "512 B": binary units, one decimal.
std::string formatBytes(uint64_t bytes);
/// "1 234 567" with thin grouping by commas: "1,234,567".
std::string formatCount(uint64_t count);
/// Accepts 123, 64K, 64KiB, 1.5G, 2GB (binary units for all). Nothing when it is not a size.
std::optional<uint64_t> parseBytes(std::string_view text);

} // namespace shardscope
