// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The findings as Markdown (CommonMark) for an issue or a chat: version, time and options of the check, what
/// the checkpoint is, then the findings, worst first. Text from files is escaped. `time`: when the check
/// ended, as text; empty: not said.
std::string markdownReport(
    const std::vector<CheckResult>& results, std::optional<CheckDepth> depth, std::string_view time);

} // namespace shardscope
