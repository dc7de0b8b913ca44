// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/scaler_texts.h"
#include "core/plan/compose/archive_composer.h"

namespace shardscope {

/// A checkpoint without ZeRO keeps its loss scaling as numbers, one with ZeRO as an object of
/// runtime/fp16/loss_scaler.py.

/// The object: the source's, with what today's DeepSpeed asks for. Where the source has none, what it does
/// not keep is as a new engine of its configuration would have it. The composer reads the source's rank-0
/// optimizer file, or its model file without ZeRO.
NodeId scalerObject(ArchiveComposer& composer, const Checkpoint& source);
/// The keys of a wrapper without ZeRO in the order in which it writes them, for any source, as (name, value).
/// `import` copies a node of the source's rank-0 optimizer file.
std::vector<std::pair<std::string_view, NodeId>> scalerKeys(
    PickleBuilder& builder, const Checkpoint& source, const std::function<NodeId(NodeId)>& import);

/// What the target's scaler is, for its fingerprint.
ScalerTexts targetScalerTexts(const Checkpoint& source, CheckpointKind target);
/// Whether its configuration records what only ZeRO's object stores.
bool recordsScaling(const Checkpoint& source);

} // namespace shardscope
