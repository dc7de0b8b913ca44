// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/plan/repair/repair.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// Some damages hide others: without a model file nothing has a name, and where the first rank's file is the
// odd one it must not tell the form of all. Files that lie under
// each other's names are read under their own. Files that lie in other folders count as lost until they are
// read from there. The checkpoint is then read once more, with something else in place of what is wrong.

/// How to read it once more; nothing where what was read will do. `fixes`: the codes that are repaired.
/// Refused where a model file is lost and no other tag has one; Io errors of tags that cannot be listed.
Result<std::optional<OpenOptions>> standIn(io::FileSystem& files, const OpenOptions& open,
    const CheckResult& found, const std::vector<std::string>& fixes, const RepairOptions& options,
    JobContext& job);

/// What was found when it was read once more, in `again`: what another tag's model file alone shows is left
/// out, and what `before` told of the lost one, of exchanged names, or of files in other folders, is there
/// again.
void mergeFindings(const CheckResult& before, const OpenOptions& again, CheckResult& found);

/// Whether a file's directory was built again from its records, all of which are there.
bool isWholeAgain(const CheckpointFile& file);
/// Whether the checkpoint was read with another tag's model files.
bool hasOtherModel(const Checkpoint& checkpoint);

} // namespace shardscope
