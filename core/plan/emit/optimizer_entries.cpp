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

constexpr std::array<std::string_view, 11> kShardKeys{"group_paddings", "groups_padding", "param_groups",
    "param_slice_mappings", "param_alignment_paddings", "base_optimizer_state", "base_optimizer_state_step",
    "single_partition_of_fp32_groups", "optimizer_state_dict", "fp32_flat_groups",
    "ds_zero_partition_groups"};

constexpr int kMaxNested = 8;

/// From the model's facts.
NodeId newEntry(
    OptimParts& parts, const FlatUnit& unit, const std::function<NodeId(uint32_t state)>& tensorOf)
{
    PickleBuilder& builder = parts.composer().builder();
    const NodeId step = stepValue(parts.composer(), unit);
    if (step == kNoNode && unit.states.size() < 2)
        return kNoNode;
    const NodeId entry = builder.dict();
    if (step != kNoNode)
        builder.setItem(entry, builder.string("step"), step);
    for (uint32_t state = 1; state < unit.states.size(); ++state)
        builder.setItem(entry, builder.string(unit.states[state].name), tensorOf(state));
    return entry;
}

/// A param group's options with `numbers` as its `params`, last as torch has them.
NodeId groupOptions(OptimParts& parts, NodeId options, std::span<const NodeId> numbers, uint32_t expertRanks)
{
    const PickleGraph& graph = parts.graph();
    PickleBuilder& builder = parts.composer().builder();
    const NodeId out = builder.dict();
    const auto items = mappingItems(graph, options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto text = asString(graph, items[i + 1]);
        const auto key = asString(graph, items[i]);
        const bool isRenamed
            = expertRanks != 0 && key == "name" && text && text->starts_with(kExpertGroupPrefix);
        if (key != "params")
            builder.setItem(out, parts.import(items[i]),
                isRenamed ? builder.string(std::string(kExpertGroupPrefix) + std::to_string(expertRanks))
                          : parts.import(items[i + 1]));
    }
    builder.setItem(out, builder.string("params"), builder.list(numbers));
    return out;
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

OptimParts::OptimParts(ArchiveComposer& composer, const ReshardContext& context)
    : m_composer(composer)
    , m_context(context)
    , m_file(context.optimTemplate())
    , m_importer(composer.builder(), m_file.pickle())
{
}

NodeId OptimParts::import(NodeId node)
{
    if (&m_composer.graph() == &graph())
        return m_composer.import(node);
    placeTensors(node, 0);
    return m_importer.import(node);
}

NodeId OptimParts::scalar(NodeId node)
{
    const NodeId made = tensorOf(node);
    return made == kNoNode ? import(node) : made;
}

NodeId OptimParts::tensorOf(NodeId node)
{
    if (!looksLikeTensor(graph(), node))
        return kNoNode;
    const auto tensor = asTensor(graph(), node);
    const auto extent = tensor ? m_file.extentOf(*tensor) : forward(tensor.error());
    if (!tensor || !extent || !tensor->isContiguous())
        return kNoNode;
    return m_composer.tensor(tensor->dtype, tensor->sizes, tensor->requiresGrad,
        wholeRecordCursor(m_context.sourceIndex(m_context.source->templateOptim), extent->record,
            extent->byteOffset, extent->bytes));
}

/// Options may be tensors (a learning rate); their storages are not in the file that the archive is made
/// from.
void OptimParts::placeTensors(NodeId node, int depth)
{
    if (const NodeId made = tensorOf(node); made != kNoNode) {
        m_importer.substitute(node, made);
        return;
    }
    for (const NodeId item : sequenceItems(graph(), node)) {
        if (depth < kMaxNested)
            placeTensors(item, depth + 1);
    }
    const auto items = mappingItems(graph(), node);
    for (size_t i = 1; i < items.size() && depth < kMaxNested; i += 2)
        placeTensors(items[i], depth + 1);
}

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

NodeId stateEntry(OptimParts& parts, const FlatUnit& unit, NodeId old,
    const std::function<NodeId(uint32_t state)>& tensorOf)
{
    if (isConverted(parts.source().kind))
        return newEntry(parts, unit, tensorOf);
    if (old == kNoNode)
        return kNoNode; // saved before the first step
    const auto valueOf = [&](const std::string& name, NodeId value) {
        const auto state = std::find_if(unit.states.begin() + 1, unit.states.end(),
            [&](const UnitState& candidate) { return candidate.name == name; });
        return state != unit.states.end()    ? tensorOf(static_cast<uint32_t>(state - unit.states.begin()))
            : unit.stepSet && name == "step" ? stepValue(parts.composer(), unit)
                                             : parts.scalar(value);
    };
    return copyEntry(parts.graph(), old,
        {parts.composer().builder(), [&](NodeId key) { return parts.import(key); }, valueOf});
}

NodeId TorchState::in(PickleBuilder& builder) const
{
    const NodeId out = builder.dict();
    builder.setItem(out, builder.string("state"), state);
    builder.setItem(out, builder.string("param_groups"), paramGroups);
    return out;
}

TorchState torchState(OptimParts& parts, std::span<const TorchGroup> groups, uint32_t expertRanks)
{
    PickleBuilder& builder = parts.composer().builder();
    const TorchState out{builder.dict(), builder.list()};
    for (const TorchGroup& group : groups) {
        std::vector<NodeId> numbers;
        for (const auto& [number, entry] : group.entries) {
            numbers.push_back(builder.integer(number));
            if (entry != kNoNode)
                builder.setItem(out.state, builder.integer(number), entry);
        }
        builder.append(out.paramGroups, groupOptions(parts, group.options, numbers, expertRanks));
    }
    return out;
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
