// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/report/summary/report_head.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The findings as Markdown (CommonMark) for an issue or a chat: the head, which has one checkpoint for each
/// result, then the findings of each, worst first. Text from files is escaped.
std::string markdownReport(
    const std::vector<CheckResult>& results, std::optional<CheckDepth> depth, const ReportHead& head);

} // namespace shardscope
