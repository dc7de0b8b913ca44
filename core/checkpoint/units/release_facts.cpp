// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/release_facts.h"

#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/model/optim_states.h"

namespace shardscope {

void applyConfiguredStage(const Reading& reading, FileId optimFile)
{
    if (reading.content(optimFile) == nullptr || traitsOf(reading.out.kind).stage != 2)
        return;
    const PickleGraph& graph = reading.content(optimFile)->pickle();
    const NodeId wrapper = wrapperOf(graph);
    // 0.7.0 introduced both the enum for the stage and the record of paddings.
    if (lookup(graph, wrapper, "group_paddings") != kNoNode)
        return;
    if (!asInteger(graph, lookup(graph, wrapper, "zero_stage"))
        || modelStates(reading).configInteger({"zero_optimization", "stage"}) != 1)
        return;
    reading.out.kind = CheckpointKind::Zero1;
    reading.out.zeroStage = 1;
}

void takeVersionOf(const Reading& reading, FileId optimFile)
{
    const TorchFile* file = reading.content(optimFile);
    if (file == nullptr || !reading.out.deepspeedVersion.empty())
        return;
    if (const auto version
        = asString(file->pickle(), lookup(file->pickle(), file->pickle().root(), "ds_version")))
        reading.out.deepspeedVersion = std::string(*version);
}

} // namespace shardscope
