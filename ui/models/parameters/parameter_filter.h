// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/counts.h"
#include "ui/models/param_marks.h"
#include "ui/models/parameters/parameter_index.h"

#include <QStringList>

#include <functional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// A parsed filter text. All words must match:
///   mlp             part of the name, whatever its case
///   layers.*.bias   the whole name, `*` for anything
///   /up|down$/      a regular expression
///   dtype:bf16  size>1M  elements<=10  frozen:yes  buffer:no  shared:yes  group:1  layer:4..7  state:exp_avg
///   rank:3  rank:0..7  padding:yes  padding>4
/// A word that looks like a term but is none of these is an error.
/// Pure value; thread-safe once parsed.
class ParameterFilter
{
public:
    /// error() describes the problem; a filter with an error matches nothing.
    static ParameterFilter parse(const QString& text);
    /// The typed text, split into the words that parse() reads: one chip each.
    static QStringList words(const QString& text);
    /// Beginnings of terms, for completion: "layer:", "size>".
    static QStringList terms();

    [[nodiscard]] const QString& error() const { return m_error; }
    [[nodiscard]] bool isEmpty() const { return m_tests.empty() && m_error.isEmpty(); }

    /// One byte per parameter, 1 where all words match. Returns early, with whatever it has, when stopped.
    [[nodiscard]] std::vector<uint8_t> matches(
        const ParameterIndex& index, const std::stop_token& token) const;

private:
    /// Clears the entries of `keep` that do not match.
    using Test = std::function<void(
        const ParameterIndex& index, std::vector<uint8_t>& keep, const std::stop_token& token)>;

    void addWord(const QString& word);
    bool addTerm(const QString& word);

    /// "size>=64K" in parts.
    struct Term {
        QString key;
        QString relation;
        QString value; ///< in lower case
    };
    /// Each of them adds a test, or returns what is expected instead.
    [[nodiscard]] QString addTermTest(const Term& term);
    [[nodiscard]] QString addSizeTest(const Term& term);
    [[nodiscard]] QString addRangeTest(const Term& term);
    [[nodiscard]] QString addYesNoTest(const Term& term);
    [[nodiscard]] QString addPaddingTest(const Term& term);
    void addRankTest(uint32_t first, uint32_t last);

    std::vector<Test> m_tests;
    QString m_error;
};

/// The rows to show: matching parameters in the order of a column.
struct ParameterRows {
    std::vector<ParamId> rows;
    ParameterCounts counts; ///< of the rows
    uint64_t bytes = 0; ///< of the rows, aliases counted with their owner
    QString error;
    /// The rows and, for aliases among them, the owners of their storage; null without a filter.
    ParamMarks matches;
};
ParameterRows queryRows(const ParameterIndex& index, const ParameterFilter& filter, ParamColumn column,
    bool descending, const std::stop_token& token);

} // namespace shardscope::ui
