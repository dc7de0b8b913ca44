// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/tensor_statistics.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <memory>

namespace shardscope {

/// Takes statistics one by one. JSON is written at once, text at the end, because column widths depend on
/// all rows. Not thread-safe.
class StatsReport
{
public:
    virtual ~StatsReport() = default;
    virtual void add(const TensorStatistics& tensor) = 0;
    virtual void end() = 0;
};

struct StatsReportOptions {
    uint32_t bars = 32; ///< max per histogram; 0: no histogram
    bool drawn = false; ///< text: histograms are drawn below the table
};

/// The answer of `stats`. The context must outlive the report.
std::unique_ptr<StatsReport> statsJson(
    TextSink sink, const AnswerContext& context, const StatsReportOptions& options);
std::string statsSchema();
std::unique_ptr<StatsReport> statsText(
    TextSink sink, const TextStyle& style, const AnswerContext& context, const StatsReportOptions& options);

} // namespace shardscope
