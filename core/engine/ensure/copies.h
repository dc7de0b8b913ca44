// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <vector>

namespace shardscope {

/// Whether the plan's target in `destination` is what this plan wrote: its manifest has the plan's id, every
/// file has its size, and the pointer file names the target.
bool holdsCopy(io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

/// TargetExists if making the copy would replace a tag that is no copy, or lead away from one: the pointer
/// file names it, so a run has saved there.
Status checkReplaced(io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

/// Removes copies of older tags than `current` from a folder of copies until `keep` are left with it, the
/// oldest first: of the folders whose manifest is that of a reshard, in the natural order of their names. A
/// copy of a newer tag stays: its source may be damaged by now. `numbered`: the folder has one folder for
/// each copy, which is removed whole. What it removed.
Result<std::vector<io::Path>> removeOldCopies(
    io::FileSystem& files, const io::Path& folder, bool numbered, const io::Path& current, size_t keep);

} // namespace shardscope
