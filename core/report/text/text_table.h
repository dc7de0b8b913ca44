// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/report/text: tables and fields for terminals, and text from files made safe to print. Start
// with TextTable, then printable().

#include "core/describe/json_writer.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The style of text: colours on a terminal that supports them, else none.
struct TextStyle {
    bool colour = false;

    [[nodiscard]] std::string bold(std::string_view text) const;
    [[nodiscard]] std::string dim(std::string_view text) const;
    [[nodiscard]] std::string red(std::string_view text) const;
    [[nodiscard]] std::string yellow(std::string_view text) const;
    [[nodiscard]] std::string green(std::string_view text) const;
};

/// Columns of text, aligned over all rows. Cells are raw; they are made printable here.
class TextTable
{
public:
    enum class Align { Left, Right };
    struct Column {
        std::string title;
        Align align = Align::Left;
    };

    explicit TextTable(std::vector<Column> columns);
    /// Missing cells are empty; extra cells are dropped.
    void add(std::vector<std::string> cells);
    [[nodiscard]] bool empty() const { return m_rows.empty(); }
    void write(const TextSink& sink, const TextStyle& style, std::string_view indent = "") const;

private:
    std::vector<Column> m_columns;
    std::vector<std::vector<std::string>> m_rows;
};

/// "label   value" lines with the labels of one block aligned.
class TextFields
{
public:
    /// The value is raw; it is made printable here.
    void add(std::string label, std::string_view value);
    /// The value is printable already and may contain colours.
    void addStyled(std::string label, std::string value);
    void write(const TextSink& sink, const TextStyle& style, std::string_view indent = "") const;

private:
    std::vector<std::pair<std::string, std::string>> m_lines;
};

} // namespace shardscope
