// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope::ui {

/// How many sub-groups a param group has on each rank; 0 if there are no sub-groups.
size_t subGroupsOf(const Checkpoint& checkpoint, const ParamGroup& group);

/// The same of all its param groups together; 0 also where none has several.
size_t subGroupsOf(const Checkpoint& checkpoint);

/// Whether a param group consists of sub-groups, which a map shows one at a time.
bool hasSubGroups(const Checkpoint& checkpoint);

/// The checkpoint for display only: every param group is one unit, a rank's sub-groups back to back as in
/// its file. Exact, because ZeRO-3 pads slices and not sub-groups. The position of a shard in its file is not
/// set (StoredRun::kNoRecord) and the files have no paths, so that no reader uses it; only the options of the
/// param groups can be read. Slow on large checkpoints.
CheckpointPtr withWholeGroups(const Checkpoint& checkpoint);

} // namespace shardscope::ui
