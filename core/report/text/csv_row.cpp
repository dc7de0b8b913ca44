// SPDX-License-Identifier: Apache-2.0
#include "core/report/text/csv_row.h"

#include "core/base/text.h"

#include <charconv>

namespace shardscope {

namespace {

bool isNumber(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

} // namespace

std::string csvText(std::string_view raw)
{
    std::string text = isValidUtf8(raw) ? std::string(raw) : toValidUtf8(raw);
    // Spreadsheets skip blanks before a formula.
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && std::string_view("=+-@").find(text[first]) != std::string_view::npos
        && !isNumber(text))
        text.insert(text.begin(), '\'');
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text) {
        out += c;
        if (c == '"')
            out += c;
    }
    return out + '"';
}

} // namespace shardscope
