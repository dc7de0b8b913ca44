// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/judged_diff.h"

#include "ui/models/find/filter_text.h"

#include <QString>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace shardscope::ui {

enum class DifferenceColumn : uint8_t { Kind, Name, State, Different, MaxAbs, RelativeL2, Cosine, NextStep };
inline constexpr int kDifferenceColumns = 8;

/// Partial: one side lacks elements.
enum class DifferenceKind : uint8_t {
    OnlyLeft,
    OnlyRight,
    Partial,
    Shape,
    Values,
    LastBit,
    Copy,
    Scalar,
    Options
};

/// One difference: a place in a JudgedDiff.
struct DifferenceRow {
    DifferenceKind kind = DifferenceKind::Values;
    uint32_t at = 0; ///< of StateDiff::params, or of scalarDifferences
    uint32_t state = 0; ///< of ParamDifference::states, partial, onlyLeft or onlyRight
    bool isWhole = false; ///< the parameter itself is on one side only
};

/// The differences of a comparison as rows: parameters as StateDiff orders them, the largest change first,
/// then options and steps, then scaler, scheduler, counters and client state. One more row, optionsRow(), is
/// no difference: it stands for all options and steps. Immutable; thread-safe.
class DifferenceList
{
public:
    explicit DifferenceList(std::shared_ptr<const JudgedDiff> judged);

    [[nodiscard]] size_t size() const { return m_rows.size() - 1; } ///< of differences and incomplete states
    [[nodiscard]] size_t incomplete() const { return m_incomplete; } ///< states that lack elements on a side
    /// "5 differences, 93 tensors incomplete", "3 of 5 differences, 20 of 93 tensors incomplete": some rows.
    [[nodiscard]] QString counted(const std::vector<uint32_t>& rows) const;
    [[nodiscard]] uint32_t optionsRow() const { return static_cast<uint32_t>(size()); }
    /// Of a parameter, or the text of optionsRow().
    [[nodiscard]] QString longestName() const;
    /// Of the column Different, in the rows of parameters that are seen first.
    [[nodiscard]] const QString& longestCount() const { return m_longestCount; }
    /// An option or a step of a param group.
    [[nodiscard]] bool isOption(uint32_t i) const;
    [[nodiscard]] const DifferenceRow& row(uint32_t i) const { return m_rows[i]; }
    /// The parameter of a row; null for scalars.
    [[nodiscard]] const ParamDifference* param(uint32_t i) const;
    [[nodiscard]] const StateDifference* values(uint32_t i) const;
    [[nodiscard]] const PartialState* partial(uint32_t i) const;
    [[nodiscard]] const ScalarDifference* scalar(uint32_t i) const;
    /// The state of a row, as the left side names it; empty if the row is not about a state.
    [[nodiscard]] std::string_view state(uint32_t i) const;
    /// The numeric value of a column; empty if it has none. NaN where a differing element is NaN or
    /// infinite, because no finite measure applies.
    [[nodiscard]] std::optional<double> number(uint32_t i, DifferenceColumn column) const;
    /// As display text; `exact`: with all digits.
    [[nodiscard]] QString text(uint32_t i, DifferenceColumn column, bool exact = false) const;

private:
    void addScalars(bool options);
    void addParam(uint32_t at);
    [[nodiscard]] std::optional<double> nextStep(uint32_t i) const;
    [[nodiscard]] QString optionsText() const;
    [[nodiscard]] QString kindText(uint32_t i) const;
    [[nodiscard]] QString countText(uint32_t i, bool exact) const;

    std::shared_ptr<const JudgedDiff> m_judged;
    std::vector<DifferenceRow> m_rows;
    uint32_t m_longest = 0; ///< place of the longest name in StateDiff::params
    QString m_longestCount;
    uint32_t m_options = 0; ///< of kind Option
    uint32_t m_steps = 0;
    size_t m_incomplete = 0;
};
using DifferenceListPtr = std::shared_ptr<const DifferenceList>;

/// A measure of a difference in three digits: "0.00248", "6.02e-5".
QString differenceText(double measure);

/// "5 NaN/Inf (left)": of elements that differ; there must be some.
QString notFiniteText(const Comparison& values);

/// The terms of a filter of differences: kind, state. Words without a key are looked for in both, too.
std::vector<FilterTerm> differenceTerms();

/// The differences that a filter keeps, in the list's default order or by a column; options stay together
/// where the column has no value for them. Empty when stopped.
struct DifferenceOrder {
    std::optional<DifferenceColumn> column; ///< empty: most important first
    bool descending = false;
    QString filter;
};
std::vector<uint32_t> orderedDifferences(
    const DifferenceList& list, const DifferenceOrder& order, const std::stop_token& token);

/// The rows to show: among rows of parameters, two or more options are one row, optionsRow(), which they
/// follow if `unfolded`. `rows`: in any order.
std::vector<uint32_t> withFoldedOptions(
    const DifferenceList& list, const std::vector<uint32_t>& rows, bool unfolded);

} // namespace shardscope::ui
