// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/journal_line.h"

#include "core/io/crc32.h"

#include <charconv>

namespace shardscope {

namespace {

constexpr size_t kCrcDigits = 8;

std::string hexCrc(std::string_view text)
{
    const uint32_t crc = io::crc32(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    std::string out;
    for (int shift = 28; shift >= 0; shift -= 4)
        out += "0123456789abcdef"[(crc >> shift) & 15];
    return out;
}

} // namespace

std::string guarded(const std::string& text)
{
    return hexCrc(text) + ' ' + text + '\n';
}

bool takeLine(std::string_view& text, std::string_view& line)
{
    const size_t end = text.find('\n');
    if (end == std::string_view::npos)
        return false; // incomplete, or none
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return true;
}

bool takeGuard(std::string_view& line)
{
    const std::string_view crc = takeWord(line);
    return crc.size() == kCrcDigits && crc == hexCrc(line);
}

std::string_view takeWord(std::string_view& rest)
{
    const size_t end = rest.find(' ');
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return word;
}

std::optional<uint64_t> number(std::string_view text)
{
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

} // namespace shardscope
