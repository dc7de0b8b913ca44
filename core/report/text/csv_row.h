// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_writer.h"

#include <string>
#include <string_view>

namespace shardscope {

/// Cells of comma-separated values (RFC 4180, lines end with "\n"), UTF-8.
///
/// A text that begins with one of = + - @ and is not a number gets an apostrophe before it, because a
/// spreadsheet would take it for a formula, and names come from untrusted files. Bytes that are not UTF-8
/// become U+FFFD.
std::string csvText(std::string_view raw);

/// As in JSON, but NaN and infinities have no quotation marks, and null is empty.
template <class Number>
std::string csvNumber(const Number& number)
{
    std::string text = jsonText([&](JsonWriter& json) { json.value(number); });
    std::erase(text, '"');
    return text == "null" ? std::string() : text;
}

/// Writes a line of cells.
template <class Cells>
void putCsvLine(const TextSink& sink, const Cells& cells)
{
    std::string line;
    for (const auto& cell : cells) {
        if (&cell != &*std::begin(cells))
            line += ',';
        line += cell;
    }
    sink(line + '\n');
}

} // namespace shardscope
