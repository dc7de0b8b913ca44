// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/optimizer_entries.h"

#include "core/base/checked.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/state_values.h"
#include "core/tensor/convert.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <map>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 10> kShardKeys{"group_paddings", "groups_padding",
    "param_slice_mappings", "param_alignment_paddings", "base_optimizer_state", "base_optimizer_state_step",
    "single_partition_of_fp32_groups", "optimizer_state_dict", "fp32_flat_groups",
    "ds_zero_partition_groups"};

/// Scalars kept as tensors get a storage of their own per unit: stock's optimizers advance each one in place.
NodeId scalarCopy(ArchiveComposer& composer, const ReshardContext& context, NodeId value)
{
    const PickleGraph& graph = composer.graph();
    if (!looksLikeTensor(graph, value))
        return composer.import(value);
    const auto tensor = asTensor(graph, value);
    if (!tensor)
        return composer.import(value);
    const auto extent = context.optimTemplate().extentOf(*tensor);
    if (!extent || !tensor->isContiguous())
        return composer.import(value);
    return composer.tensor(tensor->dtype, tensor->sizes, tensor->requiresGrad,
        wholeRecordCursor(context.sourceIndex(context.source->templateOptim), extent->record,
            extent->byteOffset, extent->bytes));
}

NodeId entryFromModel(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t rank)
{
    const FlatUnit& of = *context->target.units[unit];
    PickleBuilder& builder = composer.builder();
    const NodeId step = stepValue(composer, of);
    if (step == kNoNode && of.states.size() < 2)
        return kNoNode;
    const NodeId entry = builder.dict();
    if (step != kNoNode)
        builder.setItem(entry, builder.string("step"), step);
    for (uint32_t state = 1; state < of.states.size(); ++state)
        builder.setItem(entry, builder.string(of.states[state].name),
            flatTensor(composer, context, unit, state, rank, false));
    return entry;
}

/// fragment_address objects need their class; releases differ in its module, so the source's is taken.
NodeId addressClass(ArchiveComposer& composer, const Checkpoint& source)
{
    const PickleGraph& graph = composer.graph();
    for (const NodeId mapping : sequenceItems(graph, optimStates(graph, source.optimWrapper).sliceMappings)) {
        const auto items = mappingItems(graph, mapping);
        if (items.size() >= 2 && graph.kind(items[1]) == NodeKind::NewObj)
            return composer.import(graph.callable(items[1]));
    }
    return composer.builder().global("deepspeed.utils.tensor_fragment", "fragment_address");
}

/// What a rank has of one parameter of the optimizer.
struct Slice {
    std::string name;
    uint64_t elements = 0;
    uint64_t start = 0; ///< in the rank's partition
};

std::vector<Slice> slicesOn(
    const ReshardContext& context, const FlatUnit& unit, const FusedExperts& fused, uint32_t rank)
{
    std::vector<Slice> out;
    const LocalNames names(*context.source, unit);
    bool isFused = false; // the last one
    unit.partition.forEachPiece(
        *unit.partitionRankOf(rank), 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
            if (piece.isPadding() || piece.elements == 0)
                return true;
            const ParamId param = unit.params[piece.param];
            const std::string_view of = fused.fusedNameOf(context.source->params[index(param)].name);
            if (isFused && out.back().name == of) // its next expert
                out.back().elements += piece.elements;
            else
                out.push_back(
                    {of.empty() ? names.of(param) : std::string(of), piece.elements, piece.flatOffset});
            isFused = !of.empty();
            return true;
        });
    return out;
}

} // namespace

NodeId sourceEntry(const Checkpoint& source, size_t group)
{
    for (const UnitId id : source.groups[group].units) {
        const NodeId entry = source.units[index(id)].stateNode;
        if (entry != kNoNode)
            return entry;
    }
    return kNoNode;
}

NodeId stepValue(ArchiveComposer& composer, const FlatUnit& unit)
{
    PickleBuilder& builder = composer.builder();
    const double step = unit.step.value_or(0);
    switch (unit.stepForm) {
    case StepForm::Absent:
        return kNoNode;
    case StepForm::Integer:
        if (const auto whole = wholeNumber(step))
            return builder.integer(*whole);
        return builder.real(step);
    case StepForm::Real:
        return builder.real(step);
    case StepForm::Tensor:
        break;
    }
    const auto bytes = elementOf(unit.stepType, step);
    return bytes ? composer.smallTensor(unit.stepType, {}, std::string(bytes->begin(), bytes->end()))
                 : kNoNode;
}

NodeId stateEntry(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& context,
    uint32_t unit, uint32_t rank, NodeId old)
{
    if (isConverted(context->source->kind))
        return entryFromModel(composer, context, unit, rank);
    if (old == kNoNode)
        return kNoNode; // saved before the first step
    const PickleGraph& graph = composer.graph();
    PickleBuilder& builder = composer.builder();
    const FlatUnit& of = *context->target.units[unit];
    const auto valueOf = [&](const std::string& name, NodeId value) {
        const auto state = std::find_if(of.states.begin() + 1, of.states.end(),
            [&](const UnitState& candidate) { return candidate.name == name; });
        return state != of.states.end() ? flatTensor(
                   composer, context, unit, static_cast<uint32_t>(state - of.states.begin()), rank, false)
            : of.stepSet && name == "step" ? stepValue(composer, of)
                                           : scalarCopy(composer, *context, value);
    };
    return copyEntry(graph, old, {builder, [&](NodeId key) { return composer.import(key); }, valueOf});
}

NodeId sliceMappings(ArchiveComposer& composer, const ReshardContext& context, uint32_t rank)
{
    PickleBuilder& builder = composer.builder();
    const NodeId classNode = addressClass(composer, *context.source);
    const NodeId numel = builder.string("numel");
    const NodeId start = builder.string("start");
    const NodeId list = builder.list();
    const FusedExperts fused = FusedExperts::of(*context.source);
    for (const uint32_t u : context.target.unitsOn(rank)) {
        const NodeId mapping = composer.orderedDict();
        for (const Slice& slice : slicesOn(context, *context.target.units[u], fused, rank)) {
            const NodeId state = builder.dict();
            builder.setItem(state, numel, builder.integer(static_cast<int64_t>(slice.elements)));
            builder.setItem(state, start, builder.integer(static_cast<int64_t>(slice.start)));
            const NodeId address = builder.newObj(classNode, builder.tuple({}));
            builder.setState(address, state);
            builder.setItem(mapping, builder.string(slice.name), address);
        }
        builder.append(list, mapping);
    }
    return list;
}

int64_t groupPadding(const ReshardContext& context, uint32_t unit, uint32_t dpRank)
{
    const FlatPartition& partition = context.target.units[unit]->partition;
    const uint32_t rank = context.target.units[unit]->partitionRankOf(dpRank).value_or(0);
    if (!hasBf16Optimizer(context.target.kind))
        return static_cast<int64_t>(partition.partitionElements() - partition.leanElementsOn(rank));
    if (rank + 1 != partition.ranks())
        return 0;
    return static_cast<int64_t>(
        partition.partitionElements() * partition.ranks() - partition.payloadElements());
}

bool describesShards(std::string_view wrapperKey)
{
    return std::find(kShardKeys.begin(), kShardKeys.end(), wrapperKey) != kShardKeys.end();
}

NodeId groupOptions(
    ArchiveComposer& composer, NodeId options, std::span<const NodeId> numbers, uint32_t expertRanks)
{
    const PickleGraph& graph = composer.graph();
    PickleBuilder& builder = composer.builder();
    const NodeId out = builder.dict();
    const auto items = mappingItems(graph, options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto text = asString(graph, items[i + 1]);
        if (expertRanks != 0 && asString(graph, items[i]) == "name" && text
            && text->starts_with(kExpertGroupPrefix))
            builder.setItem(out, composer.import(items[i]),
                builder.string(std::string(kExpertGroupPrefix) + std::to_string(expertRanks)));
        else if (asString(graph, items[i]) != "params")
            builder.setItem(out, composer.import(items[i]), composer.import(items[i + 1]));
    }
    builder.setItem(out, builder.string("params"), builder.list(numbers));
    return out;
}

NodeId alignmentPaddings(ArchiveComposer& composer, const ReshardContext& context)
{
    const auto& units = context.target.units;
    // The key came with the release that compares it. Files of older ones load without it.
    const bool hasKey
        = optimStates(composer.graph(), context.source->optimWrapper).alignmentPaddings != kNoNode;
    if (!hasKey && std::none_of(units.begin(), units.end(), [](const auto& unit) {
            return unit->partition.parameterAlignment() > 1;
        }))
        return kNoNode;
    PickleBuilder& builder = composer.builder();
    std::map<uint64_t, NodeId> numbers; // few different ones
    std::vector<NodeId> groups;
    const FusedExperts fused = FusedExperts::of(*context.source);
    for (const uint32_t u : context.target.unitsOn(0)) { // experts are alike in all families
        const auto& unit = units[u];
        std::vector<NodeId> items;
        for (const uint32_t param : fused.optimizerEnds(*context.source, *unit)) {
            const uint64_t padding = unit->partition.paddingAfter(param);
            const auto [at, isNew] = numbers.try_emplace(padding, kNoNode);
            if (isNew)
                at->second = builder.integer(static_cast<int64_t>(padding));
            items.push_back(at->second);
        }
        groups.push_back(builder.list(items));
    }
    return builder.list(groups);
}

} // namespace shardscope
