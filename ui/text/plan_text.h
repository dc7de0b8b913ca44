// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"

#include <QString>

#include <optional>

namespace shardscope::ui {

/// "Reads 1.2 GiB, writes 0.6 GiB in 3 files · 80 GiB free".
QString planSummary(const WritePlan& plan, const std::optional<uint64_t>& freeBytes);
/// "About 12 s at 1.1 GiB/s, as the last job · at most 256 MiB of buffers". `bytesPerSecond` 0: not measured
/// yet.
QString planEstimate(const WritePlan& plan, uint64_t bytesPerSecond, uint64_t memoryBytes);
/// Why a plan cannot start while another process runs it.
Error runningElsewhere(const io::Path& target);
/// What Resume does.
QString resumeText();
/// The plan's warnings, a paragraph each; empty when there are none.
QString planWarnings(const WritePlan& plan);

} // namespace shardscope::ui
