// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <QString>

#include <span>

namespace shardscope::ui {

class CheckRun;

/// "2 errors, 1 warning", "No problems found". Infos are counted only if there are no others.
QString findingCountText(std::span<const Finding> findings);
/// The data that a finished check read: "Every byte was read.", or "Values not read (1.2 GiB)."
QString checkedText(const CheckRun& run, const Checkpoint& checkpoint);

} // namespace shardscope::ui
