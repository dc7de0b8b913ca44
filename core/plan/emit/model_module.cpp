// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/model_module.h"

#include "core/base/text.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/wrapped_names.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

ParamId ownerOf(const Checkpoint& source, ParamId param)
{
    const ParamId owner = source.params[index(param)].sharedWith;
    return owner == kNoParam ? param : owner;
}

bool isStored(const UnitState& state)
{
    return std::any_of(
        state.perRank.begin(), state.perRank.end(), [](const auto& run) { return run.isPresent(); });
}

} // namespace

ModelParts::ModelParts(ArchiveComposer& composer, std::shared_ptr<const ReshardContext> context, bool follows)
    : m_composer(composer)
    , m_context(std::move(context))
    , m_source(*m_context->source)
    , m_graph(composer.graph())
    , m_old(modelStates(m_graph))
    , m_builder(composer.builder())
    , m_follows(follows)
{
    const auto add = [&](NodeId shapes) {
        const auto items = mappingItems(m_graph, shapes);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (const auto name = asString(m_graph, items[i]))
                m_knownShapes.emplace(*name, KnownShape{items[i], items[i + 1]});
        }
    };
    for (const NodeId group : sequenceItems(m_graph, m_old.paramShapes))
        add(group);
    add(m_old.frozenParamShapes);
}

void ModelParts::addShape(NodeId mapping, std::string_view name, const Shape& shape)
{
    const auto known = m_knownShapes.find(name);
    const bool isKnown = known != m_knownShapes.end();
    NodeId value = kNoNode;
    if (isKnown && asShape(m_graph, known->second.shape) == shape) {
        value = m_composer.import(known->second.shape);
    } else {
        if (m_sizeClass == kNoNode)
            m_sizeClass = m_builder.global("torch", "Size");
        std::vector<NodeId> sizes;
        for (const uint64_t size : shape)
            sizes.push_back(m_builder.integer(static_cast<int64_t>(size)));
        value = m_builder.reduce(m_sizeClass, m_builder.tuple(std::array{m_builder.tuple(sizes)}));
    }
    m_builder.setItem(mapping,
        m_follows && isKnown ? m_composer.import(known->second.name) : m_builder.string(name), value);
}

NodeId ModelParts::placeholder(DType dtype)
{
    for (const auto& [known, node] : m_placeholders) {
        if (known == dtype)
            return node;
    }
    m_placeholders.emplace_back(dtype, m_composer.smallTensor(dtype, {0}, {}));
    return m_placeholders.back().second;
}

Result<NodeId> ModelParts::wholeWeight(ParamId param, NodeId inModule, DType dtype, bool fromMaster)
{
    const ParamId owner = ownerOf(m_source, param);
    const auto made = m_made.find(index(owner));
    if (made != m_made.end())
        return made->second;
    NodeId node = kNoNode;
    if (m_source.params[index(owner)].elements == 0) {
        node = m_composer.smallTensor(dtype, m_source.params[index(owner)].shape, {});
    } else if (!fromMaster && !isDistributed(m_source.kind)
        && (m_source.wholeOf(owner) != nullptr || m_source.wholeOf(param) != nullptr)) {
        node = m_composer.import(inModule);
    } else {
        const bool frozen = m_source.params[index(owner)].role != ParamRole::Trainable;
        const bool hasValues = frozen || m_source.params[index(owner)].unit != kNoUnit;
        const auto from = hasValues ? valueType(m_source, owner) : std::nullopt;
        if (!from)
            return fail(ErrorCode::Refused,
                "no file holds the weight of `" + toValidUtf8(m_source.params[index(param)].name) + "`",
                m_source.tagFolder.string());
        node
            = wholeTensor(m_composer, m_context, owner, valueStateOf(m_source, owner), frozen ? *from : dtype,
                fromMaster ? m_context->tensorOf(owner, 0) : weightTensor(*m_context, owner), false);
    }
    m_made.emplace(index(owner), node);
    return node;
}

/// Of a copy that is made without frozen parameters.
bool ModelParts::leavesOut(const Parameter& param) const
{
    return param.role == ParamRole::Frozen && m_context->refills && m_context->refills->model().withoutFrozen;
}

/// A placeholder of a name that no shard holds; before 0.6.0 it has an element.
bool ModelParts::isUnrecorded(const TensorView& tensor) const
{
    return tensor.elements() == 0 || partitionsParameters(m_source.kind);
}

/// What a repair has grafted and the source's module does not list, at its end.
Status ModelParts::addGrafted(NodeId module, ModuleContent content)
{
    const NodeId old = m_old.module;
    for (uint32_t i = 0; i < m_source.params.size(); ++i) {
        const Parameter& param = m_source.params[i];
        const FlatUnit* unit = m_source.unitOf(ParamId{i});
        if (unit == nullptr || unit->kind != UnitKind::Frozen || isStored(unit->states.front())
            || lookup(m_graph, old, stateDictName(m_source, ParamId{i})) != kNoNode)
            continue;
        const DType dtype = unit->states.front().dtype;
        NodeId value = kNoNode;
        if (param.role == ParamRole::Frozen && !content.frozen) {
            value = placeholder(dtype);
        } else {
            SHARDSCOPE_TRY(value, wholeWeight(ParamId{i}, kNoNode, dtype, false));
        }
        m_builder.setItem(module, m_builder.string(param.name), value);
    }
    return {};
}

Result<NodeId> ModelParts::module(ModuleContent content)
{
    const NodeId old = m_old.module;
    if (old != kNoNode && m_graph.kind(old) == NodeKind::None)
        return m_builder.none(); // a pipeline's weights are in the files of its layers
    const NodeId out = m_graph.kind(old) == NodeKind::Dict ? m_builder.dict() : m_composer.orderedDict();
    const auto items = mappingItems(m_graph, old);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(m_graph, items[i]);
        const auto param = name ? m_source.findParam(*name) : std::nullopt;
        if (param && leavesOut(m_source.params[index(*param)]))
            continue;
        const auto tensor = looksLikeTensor(m_graph, items[i + 1])
            ? std::optional(asTensor(m_graph, items[i + 1]))
            : std::nullopt;
        const ParamRole role = param ? m_source.params[index(*param)].role : ParamRole::Buffer;
        NodeId value = kNoNode;
        const bool held = !param || !isDistributed(m_source.kind); // which has its tensors elsewhere
        if (!tensor || !*tensor || (param && role == ParamRole::Buffer && held)) {
            value = m_composer.import(items[i + 1]);
        } else if (role == ParamRole::Trainable ? !content.trainable
                                                : role == ParamRole::Frozen && !content.frozen) {
            value = placeholder((*tensor)->dtype);
        } else if (param) {
            SHARDSCOPE_TRY(value,
                wholeWeight(
                    *param, items[i + 1], (*tensor)->dtype, role == ParamRole::Trainable && content.masters));
        } else if (isUnrecorded(**tensor) && !content.trainable) {
            value = placeholder((*tensor)->dtype);
        } else if (isUnrecorded(**tensor)) {
            return fail(ErrorCode::Refused,
                "the module lists `" + toValidUtf8(*name)
                    + "`, and no shard holds it: probably a tie that was not recorded, or a frozen "
                      "parameter, which ZeRO-3 before 0.9.1 leaves out",
                m_source.tagFolder.string(),
                "name the owner of a tie with --tie NAME=OWNER, or keep stage 3, where the name alone is "
                "enough");
        } else {
            value = m_composer.import(items[i + 1]);
        }
        m_builder.setItem(out, m_composer.import(items[i]), value);
    }
    if (m_context->refills && m_context->refills->has("weight"))
        SHARDSCOPE_CHECK(addGrafted(out, content));
    if (const NodeId state = m_graph.state(old); state != kNoNode && m_graph.kind(old) != NodeKind::Dict)
        m_builder.setState(out, m_composer.import(state)); // `_metadata`, which modules compare on load
    return out;
}

NodeId ModelParts::paramShapes(uint32_t rank)
{
    const NodeId list = m_builder.list();
    const FusedExperts experts = FusedExperts::of(m_source);
    const uint32_t expertRanks = m_context->target.expertRanks;
    for (const auto& unit : m_context->target.units) {
        if (unit->kind == UnitKind::Frozen || !unit->partitionRankOf(rank))
            continue;
        const NodeId shapes = m_composer.orderedDict();
        for (const uint32_t end : experts.optimizerEnds(m_source, *unit)) {
            const Parameter& param = m_source.params[index(unit->params[end])];
            const std::string_view fused = experts.fusedNameOf(param.name);
            Shape sizes = param.shape;
            if (const FusedLayer* layer = experts.layerOf(fused))
                sizes.insert(sizes.begin(),
                    expertRanks == 0 ? layer->localExperts
                                     : layer->localExperts * layer->ranks / expertRanks);
            const std::string_view name = fused.empty() ? experts.withoutRank(param.name) : fused;
            addShape(shapes, name, sizes);
        }
        m_builder.append(list, shapes);
    }
    return list;
}

NodeId ModelParts::sharedParams()
{
    const NodeId shared = m_builder.dict();
    for (const Parameter& param : m_source.params) {
        if (param.sharedWith != kNoParam && !leavesOut(param))
            m_builder.setItem(shared, m_builder.string(param.name),
                m_builder.string(m_source.params[index(param.sharedWith)].name));
    }
    return shared;
}

std::vector<ParamId> ModelParts::frozen() const
{
    std::vector<ParamId> out;
    for (uint32_t i = 0; i < m_source.params.size(); ++i) {
        if (m_source.params[i].role == ParamRole::Frozen && m_source.params[i].sharedWith == kNoParam)
            out.push_back(ParamId{i});
    }
    return out;
}

NodeId ModelParts::frozenShapes()
{
    const NodeId shapes = m_composer.orderedDict();
    for (const ParamId id : frozen()) {
        const Parameter& param = m_source.params[index(id)];
        addShape(shapes, param.name, param.shape);
    }
    return shapes;
}

NodeId ModelParts::frozenFragments(uint32_t rank)
{
    std::unordered_map<uint32_t, uint32_t> units; // by parameter; empty ones have none
    for (uint32_t i = 0; i < m_context->target.units.size(); ++i) {
        if (m_context->target.units[i]->kind == UnitKind::Frozen)
            units.emplace(index(m_context->target.units[i]->params.front()), i);
    }
    if (m_follows) {
        const auto items = mappingItems(m_graph, m_old.frozenParamFragments);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(m_graph, items[i]);
            const auto param = name ? m_source.findParam(*name) : std::nullopt;
            const auto unit = param ? units.find(index(*param)) : units.end();
            if (unit == units.end())
                continue;
            const auto tensor = asTensor(m_graph, items[i + 1]);
            m_composer.substitute(items[i + 1],
                flatTensor(m_composer, m_context, unit->second, 0, rank, tensor && tensor->requiresGrad));
        }
        return m_composer.import(m_old.frozenParamFragments);
    }
    const NodeId fragments = m_composer.orderedDict();
    for (const ParamId param : frozen()) {
        const auto unit = units.find(index(param));
        const auto made = m_made.find(index(param));
        NodeId value = kNoNode;
        if (unit != units.end())
            value = flatTensor(m_composer, m_context, unit->second, 0, rank, false);
        else if (!partitionsParameters(m_context->target.kind) && made != m_made.end())
            value = made->second;
        else
            value = placeholder(valueType(m_source, param).value_or(DType::Float32));
        m_builder.setItem(fragments, m_builder.string(m_source.params[index(param)].name), value);
    }
    return fragments;
}

} // namespace shardscope
