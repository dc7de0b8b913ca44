// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/held_states.h"

#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/muon.h"
#include "core/plan/target/reshard_options.h"

#include <algorithm>

namespace shardscope {

namespace {

const UnitState* momentumOf(const Checkpoint& source, const ParamGroup& group)
{
    if (group.units.empty() || !source.isReadable(source.templateOptim)
        || !isMuonGroup(source.file(source.templateOptim).content->pickle(), group.options))
        return nullptr;
    const auto& states = source.units[index(group.units.front())].states;
    const auto found = std::find_if(
        states.begin(), states.end(), [](const UnitState& state) { return state.name == kMuonMomentum; });
    return found == states.end() ? nullptr : &*found;
}

bool offloads(const Checkpoint& source)
{
    const ModelStates model = readableModel(source);
    const NodeId device = model.configValue({"zero_optimization", "offload_optimizer", "device"});
    return device != kNoNode && saysOffload(*model.graph, device);
}

/// Of one param group. A ZeRO-1/2 source's own form stays; else it follows offload_optimizer in the source's
/// ds_config.
MuonForm muonFormOf(const Checkpoint& source, CheckpointKind target, const ParamGroup& group)
{
    const UnitState* momentum = momentumOf(source, group);
    if (momentum == nullptr || (!isZero12(target)))
        return MuonForm::None;
    const bool same = !source.merged // whose units are those of no file
        && (isZero12(source.kind));
    const bool whole = same ? momentum->lean : !offloads(source);
    return whole ? MuonForm::HeldWhole : MuonForm::Partitioned;
}

} // namespace

MuonForm muonFormOf(const Checkpoint& source, CheckpointKind target)
{
    for (const ParamGroup& group : source.groups) {
        if (const MuonForm form = muonFormOf(source, target, group); form != MuonForm::None)
            return form;
    }
    return MuonForm::None;
}

HeldStates heldWholeStates(const Checkpoint& source, const ReshardTarget& target)
{
    HeldStates out;
    for (uint32_t u = 0; u < target.units.size(); ++u) {
        const FlatUnit& unit = *target.units[u];
        const bool holds = unit.group >= 0
            && muonFormOf(source, target.kind, source.groups[target.sourceGroup(unit.group)])
                == MuonForm::HeldWhole;
        for (uint32_t state = 0; holds && state < unit.states.size(); ++state) {
            if (unit.states[state].name == kMuonMomentum)
                out.emplace(u, state);
        }
    }
    return out;
}

} // namespace shardscope
