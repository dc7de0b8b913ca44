// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/repair/repair.h"

#include <string>

namespace shardscope {

/// The values that `repair --undo` needs.
struct RepairRecord {
    std::string source; ///< PATH of the source as the user named it, absolute
    std::vector<io::Path> roots; ///< further folders with ranks of the tag, absolute
    std::optional<CheckpointKind> kind; ///< OpenOptions::kind
    std::string tag;
    RepairOptions options; ///< the original options, with the repaired codes as fixes
    std::string identity; ///< of the files that were read: names, sizes and times
};

/// Whether the finding is about `latest`.
bool isOfPointer(std::string_view code);
/// The tag to name for planning a repair again: none where `latest` is repaired, as it is not looked at
/// where a tag is named.
std::string tagToOpen(const std::vector<std::string>& fixes, const std::string& tag);

/// The text of repair.json (kRepairName): the program's version, the source with its identity, the fixes with
/// their changes, and the marks. No time, host or user.
std::string repairText(RepairRecord record, const std::vector<RepairChange>& changes);
/// Damaged if the text is not valid.
Result<RepairRecord> readRepairText(const std::string& text, const io::Path& path);

} // namespace shardscope
