// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/terminal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace shardscope::cli {

namespace {

constexpr size_t kMinTextWidth = 40;
constexpr size_t kMaxTextWidth = 96;

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

size_t textWidth(int descriptor)
{
    return std::clamp(terminalColumns(descriptor).value_or(kMaxTextWidth), kMinTextWidth, kMaxTextWidth);
}

} // namespace shardscope::cli
