// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <string>
#include <vector>

namespace shardscope {

/// The findings as one self-contained HTML page: no script, no other file. It has light, dark and print
/// styles. Text from files is escaped. Deterministic; no times.
std::string htmlReport(const std::vector<CheckResult>& results, std::optional<CheckDepth> depth);

} // namespace shardscope
