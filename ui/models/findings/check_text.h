// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <QString>

#include <array>
#include <span>

namespace shardscope::ui {

class CheckRun;

/// "2 errors, 1 warning", "No problems found". Infos are counted only if there are no others.
QString findingCountText(std::span<const Finding> findings);
QString findingCountText(const std::array<size_t, 3>& counts); ///< by Severity
/// The data that a finished check read, and when: "Read every byte at 08:01", or "Values not read (1.2 GiB)"
QString checkedText(const CheckRun& run, const Checkpoint& checkpoint);

} // namespace shardscope::ui
