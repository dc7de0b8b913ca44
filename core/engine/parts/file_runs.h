// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece.h"

#include <vector>

namespace shardscope {

/// A number for FileRun::run.
uint64_t newRun();

/// The same file on any machine.
io::FileIdentity withoutDevice(io::FileIdentity identity);
/// That of the file at `path`; inode 0 if there is none.
Result<io::FileIdentity> identityAt(io::FileSystem& files, const io::Path& path);

/// Waits, two seconds at most, until a write to a file that was last changed at `changedNs` gives it another
/// time of change. False if that takes longer.
///
/// File systems take that time from a clock with ticks of up to 10 ms, and some store whole seconds.
bool waitForLaterTime(int64_t changedNs);

/// Whether nobody wrote to a file, which is `now`, unless one of the processes that recorded `runs` was
/// working on it.
///
/// Every write, truncation and replacement of a file gives it another time of change or another inode, and
/// programs cannot set these. So it is true if one process created the file, each other one found it as
/// another one left it or began before that had ended, and it is as the last one left it. False in doubt:
/// where a process was killed, or two of them created it at the same time.
bool isAsLeft(std::vector<FileRun> runs, const io::FileIdentity& now);

} // namespace shardscope
