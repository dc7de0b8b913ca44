// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/report/summary/report_head.h"

#include <string>
#include <vector>

namespace shardscope {

/// The findings as SARIF 2.1.0 (OASIS): a rule per kind of finding, a result per finding, files as locations
/// relative to the checkpoint folder. A path that could not be read is a tool notification. Time and
/// command of the head are those of the invocation, what the checkpoints are is in the run's properties.
std::string sarifReport(const std::vector<CheckResult>& results, const ReportHead& head);

} // namespace shardscope
