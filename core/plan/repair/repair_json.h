// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"

#include <string>

namespace shardscope {

/// The text of repair.json (kRepairName): the program's version, the source with its identity, the fixes with
/// their changes, and the marks. No time, host or user. `source`: as the user named it.
std::string repairText(const std::string& source, const std::vector<io::Path>& roots,
    const Checkpoint& checkpoint, const RepairOptions& options, const std::vector<std::string>& fixed,
    const std::vector<RepairChange>& changes, const std::vector<PlanSource>& sources);

/// The values that `repair --undo` needs.
struct RepairRecord {
    std::string source; ///< PATH of the source as the user named it, absolute
    std::vector<io::Path> roots; ///< further folders with ranks of the tag, absolute
    std::string tag;
    RepairOptions options; ///< the original options, with the repaired codes as fixes
    std::string identity; ///< of the files that were read: names, sizes and times
};
/// Damaged if the text is not valid.
Result<RepairRecord> readRepairText(const std::string& text, const io::Path& path);

/// A digest of the names, sizes and times of a plan's sources.
std::string identityOf(const std::vector<PlanSource>& sources);

} // namespace shardscope
