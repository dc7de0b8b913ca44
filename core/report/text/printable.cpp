// SPDX-License-Identifier: Apache-2.0
#include "core/report/text/printable.h"

#include "core/base/text.h"

#include <cstdint>

#include <fmt/format.h>

namespace shardscope {

namespace {

struct Character {
    uint32_t code = 0;
    size_t bytes = 0; ///< 0: the first byte is not UTF-8
};

Character firstCharacter(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text[0]);
    const size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (bytes > text.size() || !isValidUtf8(text.substr(0, bytes)))
        return {lead, 0};
    if (bytes == 1)
        return {lead, 1};
    uint32_t code = lead & (0xFFu >> (bytes + 1));
    for (size_t i = 1; i < bytes; ++i)
        code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    return {code, bytes};
}

/// Characters that are invisible or change how other characters are shown.
bool misleads(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0xAD || code == 0x61C
        || (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E)
        || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB)
        || (code >= 0xE0000 && code <= 0xE0FFF);
}

bool isCombining(uint32_t code)
{
    return (code >= 0x300 && code <= 0x36F) || (code >= 0x1AB0 && code <= 0x1AFF)
        || (code >= 0x20D0 && code <= 0x20FF) || (code >= 0xFE00 && code <= 0xFE0F)
        || (code >= 0xFE20 && code <= 0xFE2F);
}

bool isWide(uint32_t code)
{
    return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF)
        || (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF)
        || (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60)
        || (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1F64F)
        || (code >= 0x1F900 && code <= 0x1F9FF) || (code >= 0x20000 && code <= 0x3FFFD);
}

} // namespace

std::string printable(std::string_view raw)
{
    std::string out;
    out.reserve(raw.size());
    while (!raw.empty()) {
        const Character next = firstCharacter(raw);
        const size_t bytes = next.bytes == 0 ? 1 : next.bytes;
        if (next.bytes == 0 || (next.code < 0x80 && misleads(next.code)))
            out += fmt::format("\\x{:02x}", next.code);
        else if (misleads(next.code))
            out += fmt::format("\\u{{{:x}}}", next.code);
        else
            out += raw.substr(0, bytes);
        raw.remove_prefix(bytes);
    }
    return out;
}

size_t displayWidth(std::string_view text)
{
    size_t width = 0;
    while (!text.empty()) {
        const Character next = firstCharacter(text);
        width += isCombining(next.code) ? 0 : isWide(next.code) ? 2 : 1;
        text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
    }
    return width;
}

} // namespace shardscope
