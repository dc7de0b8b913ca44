// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/tensor_statistics.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <memory>

namespace shardscope {

/// Takes statistics one by one and writes them as they come (JSON) or at the end (text, whose columns need
/// all). Not thread-safe.
class StatsReport
{
public:
    virtual ~StatsReport() = default;
    virtual void add(const TensorStatistics& tensor) = 0;
    virtual void end() = 0;
};

struct StatsReportOptions {
    uint32_t bars = 32; ///< of each histogram, at most; 0: none
    bool drawn = false; ///< text: histograms are drawn below the table
};

/// The answer of `stats`. The context outlives the report.
std::unique_ptr<StatsReport> statsJson(
    TextSink sink, const AnswerContext& context, const StatsReportOptions& options);
std::unique_ptr<StatsReport> statsText(
    TextSink sink, const TextStyle& style, const AnswerContext& context, const StatsReportOptions& options);

} // namespace shardscope
