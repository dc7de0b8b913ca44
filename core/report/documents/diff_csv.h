// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/diff/state_diff.h"
#include "core/describe/json_writer.h"

namespace shardscope {

/// Differences as a table for spreadsheets and scripts, cells as in core/report/text/csv_row.h, one header.
/// The columns are the fields of `differences` in diff's JSON, then those of `updates`, then `not_compared`
/// of `differences`; numbers have the same format, and fields that do not apply are empty.
///
/// Rows keep the order of the calls. Not thread-safe.
class DiffCsv
{
public:
    /// Writes the header.
    explicit DiffCsv(TextSink sink);

    /// One state that differs in values or dtype.
    void addValues(const ParamDifference& param, const StateDifference& state);
    /// A state that is on one side only, or the parameter itself if `state` is empty.
    void addAlone(const ParamDifference& param, bool isRight, std::string_view state);
    /// A state that lacks elements on one side.
    void addPartial(const ParamDifference& param, const PartialState& state);
    /// A parameter with different shapes.
    void addShape(const ParamDifference& param);
    void addScalar(const ScalarDifference& scalar);

private:
    TextSink m_sink;
};

} // namespace shardscope
