// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"
#include "core/report/json/json_writer.h"

namespace shardscope {

/// Differences as a table for spreadsheets and scripts: comma-separated (RFC 4180, lines end with "\n"),
/// UTF-8, one header. The columns are the fields of `differences` in diff's JSON, then those of `updates`;
/// numbers are spelled as there, and what does not apply to a difference is empty.
///
/// A text that a spreadsheet would take for a formula, because it begins with one of = + - @ and is no
/// number, has an apostrophe before it: names come from files that nobody need trust. Bytes that are not
/// UTF-8 show U+FFFD. Rows come in the order they are added. Not thread-safe.
class DiffCsv
{
public:
    /// Writes the header.
    explicit DiffCsv(TextSink sink);

    /// One state that differs in values or dtype.
    void addValues(const ParamDifference& param, const StateDifference& state);
    /// What is on one side alone: that state, or the parameter itself where `state` is empty.
    void addAlone(const ParamDifference& param, bool isRight, std::string_view state);
    /// Of another shape on the other side.
    void addShape(const ParamDifference& param);
    void addScalar(const ScalarDifference& scalar);

private:
    TextSink m_sink;
};

} // namespace shardscope
