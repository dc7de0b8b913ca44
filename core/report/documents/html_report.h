// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/report/documents: results as files of other tools: SARIF, HTML, CSV, NumPy, in one header each.
// Start with htmlReport().

#include "core/doctor/examine.h"
#include "core/report/summary/report_head.h"

#include <string>
#include <vector>

namespace shardscope {

/// The findings as one self-contained HTML page: no script, no other file. It has light, dark and print
/// styles. Text from files is escaped. The head has one checkpoint for each result.
std::string htmlReport(
    const std::vector<CheckResult>& results, std::optional<CheckDepth> depth, const ReportHead& head);

} // namespace shardscope
