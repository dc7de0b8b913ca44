// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/page_text.h"

#include "core/report/text/printable.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shardscope::cli {

namespace {

constexpr size_t kGap = 2; ///< between the columns of a table
constexpr size_t kLeastColumn = 8;

/// A word as it is printed, and the columns that it takes.
struct Word {
    std::string text;
    size_t columns = 0;
};

/// Replaces `[text](target)` by its text.
std::string withoutLinks(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        const size_t open = text.find('[');
        const size_t middle = open == std::string_view::npos ? open : text.find("](", open);
        const size_t close = middle == std::string_view::npos ? middle : text.find(')', middle);
        if (close == std::string_view::npos)
            return out.append(text);
        out.append(text.substr(0, open));
        out.append(text.substr(open + 1, middle - open - 1));
        text.remove_prefix(close + 1);
    }
    return out;
}

/// The words of running text. Code and **strong** text are bold where the style has it; else code keeps its
/// backquotes.
std::vector<Word> wordsOf(std::string_view markdown, const TextStyle& style)
{
    std::vector<Word> out;
    Word word;
    std::string part; ///< of the word, in one style
    bool isCode = false;
    bool isStrong = false;
    const auto endPart = [&] {
        word.columns += displayWidth(part);
        word.text += !part.empty() && (isCode || isStrong) ? style.bold(part) : part;
        part.clear();
    };
    const auto endWord = [&] {
        endPart();
        if (!word.text.empty())
            out.push_back(std::move(word));
        word = {};
    };
    const std::string text = withoutLinks(markdown);
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ' ') {
            endWord();
        } else if (text[i] == '`') {
            part += style.colour ? "" : "`";
            endPart();
            isCode = !isCode;
        } else if (!isCode && text.compare(i, 2, "**") == 0) {
            endPart();
            isStrong = !isStrong;
            ++i;
        } else {
            part += text[i];
        }
    }
    endWord();
    return out;
}

/// Lines of at most `width` columns, except for longer words.
std::vector<Word> linesOf(const std::vector<Word>& words, size_t width)
{
    std::vector<Word> lines;
    for (const Word& word : words) {
        if (lines.empty() || lines.back().columns + 1 + word.columns > width) {
            lines.push_back(word);
        } else {
            lines.back().text += " " + word.text;
            lines.back().columns += 1 + word.columns;
        }
    }
    return lines;
}

class PageWriter
{
public:
    PageWriter(const TextSink& sink, const TextStyle& style, size_t width)
        : m_sink(sink)
        , m_style(style)
        , m_width(width)
    {
    }

    void line(std::string_view text)
    {
        if (text.starts_with("```")) {
            flush();
            m_isCode = !m_isCode;
        } else if (m_isCode) {
            m_sink("    " + std::string(text) + "\n");
        } else if (text.starts_with('|')) {
            flushText();
            addRow(text);
        } else if (text.starts_with('#')) {
            flush();
            m_sink(m_style.bold(text.substr(std::min(text.find_first_not_of("# "), text.size()))) + "\n");
        } else if (text.empty() || text.starts_with("![")) {
            flush();
            if (text.empty())
                m_sink("\n");
        } else {
            flushTable();
            if (text.starts_with("- "))
                flushText();
            m_isItem = m_isItem || text.starts_with("- ");
            text.remove_prefix(std::min(text.find_first_not_of("- "), text.size()));
            m_text += (m_text.empty() ? "" : " ") + std::string(text);
        }
    }

    void flush()
    {
        flushText();
        flushTable();
    }

private:
    void flushText()
    {
        const size_t indent = m_isItem ? 2 : 0;
        bool isFirst = true;
        for (const Word& line : linesOf(wordsOf(m_text, m_style), m_width - indent)) {
            m_sink((m_isItem ? (isFirst ? "- " : "  ") : "") + line.text + "\n");
            isFirst = false;
        }
        m_text.clear();
        m_isItem = false;
    }

    void addRow(std::string_view text)
    {
        if (text.find_first_not_of("|-: ") == std::string_view::npos
            && text.find('-') != std::string_view::npos)
            return; // below the titles
        std::vector<std::vector<Word>> cells;
        text.remove_prefix(1);
        while (!text.empty()) {
            const size_t end = std::min(text.find(" |"), text.size());
            cells.push_back(wordsOf(text.substr(0, end), m_style));
            text.remove_prefix(std::min(end + 2, text.size()));
        }
        m_rows.push_back(std::move(cells));
    }

    /// The widest columns give way.
    [[nodiscard]] std::vector<size_t> columnWidths() const
    {
        std::vector<size_t> widths;
        for (const auto& row : m_rows) {
            widths.resize(std::max(widths.size(), row.size()), 0);
            for (size_t i = 0; i < row.size(); ++i) {
                for (const Word& line : linesOf(row[i], std::string::npos / 2))
                    widths[i] = std::max(widths[i], line.columns);
            }
        }
        const auto sum = [&] {
            return std::accumulate(widths.begin(), widths.end(), size_t{0}) + kGap * (widths.size() - 1);
        };
        while (!widths.empty() && sum() > m_width) {
            const auto widest = std::ranges::max_element(widths);
            if (*widest <= kLeastColumn)
                break;
            --*widest;
        }
        return widths;
    }

    void flushTable()
    {
        const std::vector<size_t> widths = columnWidths();
        for (const auto& row : m_rows) {
            std::vector<std::vector<Word>> cells;
            size_t height = 0;
            for (size_t i = 0; i < row.size(); ++i) {
                cells.push_back(linesOf(row[i], widths[i]));
                height = std::max(height, cells.back().size());
            }
            for (size_t at = 0; at < height; ++at) {
                std::string line;
                size_t missing = 0; ///< columns before the next cell
                for (size_t i = 0; i < cells.size(); ++i) {
                    const Word part = at < cells[i].size() ? cells[i][at] : Word();
                    if (!part.text.empty())
                        line += std::string(missing, ' ') + part.text;
                    missing = (part.text.empty() ? missing : 0) + kGap
                        + (widths[i] > part.columns ? widths[i] - part.columns : 0);
                }
                m_sink(line + "\n");
            }
        }
        m_rows.clear();
    }

    const TextSink& m_sink;
    const TextStyle& m_style;
    size_t m_width;
    bool m_isCode = false;
    bool m_isItem = false;
    std::string m_text; ///< of the paragraph or item so far
    std::vector<std::vector<std::vector<Word>>> m_rows; ///< of the table so far
};

} // namespace

void writePage(const TextSink& sink, const TextStyle& style, std::string_view markdown, size_t width)
{
    PageWriter writer(sink, style, width);
    while (!markdown.empty()) {
        const size_t end = std::min(markdown.find('\n'), markdown.size());
        writer.line(markdown.substr(0, end));
        markdown.remove_prefix(std::min(end + 1, markdown.size()));
    }
    writer.flush();
}

} // namespace shardscope::cli
