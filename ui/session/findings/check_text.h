// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"

#include <QString>

#include <array>
#include <functional>
#include <span>

namespace shardscope::ui {

class CheckRun;

/// "2 errors, 1 warning", "No problems found"; "Not supported" for a checkpoint in which nothing was looked
/// for (Checkpoint::supported).
QString findingCountText(std::span<const Finding> findings, bool isSupported);
QString findingCountText(const std::array<size_t, 3>& counts, bool isSupported); ///< by Severity
/// "names and sizes of files", "every byte": the data that a depth reads, as display text.
QString depthText(CheckDepth depth);
/// "8 GPUs, ZeRO-2, 64 GiB of memory, copies in /data"; empty for any use.
QString targetText(const CheckTarget& target);
/// The data that a finished check read, and when: "Read every byte at 08:01", or "Values not read (1.2 GiB)".
/// If checks were left out, that comes first: "75 of 78 checks at 08:01". The use that it was for comes last.
QString checkedText(const CheckRun& run, const Checkpoint& checkpoint);

/// Why no finding is chosen when the errors are to be repaired: none of them has a repair. Names the kinds
/// below an error that have one.
QString nothingToRepairText(const std::vector<DoctorFinding>& found);

/// What is known to be wrong with the values that a job would copy, as sentences; empty: nothing. `copies`:
/// whether it copies this state; empty is the parameter itself.
QString copiedFaultsText(
    const std::vector<DoctorFinding>& known, const std::function<bool(const std::string& state)>& copies);

} // namespace shardscope::ui
