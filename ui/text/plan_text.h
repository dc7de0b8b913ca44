// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"

#include <QString>

#include <optional>

namespace shardscope::ui {

/// "Reads 1.2 GiB, writes 0.6 GiB in 3 files · 80 GiB free".
QString planSummary(const WritePlan& plan, const std::optional<uint64_t>& freeBytes);
/// The plan's warnings, a paragraph each; empty when there are none.
QString planWarnings(const WritePlan& plan);

} // namespace shardscope::ui
