// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/plan/repair/repair.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// Some damages hide others. Without a model file no parameter has a name. If the first rank's file is the one
// that differs, it must not be the template of all. Files with exchanged names are read under their right
// names. Files in other folders count as lost until they are read from there. In these cases the checkpoint
// is read again, with a replacement for the damaged part.

/// How to read the checkpoint again. Nothing if that is not necessary. `fixes`: the codes to repair. Refused
/// if a model file is lost and no other tag has one. Io errors of tags that cannot be listed.
Result<std::optional<OpenOptions>> reopenOptions(io::FileSystem& files, const OpenOptions& open,
    const CheckResult& found, const std::vector<std::string>& fixes, const RepairOptions& options,
    JobContext& job);

/// Updates the findings of the second read, in `again`. Removes findings that only another tag's model file
/// causes. Adds those of `before` about the lost file, exchanged names or files in other folders.
void mergeFindings(const CheckResult& before, const OpenOptions& again, CheckResult& found);

/// Whether a file's directory was rebuilt from its records, and no record is missing.
bool isWholeAgain(const CheckpointFile& file);
/// Whether the checkpoint was read with another tag's model files.
bool hasOtherModel(const Checkpoint& checkpoint);

} // namespace shardscope
