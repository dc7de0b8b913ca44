// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/open/open_listed.h"

#include <optional>

namespace shardscope {

/// Sets Checkpoint::kind and zeroStage from the content of an optimizer file. Leaves them if it shows
/// neither.
void takeKindOf(const Reading& reading, FileId optimFile);

/// Replaces the kind that was detected (Checkpoint::replacedKind) if the optimizer's partitions have the same
/// form in both kinds, or if no optimizer file shows a kind.
void takeAskedKind(const Reading& reading, std::optional<CheckpointKind> asked);

/// NotACheckpoint if another kind was detected than the one that was asked for, with what shows it.
Status requireAskedKind(const Checkpoint& opened, std::optional<CheckpointKind> asked);

} // namespace shardscope
