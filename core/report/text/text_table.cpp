// SPDX-License-Identifier: Apache-2.0
#include "core/report/text/text_table.h"

#include "core/report/text/printable.h"

#include <algorithm>

namespace shardscope {

namespace {

std::string dressed(bool colour, std::string_view code, std::string_view text)
{
    if (!colour || text.empty())
        return std::string(text);
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

/// `shown`: the cell, maybe with escape codes, which have no width.
void appendAligned(
    std::string& line, const std::string& shown, size_t blanks, TextTable::Align align, bool last)
{
    const std::string blank(blanks, ' ');
    if (align == TextTable::Align::Right) {
        line += blank;
        line += shown;
    } else {
        line += shown;
        if (!last)
            line += blank;
    }
}

size_t blanksAfter(const std::string& cell, size_t width)
{
    const size_t own = displayWidth(cell);
    return width > own ? width - own : 0;
}

} // namespace

std::string TextStyle::bold(std::string_view text) const
{
    return dressed(colour, "1", text);
}
std::string TextStyle::dim(std::string_view text) const
{
    return dressed(colour, "2", text);
}
std::string TextStyle::red(std::string_view text) const
{
    return dressed(colour, "31", text);
}
std::string TextStyle::yellow(std::string_view text) const
{
    return dressed(colour, "33", text);
}
std::string TextStyle::green(std::string_view text) const
{
    return dressed(colour, "32", text);
}

TextTable::TextTable(std::vector<Column> columns)
    : m_columns(std::move(columns))
{
}

void TextTable::add(std::vector<std::string> cells)
{
    cells.resize(m_columns.size());
    for (std::string& cell : cells)
        cell = printable(cell);
    m_rows.push_back(std::move(cells));
}

void TextTable::write(const TextSink& sink, const TextStyle& style, std::string_view indent) const
{
    std::vector<size_t> widths;
    for (size_t c = 0; c < m_columns.size(); ++c) {
        size_t width = displayWidth(m_columns[c].title);
        for (const auto& row : m_rows)
            width = std::max(width, displayWidth(row[c]));
        widths.push_back(width);
    }
    std::string line;
    const auto flush = [&] {
        const size_t end = line.find_last_not_of(' ');
        line.resize(end == std::string::npos ? 0 : end + 1);
        line += '\n';
        sink(line);
        line.assign(indent);
    };
    line.assign(indent);
    for (size_t c = 0; c < m_columns.size(); ++c) {
        line += c == 0 ? "" : "  ";
        appendAligned(line, style.bold(m_columns[c].title), blanksAfter(m_columns[c].title, widths[c]),
            m_columns[c].align, c + 1 == m_columns.size());
    }
    flush();
    for (const auto& row : m_rows) {
        for (size_t c = 0; c < row.size(); ++c) {
            line += c == 0 ? "" : "  ";
            appendAligned(
                line, row[c], blanksAfter(row[c], widths[c]), m_columns[c].align, c + 1 == row.size());
        }
        flush();
    }
}

void TextFields::add(std::string label, std::string_view value)
{
    m_lines.emplace_back(std::move(label), printable(value)); // values may come from files
}

void TextFields::addStyled(std::string label, std::string value)
{
    m_lines.emplace_back(std::move(label), std::move(value));
}

void TextFields::write(const TextSink& sink, const TextStyle& style, std::string_view indent) const
{
    size_t width = 0;
    for (const auto& [label, value] : m_lines)
        width = std::max(width, displayWidth(label));
    for (const auto& [label, value] : m_lines) {
        const std::string blank(width - displayWidth(label) + 2, ' ');
        sink(std::string(indent) + style.dim(label) + blank + value + "\n");
    }
}

} // namespace shardscope
