// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/tensor_statistics.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// A tensor as the answer of `stats` says it, without its histogram.
struct TensorFacts {
    std::string name;
    std::string state;
    std::string dtype;
    uint64_t elements = 0; ///< of the tensor
    bool exact = true; ///< false: the rest is of a sample
    uint64_t read = 0;
    uint64_t missing = 0; ///< that could not be read
    std::optional<double> min; ///< this and what follows: of the finite values; null where there are none
    std::optional<double> max;
    std::optional<double> mean;
    std::optional<double> std;
    std::optional<double> l1;
    std::optional<double> l2;
    uint64_t zeros = 0;
    uint64_t nans = 0;
    uint64_t infinities = 0;
};
/// The tensors of what statsJson() has written; it can be anybody's text. Hostile if it is no such answer.
Result<std::vector<TensorFacts>> parseStats(std::string_view json);

/// The answer of `stats`. The context must outlive the report.
std::unique_ptr<StatsReport> statsJson(
    TextSink sink, const AnswerContext& context, const StatsReportOptions& options);
std::string statsSchema();
std::unique_ptr<StatsReport> statsText(
    TextSink sink, const TextStyle& style, const AnswerContext& context, const StatsReportOptions& options);

} // namespace shardscope
