// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/slices/merged_slices.h"
#include "core/plan/emit/model_module.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/slice_record.h"
#include "core/plan/emit/stage0_optimizer.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/target/stage0_form.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <map>
#include <set>

namespace shardscope {

namespace {

/// The source's model file with some keys anew; those it lacks come last.
class ModelFile
{
public:
    explicit ModelFile(std::shared_ptr<const ReshardContext> context)
        : m_context(std::move(context))
        , m_composer(m_context->modelTemplate(), m_context->sourceIndex(m_context->source->templateModel))
        , m_parts(m_composer, m_context)
    {
        if (m_context->modelUse)
            m_composer.leaveOutUnused(*m_context->modelUse);
        setZenFlowOff(m_composer, *m_context);
    }

    ArchiveComposer& composer() { return m_composer; }
    ModelParts& parts() { return m_parts; }
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

/// Of slices and stages that were joined nothing is said any more; of those that were cut, what the source
/// says of its own.
void setDegrees(ModelFile& file, const ReshardContext& context)
{
    const Checkpoint& source = *context.source;
    if (!source.merged)
        return;
    if (source.merged->of->parallel.pp > 1 || source.merged->isStage)
        setAllStages(file, source);
    PickleBuilder& builder = file.composer().builder();
    const PickleGraph& graph = file.composer().graph();
    file.set("mp_world_size", builder.integer(source.parallel.tp * source.parallel.pp));
    const NodeId record
        = sliceRecord(file.composer(), context, lookup(graph, graph.root(), "universal_checkpoint_info"));
    if (record == kNoNode)
        file.leaveOut("universal_checkpoint_info");
    else
        file.set("universal_checkpoint_info", record);
    if (lookup(graph, graph.root(), "checkpoint_parallel_dimensions") == kNoNode)
        return;
    const NodeId degrees = builder.dict();
    builder.setItem(degrees, builder.string("pp_degree"), builder.integer(source.parallel.pp));
    builder.setItem(degrees, builder.string("tp_degree"), builder.integer(source.parallel.tp));
    file.set("checkpoint_parallel_dimensions", degrees);
}

/// ZeRO-3 before 0.9.1 leaves frozen parameters out. Stock looks for every one of them where it finds any
/// mapping, and leaves them as they are where it finds None.
bool tellsFrozen(ModelFile& file, const ReshardContext& context)
{
    const PickleGraph& graph = file.composer().graph();
    return !partitionsParameters(context.source->kind)
        || (context.refills && context.refills->has("weight")) // grafted
        || isMapping(graph, lookup(graph, graph.root(), "frozen_param_fragments"));
}

/// Whether ties are known that a ZeRO-3 source does not record (ReshardOptions::ties).
bool lacksTies(ModelFile& file, const Checkpoint& source)
{
    const PickleGraph& graph = file.composer().graph();
    const NodeId shared = lookup(graph, graph.root(), "shared_params");
    const auto ties = std::count_if(source.params.begin(), source.params.end(),
        [](const Parameter& param) { return param.sharedWith != kNoParam; });
    return partitionsParameters(source.kind) && shared != kNoNode
        && mappingItems(graph, shared).size() / 2 < static_cast<size_t>(ties);
}

/// Keys that came with 0.4.0, 0.4.2 and 0.9.2, and that today's loaders and converter ask for.
void setWhatOldFilesLack(ModelFile& file, const ReshardContext& context)
{
    PickleBuilder& builder = file.composer().builder();
    const PickleGraph& graph = file.composer().graph();
    const auto lacks = [&](std::string_view key) { return lookup(graph, graph.root(), key) == kNoNode; };
    if (lacks("buffer_names"))
        file.set("buffer_names", bufferNames(file, *context.source));
    if (lacks("shared_params"))
        file.set("shared_params", file.parts().sharedParams());
    if (lacks("ds_version"))
        file.set("ds_version", builder.string(writtenVersion(*context.source)));
}

} // namespace

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

Result<OutputFile> composeFreshModel(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    ModelFile file(context);
    PickleBuilder& builder = file.composer().builder();
    const int stage = context->stage();
    SHARDSCOPE_TRY(const NodeId module, file.parts().module({.trainable = stage < 3, .frozen = stage < 3}));
    file.set("module", module);
    file.set("dp_world_size", builder.integer(context->target.ranks));
    file.set("param_shapes", file.parts().paramShapes());
    // engine.py, _save_checkpoint: below stage 2 frozen parameters are in `module` alone.
    const bool left = context->refills && context->refills->model().withoutFrozen;
    const bool frozen = stage >= 2 && !left && tellsFrozen(file, *context);
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
