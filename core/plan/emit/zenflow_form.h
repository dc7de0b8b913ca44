// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/compose/archive_composer.h"
#include "core/plan/emit/reshard_context.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// ZenFlow up to DeepSpeed 0.19.6 flattens matrices column by column; 0.19.8 stores what it holds row by row.
/// Whether the target keeps columns: stages 1 and 2 of such a source, unless the options ask otherwise.
bool keepsColumns(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options);
/// Usage where rows are asked for although the source, or the target, has nothing else. Unsupported for
/// targets without ZeRO, where only equal copies identify masters, and those of ZenFlow may be ahead of
/// theirs.
Status checkZenFlow(const Checkpoint& source, CheckpointKind target, const ReshardOptions& options);

/// Where the target cannot have been saved with ZenFlow, or leaves its order, `ds_config` of the composer's
/// source says None of it: files must not claim an order that they do not have.
void setZenFlowOff(ArchiveComposer& composer, const ReshardContext& context);

/// What a run that loads the target must have, and what it loses however it was saved.
void addZenFlowEquals(const Checkpoint& source, CheckpointKind target, bool columns,
    std::vector<std::pair<std::string, std::string>>& out);
void addZenFlowWarnings(
    const Checkpoint& source, CheckpointKind target, bool columns, std::vector<Finding>& out);

} // namespace shardscope
