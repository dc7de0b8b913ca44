// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/counts.h"
#include "ui/models/find/filter_text.h"
#include "ui/models/param_marks.h"
#include "ui/models/parameters/param_knowledge.h"
#include "ui/models/parameters/parameter_index.h"

#include <functional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// A parsed filter of parameters: FilterText with terms() of its own. Pure value; thread-safe once parsed.
class ParameterFilter
{
public:
    /// problem() says what is wrong; a filter with a problem matches nothing.
    static ParameterFilter parse(const QString& text);
    /// All terms. With an index: with the dtypes, states and groups that the checkpoint has.
    static std::vector<FilterTerm> terms(const ParameterIndex* index = nullptr);

    [[nodiscard]] const std::optional<FilterProblem>& problem() const { return m_text.problem(); }
    [[nodiscard]] QString error() const { return problem() ? problem()->reason : QString(); }
    [[nodiscard]] bool isEmpty() const { return m_text.isEmpty(); }
    /// Whether it has a term that only the values of the tensors can answer: `has:nan`, `has:zero`, …
    [[nodiscard]] bool needsValues() const { return m_needsValues; }
    /// What terms such as `has:finding` ask.
    void setKnowledge(ParamKnowledge knowledge) { m_knowledge = std::move(knowledge); }

    /// One byte per parameter, 1 where all words match. Returns early, with whatever it has, when stopped.
    [[nodiscard]] std::vector<uint8_t> matches(
        const ParameterIndex& index, const std::stop_token& token) const;

private:
    /// Clears the entries of `keep` that do not match.
    using Test = std::function<void(
        const ParameterIndex& index, std::vector<uint8_t>& keep, const std::stop_token& token)>;

    void addWord(const FilterWord& word);
    void addTerm(const FilterWord& word);
    void addHas(const FilterWord& word);

    FilterText m_text;
    std::vector<Test> m_tests;
    std::vector<FilterWord> m_has; ///< the words `has:`
    QStringList m_states; ///< of the words `state:`; `has:nan` then asks only these
    bool m_needsValues = false;
    ParamKnowledge m_knowledge;
};

/// The rows to show: matching parameters in the order of a column.
struct ParameterRows {
    std::vector<ParamId> rows;
    ParameterCounts counts; ///< of the rows
    uint64_t bytes = 0; ///< of the rows, aliases counted with their owner
    std::optional<FilterProblem> problem;
    /// The rows and, for aliases among them, the owners of their storage; null without a filter.
    ParamMarks matches;
};
ParameterRows queryRows(const ParameterIndex& index, const ParameterFilter& filter, ParamColumn column,
    bool descending, const std::stop_token& token);

} // namespace shardscope::ui
