// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/muon_momentum.h"

#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/muon.h"
#include "core/partition/held_whole.h"
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

/// Elements of one parameter at the border of a rank's share, of which its neighbours keep count.
FlatTarget borderOf(const ReshardContext& context, const FlatUnit& unit, uint32_t at, std::string state)
{
    FlatUnit alone;
    alone.kind = UnitKind::Whole;
    alone.params = {unit.params[at]};
    if (auto partition = FlatPartition::contiguous({unit.partition.paramElements(at)}, 1, 1))
        alone.partition = std::move(*partition); // one parameter fits where it did
    FlatTarget out;
    out.source = context.source;
    out.unit = std::make_shared<const FlatUnit>(std::move(alone));
    out.state = std::move(state);
    out.sourceOfFile = context.sourceOfFile;
    out.refills = context.refills;
    out.tensorOf = [](ParamId) { return Segment::kNoTensor; };
    return out;
}

} // namespace

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

MuonForm muonFormOf(const Checkpoint& source, CheckpointKind target)
{
    for (const ParamGroup& group : source.groups) {
        if (const MuonForm form = muonFormOf(source, target, group); form != MuonForm::None)
            return form;
    }
    return MuonForm::None;
}

NodeId heldWholeTensor(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t state, uint32_t rank)
{
    FlatTarget own = context->flatTarget(unit, state, rank);
    own.tensorOf = [context, state](ParamId param) { return context->tensorOf(param, state); };
    own.elements = own.unit->partition.leanElementsOn(own.rank);
    const FlatUnit& of = *own.unit;
    const HeldWhole held = heldWholeOn(of.partition, own.rank);
    std::vector<std::function<std::unique_ptr<SegmentCursor>()>> parts;
    const std::string name = own.state;
    if (held.before > 0) {
        FlatTarget before = borderOf(*context, of, held.first, name);
        before.elements = held.before;
        parts.push_back(flatCursor(std::move(before)));
    }
    const uint32_t last = held.last;
    parts.push_back(flatCursor(std::move(own)));
    if (held.after > 0) {
        const FlatUnit& target = *context->target.units[unit];
        FlatTarget after = borderOf(*context, target, last, name);
        after.elements = target.partition.paramElements(last);
        after.first = after.elements - held.after;
        parts.push_back(flatCursor(std::move(after)));
    }
    return composer.tensor(context->target.units[unit]->states[state].dtype, {held.elements()}, false,
        chainedCursor(std::move(parts)));
}

} // namespace shardscope
