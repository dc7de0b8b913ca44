// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/sequence_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/layout/slices/merged_slices.h"
#include "core/plan/emit/expert_records.h"
#include "core/plan/emit/model_module.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/slice_record.h"
#include "core/plan/emit/stage0_optimizer.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/target/stage0_form.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace shardscope {

namespace {

/// The source's template model file with some values replaced. Keys that it lacks come last.
class ModelFile
{
public:
    explicit ModelFile(std::shared_ptr<const ReshardContext> context)
        : m_context(std::move(context))
        , m_composer(m_context->modelTemplate(), m_context->sourceIndex(m_context->source->templateModel))
        , m_old(modelStates(m_composer.graph()))
        , m_parts(m_composer, m_context)
    {
        if (m_context->modelUse)
            m_composer.leaveOutUnused(*m_context->modelUse);
        setZenFlowOff(m_composer, *m_context);
    }

    ArchiveComposer& composer() { return m_composer; }
    ModelParts& parts() { return m_parts; }
    /// What the template has.
    [[nodiscard]] const ModelStates& old() const { return m_old; }
    /// The first value of a key is the one that counts.
    void set(std::string key, NodeId value) { m_new.emplace(std::move(key), value); }
    void leaveOut(std::string key) { m_left.insert(std::move(key)); }

    Result<OutputFile> finish(const std::string& name)
    {
        const PickleGraph& graph = m_composer.graph();
        PickleBuilder& builder = m_composer.builder();
        const NodeId root = builder.dict();
        const auto items = mappingItems(graph, graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(graph, items[i]);
            if (key && m_left.contains(std::string(*key)))
                continue;
            auto made = key ? m_new.find(std::string(*key)) : m_new.end();
            builder.setItem(root, m_composer.import(items[i]),
                made == m_new.end() ? m_composer.import(items[i + 1]) : made->second);
            if (made != m_new.end())
                m_new.erase(made);
        }
        for (const auto& [key, value] : m_new)
            builder.setItem(root, builder.string(key), value);
        return m_composer.finish(root, name, m_context->modelRecords);
    }

private:
    std::shared_ptr<const ReshardContext> m_context;
    ArchiveComposer m_composer;
    ModelStates m_old;
    ModelParts m_parts;
    std::map<std::string, NodeId> m_new;
    std::set<std::string> m_left;
};

/// A source without ZeRO has its optimizer, or a part of it, in the model file, and records no ties.
void setOptimizerFree(ModelFile& file, const ReshardContext& context)
{
    if (!isStage0(context.source->kind) && !hasOptimizerInModel(*context.source))
        return;
    file.set("optimizer", file.composer().builder().none());
    file.set("shared_params", file.parts().sharedParams());
}

NodeId bufferNames(ModelFile& file, const Checkpoint& source)
{
    PickleBuilder& builder = file.composer().builder();
    const NodeId names = builder.list();
    for (const Parameter& param : source.params) {
        if (param.role == ParamRole::Buffer)
            builder.append(names, builder.string(param.name));
    }
    return names;
}

/// A file of one pipeline stage speaks of the names that this stage has.
void setAllStages(ModelFile& file, const Checkpoint& source)
{
    file.set("buffer_names", bufferNames(file, source));
    file.set("shared_params", file.parts().sharedParams());
}

NodeId degreesOf(PickleBuilder& builder, const ParallelDegrees& parallel)
{
    const NodeId degrees = builder.dict();
    builder.setItem(degrees, builder.string("pp_degree"), builder.integer(parallel.pp));
    builder.setItem(degrees, builder.string("tp_degree"), builder.integer(parallel.tp));
    return degrees;
}

/// The numbers of slices and stages, if the files of ranks record others than there are.
void setSlices(ModelFile& file, const ReshardContext& context)
{
    if (context.source->merged || !hasRankFiles(context.source->kind))
        return;
    const ParallelDegrees& parallel = context.source->parallel;
    const PickleGraph& graph = file.composer().graph();
    PickleBuilder& builder = file.composer().builder();
    const auto slices = static_cast<int64_t>(parallel.tp) * parallel.pp;
    if (file.old().mpWorldSize != kNoNode && asInteger(graph, file.old().mpWorldSize) != slices)
        file.set("mp_world_size", builder.integer(slices));
    const auto tp = asInteger(graph, file.old().tpDegree);
    const auto pp = asInteger(graph, file.old().ppDegree);
    const auto degrees = tp && pp ? checkedMultiply(*tp, *pp) : std::nullopt;
    if (file.old().parallelDimensions != kNoNode && degrees != slices
        && !(degrees && countsSequenceRanks(*degrees, slices, context.target.ranks)))
        file.set("checkpoint_parallel_dimensions", degreesOf(builder, parallel));
}

/// Merged slices and stages are not mentioned any more; for split ones, what the source
/// says of its own.
void setDegrees(ModelFile& file, const ReshardContext& context)
{
    const Checkpoint& source = *context.source;
    if (!source.merged)
        return setSlices(file, context);
    if (source.merged->of->parallel.pp > 1 || source.merged->isStage)
        setAllStages(file, source);
    PickleBuilder& builder = file.composer().builder();
    file.set("mp_world_size", builder.integer(source.parallel.tp * source.parallel.pp));
    const NodeId record = sliceRecord(file.composer(), context, file.old().universalInfo);
    if (record == kNoNode)
        file.leaveOut("universal_checkpoint_info");
    else
        file.set("universal_checkpoint_info", record);
    if (file.old().parallelDimensions == kNoNode)
        return;
    file.set("checkpoint_parallel_dimensions", degreesOf(builder, source.parallel));
}

/// ZeRO-3 before 0.9.1 leaves frozen parameters out. Stock looks for every one of them where it finds any
/// mapping, and leaves them as they are where it finds None.
bool listFrozen(ModelFile& file, const ReshardContext& context)
{
    return !partitionsParameters(context.source->kind)
        || (context.refills && context.refills->has("weight")) // grafted
        || isMapping(file.composer().graph(), file.old().frozenParamFragments);
}

/// Whether ties are known that a ZeRO-3 source does not record (ReshardOptions::ties).
bool lacksTies(ModelFile& file, const Checkpoint& source)
{
    const NodeId shared = file.old().sharedParams;
    const auto ties = std::count_if(source.params.begin(), source.params.end(),
        [](const Parameter& param) { return param.sharedWith != kNoParam; });
    return partitionsParameters(source.kind) && shared != kNoNode
        && mappingItems(file.composer().graph(), shared).size() / 2 < static_cast<size_t>(ties);
}

/// Keys that came with 0.4.0, 0.4.2 and 0.9.2, and that today's loaders and converter ask for.
void setWhatOldFilesLack(ModelFile& file, const ReshardContext& context)
{
    if (file.old().bufferNames == kNoNode)
        file.set("buffer_names", bufferNames(file, *context.source));
    if (file.old().sharedParams == kNoNode)
        file.set("shared_params", file.parts().sharedParams());
    if (file.old().version == kNoNode)
        file.set("ds_version", file.composer().builder().string(writtenVersion(*context.source)));
}

/// Stock fills shared_params on the first rank only (runtime/engine.py, _get_shared_params).
void leaveTiesToFirstRank(ModelFile& file, uint32_t rank)
{
    if (rank > 0 && isMapping(file.composer().graph(), file.old().sharedParams))
        file.set("shared_params", file.composer().builder().dict());
}

/// `param_shapes` of a target of the source's form: the source's entries, in the order of the target's units
/// on a rank.
Result<NodeId> regroupedShapes(ModelFile& file, const ReshardContext& context, uint32_t rank)
{
    ArchiveComposer& composer = file.composer();
    const PickleGraph& graph = composer.graph();
    const FusedExperts fused = FusedExperts::of(*context.source);
    std::unordered_map<std::string_view, std::pair<NodeId, NodeId>> entries;
    for (const NodeId group : sequenceItems(graph, file.old().paramShapes)) {
        const auto items = mappingItems(graph, group);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (const auto name = asString(graph, items[i]))
                entries.emplace(*name, std::pair(items[i], items[i + 1]));
        }
    }
    const NodeId list = composer.builder().list();
    for (const uint32_t unit : context.target.unitsOn(rank)) {
        const NodeId shapes = composer.orderedDict();
        for (const ParamId param : context.target.units[unit]->params) {
            const std::string& name = context.source->params[index(param)].name;
            const auto entry = entries.find(fused.withoutRank(name));
            if (entry == entries.end())
                return fail(ErrorCode::Damaged, "`param_shapes` does not name `" + toValidUtf8(name) + "`",
                    context.modelTemplate().path().string());
            composer.builder().setItem(
                shapes, composer.import(entry->second.first), composer.import(entry->second.second));
        }
        composer.builder().append(list, shapes);
    }
    return list;
}

/// The rank's shares of frozen parameters, in the source's order. Empty parameters have none.
NodeId reshardedFragments(
    ModelFile& file, const std::shared_ptr<const ReshardContext>& context, uint32_t rank)
{
    ArchiveComposer& composer = file.composer();
    const PickleGraph& graph = composer.graph();
    std::unordered_map<std::string_view, uint32_t> units;
    for (uint32_t i = 0; i < context->target.units.size(); ++i) {
        const FlatUnit& unit = *context->target.units[i];
        if (unit.kind == UnitKind::Frozen)
            units.emplace(context->source->params[index(unit.params.front())].name, i);
    }
    const auto items = mappingItems(graph, file.old().frozenParamFragments);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto unit = name ? units.find(*name) : units.end();
        if (unit == units.end())
            continue;
        const auto tensor = asTensor(graph, items[i + 1]);
        composer.substitute(items[i + 1],
            flatTensor(composer, context, unit->second, 0, rank, tensor && tensor->requiresGrad));
    }
    return composer.import(file.old().frozenParamFragments);
}

/// A model file of the source's stage and form: what follows from the number of ranks is replaced.
Result<OutputFile> composeSameModel(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    ModelFile file(context);
    const ModelStates& old = file.old();
    const bool zero3 = partitionsParameters(context->target.kind);
    if (old.dpWorldSize != kNoNode)
        file.set("dp_world_size", file.composer().builder().integer(context->target.ranks));
    setSlices(file, *context);
    if (isStage0(context->target.kind)) {
        markStage0Tensors(file.composer(), context, context->source->templateModel);
        return file.finish(name);
    }
    // Without them (experts before 0.19.3) they are written as they were found. Under round robin they are
    // rebuilt even if the order stays, so that there and back gives the same bytes.
    const bool lacksShapes = file.composer().graph().kind(old.paramShapes) != NodeKind::List;
    if (!zero3 && (lacksShapes || context->target.expertRanks != 0)) {
        file.set("param_shapes", file.parts().paramShapes());
    } else if (zero3 || context->source->roundRobin) {
        SHARDSCOPE_TRY(const NodeId shapes, regroupedShapes(file, *context, rank));
        file.set("param_shapes", shapes);
    }
    if (zero3 && isMapping(file.composer().graph(), old.frozenParamFragments))
        file.set("frozen_param_fragments", reshardedFragments(file, context, rank));
    leaveTiesToFirstRank(file, rank);
    ExpertRecords(*context, rank).replaceInModelFile(file.composer());
    if (rank == 0) // in digests, the first file's buffers represent all
        markWholeTensors(file.composer(), context, context->source->templateModel);
    return file.finish(name);
}

/// The one file of a target without ZeRO.
Result<OutputFile> composeStage0Model(
    const std::shared_ptr<const ReshardContext>& context, const std::string& name)
{
    ModelFile file(context);
    const bool masters = hasTorchOptimizer(context->target.kind);
    SHARDSCOPE_TRY(
        const NodeId module, file.parts().module({.trainable = true, .frozen = true, .masters = masters}));
    file.set("module", module);
    file.set("optimizer", stage0Optimizer(file.composer(), context));
    file.set("dp_world_size", file.composer().builder().integer(context->target.ranks));
    // engine.py, _common_checkpoint_state: without ZeRO there is none of them.
    for (const char* key : {"param_shapes", "frozen_param_shapes", "shared_params", "frozen_param_fragments"})
        file.set(key, file.composer().builder().none());
    setDegrees(file, *context);
    markWholeTensors(file.composer(), context, context->source->templateModel);
    return file.finish(name);
}

} // namespace

Result<OutputFile> composeModelFile(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    const bool stage0 = isStage0(context->target.kind);
    if (!(stage0 ? context->rebuilds : context->rebuildsModel))
        return composeSameModel(context, rank, name);
    if (stage0)
        return composeStage0Model(context, name);
    ModelFile file(context);
    PickleBuilder& builder = file.composer().builder();
    const int stage = context->stage();
    SHARDSCOPE_TRY(const NodeId module, file.parts().module({.trainable = stage < 3, .frozen = stage < 3}));
    file.set("module", module);
    file.set("dp_world_size", builder.integer(context->target.ranks));
    file.set("param_shapes", file.parts().paramShapes());
    // engine.py, _save_checkpoint: below stage 2 frozen parameters are in `module` alone.
    const bool left = context->refills && context->refills->model().withoutFrozen;
    const bool frozen = stage >= 2 && !left && listFrozen(file, *context);
    file.set("frozen_param_shapes", frozen ? file.parts().frozenShapes() : builder.none());
    file.set("frozen_param_fragments", frozen ? file.parts().frozenFragments(rank) : builder.none());
    if (rank > 0) // stock fills it on the first rank only (engine.py, _get_shared_params)
        file.set("shared_params", builder.dict());
    else if (left || lacksTies(file, *context->source))
        file.set("shared_params", file.parts().sharedParams());
    setOptimizerFree(file, *context);
    setDegrees(file, *context);
    setWhatOldFilesLack(file, *context);
    if (rank == 0)
        markWholeTensors(file.composer(), context, context->source->templateModel);
    return file.finish(name);
}

Result<OutputFile> composeUniversalModel(
    const std::shared_ptr<const ReshardContext>& context, bool slim, const std::string& name)
{
    ModelFile file(context);
    PickleBuilder& builder = file.composer().builder();
    SHARDSCOPE_TRY(const NodeId module, file.parts().module({.trainable = false, .frozen = !slim}));
    file.set("module", module);
    file.set("param_shapes", file.parts().paramShapes());
    file.set("frozen_param_shapes", file.parts().frozenShapes());
    file.set("frozen_param_fragments", builder.none()); // whole, in the module
    setOptimizerFree(file, *context);
    setDegrees(file, *context);
    setWhatOldFilesLack(file, *context);
    if (!slim)
        markWholeTensors(file.composer(), context, context->source->templateModel);
    return file.finish(name);
}

} // namespace shardscope
