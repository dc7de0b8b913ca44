// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <string>
#include <vector>

namespace shardscope {

/// The findings as one HTML page that needs nothing else: no script, no file beside it, readable in light and
/// dark and on paper. Text from files is escaped. Deterministic; no times.
std::string htmlReport(const std::vector<CheckResult>& results, std::optional<CheckDepth> depth);

} // namespace shardscope
