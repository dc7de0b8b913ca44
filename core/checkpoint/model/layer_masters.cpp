// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/layer_masters.h"

namespace shardscope {

bool isMasterOfOtherStage(const Checkpoint& checkpoint, ParamId param)
{
    const FlatUnit* unit
        = !hasTorchOptimizer(checkpoint.kind) || checkpoint.merged ? nullptr : checkpoint.unitOf(param);
    if (unit == nullptr || unit->states.empty())
        return false;
    const StoredRun* run = unit->states.front().tensorOf(checkpoint.params[index(param)].indexInUnit);
    if (run == nullptr || checkpoint.file(run->file).role != FileRole::LayerStates)
        return false;
    const RankCoordinate& own
        = checkpoint.parts.empty() ? checkpoint.place : checkpoint.parts[unit->part]->place;
    return checkpoint.file(run->file).rank != own;
}

} // namespace shardscope
