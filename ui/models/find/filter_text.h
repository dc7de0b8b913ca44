// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/models/find: the one grammar of all filters, and what the find field finds. Start with
// FilterText, then find().

#include <QRegularExpression>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::ui {

/// A term that a page's filter understands, such as `layer:4..7`.
struct FilterTerm {
    enum class Values : uint8_t {
        Choice, ///< one of `words`, or several with commas between them
        Text, ///< any, matched by the page; `words` are offered
        Number, ///< also a range, and by < <= > >=; "64K" is 65,536
        YesNo,
        YesNoNumber, ///< yes: more than 0
    };

    QString key;
    Values values = Values::Text;
    QStringList words = {}; ///< in lower case
    QString help = {}; ///< what it keeps
};

/// What makes a filter invalid, and where in the text.
struct FilterProblem {
    QString reason;
    qsizetype at = 0;
    qsizetype length = 0;
    qsizetype word = 0; ///< its place among the words
};

/// One word of a filter, parsed.
struct FilterWord {
    QString text; ///< as it was typed
    qsizetype at = 0; ///< in the typed text
    qsizetype number = 0; ///< its place among the words
    bool isNegated = false; ///< by a minus before it
    QString key = {}; ///< of its term; empty: part of a name, a pattern or an expression
    QStringList values = {}; ///< of a Choice or Text: one of them, in lower case
    std::vector<std::pair<uint64_t, uint64_t>> ranges = {}; ///< of numbers, both ends included
    bool yes = false;
    /// Without a key: a word in lower case. Set `expression`: a regular expression instead.
    std::string part = {};
    std::optional<QRegularExpression> expression = {};

    /// Whether a number is meant by a Number or YesNoNumber.
    [[nodiscard]] bool takes(uint64_t number) const;
    /// Whether one of the values is a part of this text, which is in lower case.
    [[nodiscard]] bool takes(const QString& lowered) const;
    /// Whether a word without a key matches a text in lower case. The negation is not applied.
    [[nodiscard]] bool matches(std::string_view lowered) const;
};

/// A filter as all pages read it. Every word must match:
///   mlp             a part, whatever its case
///   layers.*.bias   the whole name, `*` for anything
///   /up|down$/      a regular expression; alone, it may contain spaces
///   layer:4..7,9    a term of the page: numbers, ranges, choices
///   -bias  -rank:3  what does not match
class FilterText
{
public:
    static FilterText read(const QString& text, const std::vector<FilterTerm>& terms);
    /// The typed words, one chip each.
    static QStringList split(const QString& text);
    /// Without a last term that has no value yet, or the beginning of one: nothing is filtered by it while it
    /// is typed.
    static QString settled(const QString& text, const std::vector<FilterTerm>& terms);

    [[nodiscard]] const std::vector<FilterWord>& words() const { return m_words; }
    [[nodiscard]] const std::optional<FilterProblem>& problem() const { return m_problem; }
    [[nodiscard]] bool isEmpty() const { return m_words.empty() && !m_problem; }
    void setProblem(const FilterWord& word, const QString& expected);
    /// Whether every word matches: `plain` says it of words without a key, `keyed` of terms.
    template <class Plain, class Keyed>
    [[nodiscard]] bool keeps(Plain plain, Keyed keyed) const
    {
        if (m_problem)
            return false;
        for (const FilterWord& word : m_words)
            if ((word.key.isEmpty() ? plain(word) : keyed(word)) == word.isNegated)
                return false;
        return true;
    }

private:
    void add(FilterWord word, const std::vector<FilterTerm>& terms);
    void addTerm(FilterWord word, const QString& relation, const QString& value, const FilterTerm& term);

    std::vector<FilterWord> m_words;
    std::optional<FilterProblem> m_problem; ///< of the first wrong word
};

/// What a page shows of its filter, for the bar above its rows and for the find field.
struct FilterView {
    QStringList words;
    std::optional<FilterProblem> problem;
    QString count; ///< "312 of 41,280 · 1.2 B elements · 3.1 GiB"; empty without a filter
};

/// What a word can be completed to: terms, and the values of a term.
struct FilterCompletion {
    QString word; ///< "layer:", "dtype:bf16"
    QString help;
};
std::vector<FilterCompletion> completionsOf(const QString& word, const std::vector<FilterTerm>& terms);

/// In lower case, byte by byte: A to Z only.
std::string loweredBytes(std::string_view text);
std::string loweredBytes(const QString& text);

} // namespace shardscope::ui
