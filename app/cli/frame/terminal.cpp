// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/terminal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace shardscope::cli {

namespace {

constexpr size_t kMinTextWidth = 40;
constexpr size_t kMaxTextWidth = 96;
constexpr size_t kLongestEncoded = 74'994; ///< that xterm, hterm and others take
constexpr size_t kScreenPiece = 512; ///< of what GNU screen passes on at a time, at most 768 bytes

std::string base64Of(std::string_view text)
{
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < text.size(); i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; ++k)
            bits = bits << 8 | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0);
        for (size_t k = 0; k < 4; ++k)
            out += i + k > text.size() ? '=' : kLetters[bits >> (18 - 6 * k) & 63];
    }
    return out;
}

bool isSet(const char* variable)
{
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

} // namespace

std::optional<size_t> terminalColumns(int descriptor)
{
    if (isatty(descriptor) != 1)
        return std::nullopt;
    if (const char* const variable = std::getenv("COLUMNS")) {
        const std::string_view text = variable;
        size_t columns = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
        if (error == std::errc() && end == text.data() + text.size() && columns > 0)
            return columns;
    }
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return std::nullopt;
    return size.ws_col;
}

bool takesControlCodes(int descriptor)
{
    const char* const variable = std::getenv("TERM");
    const std::string_view kind = variable == nullptr ? std::string_view() : variable;
    return isatty(descriptor) == 1 && !kind.empty() && kind != "dumb";
}

std::string clipboardCodes(std::string_view text)
{
    const std::string encoded = base64Of(text);
    if (encoded.size() > kLongestEncoded)
        return {};
    const std::string codes = "\x1b]52;c;" + encoded + "\a";
    // tmux takes them itself (`set-clipboard on`), or passes them on (`allow-passthrough on`).
    if (isSet("TMUX"))
        return codes + "\x1bPtmux;\x1b" + codes + "\x1b\\";
    if (!isSet("STY"))
        return codes;
    std::string out;
    for (size_t at = 0; at < codes.size(); at += kScreenPiece)
        out += "\x1bP" + codes.substr(at, kScreenPiece) + "\x1b\\";
    return out;
}

size_t textWidth(int descriptor)
{
    return std::clamp(terminalColumns(descriptor).value_or(kMaxTextWidth), kMinTextWidth, kMaxTextWidth);
}

} // namespace shardscope::cli
