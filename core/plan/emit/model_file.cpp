// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/checkpoint/folder/sequence_names.h"
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

namespace shardscope {

namespace {

/// Without ZeRO, and under BF16_Optimizer in some releases, the model file has the optimizer, or a part of
/// it.
bool mayHoldOptimizer(const Checkpoint& source)
{
    return isStage0(source.kind) || hasOptimizerInModel(source);
}

/// One model file of a target: the template's entries in their order, then those that it lacks. What the
/// target determines has its value in one function per key, which gives kNoNode where the template's stays.
class ModelFile
{
public:
    ModelFile(std::shared_ptr<const ReshardContext> context, uint32_t rank, bool slim)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_rank(rank)
        , m_slim(slim)
        , m_composer(m_context->modelTemplate(), m_context->sourceIndex(m_source.templateModel))
        , m_graph(m_composer.graph())
        , m_builder(m_composer.builder())
        , m_old(modelStates(m_graph))
        , m_kind(m_context->target.kind)
        , m_follows(!(isStage0(m_kind) ? m_context->rebuilds : m_context->rebuildsModel))
        , m_parts(m_composer, m_context, m_follows)
    {
        if (m_context->modelUse)
            m_composer.leaveOutUnused(*m_context->modelUse);
        setZenFlowOff(m_composer, *m_context);
    }

    Result<OutputFile> compose(const std::string& name)
    {
        SHARDSCOPE_TRY(const NodeId module, this->module()); // the first: others use its tensors
        const ArchiveComposer::Changes made{{"module", module}, {"optimizer", optimizer()},
            {"dp_world_size", dpWorldSize()}, {"mp_world_size", mpWorldSize()},
            {"checkpoint_parallel_dimensions", parallelDimensions()}, {"param_shapes", paramShapes()},
            {"frozen_param_shapes", frozenShapes()}, {"frozen_param_fragments", frozenFragments()},
            {"shared_params", sharedParams()}, {"buffer_names", bufferNames()}, {"ds_version", version()}};
        if (m_follows && !isStage0(m_kind))
            ExpertRecords(*m_context, m_rank).replaceInModelFile(m_composer);
        if (m_rank == 0 && !m_slim) // in digests, the first file's buffers represent all
            markTensors();
        const NodeId root = m_composer.importChanged(m_graph.root(), [&](std::string_view key, NodeId value) {
            if (key == "universal_checkpoint_info" && m_source.merged)
                return sliceRecord(m_composer, *m_context, value); // none: no slices are mentioned any more
            const auto one = made.find(key);
            return one == made.end() || one->second == kNoNode ? m_composer.import(value) : one->second;
        });
        for (const auto& [key, value] : made) {
            if (value != kNoNode && lookup(m_graph, m_graph.root(), key) == kNoNode)
                m_builder.setItem(root, m_builder.string(key), value);
        }
        return m_composer.finish(root, name, m_context->modelRecords);
    }

private:
    Result<NodeId> module()
    {
        if (m_follows)
            return kNoNode;
        const bool whole = !isUniversal(m_kind) && !partitionsParameters(m_kind);
        return m_parts.module(
            {whole, isUniversal(m_kind) ? !m_slim : whole, isStage0(m_kind) && hasTorchOptimizer(m_kind)});
    }

    NodeId optimizer()
    {
        if (m_follows)
            return kNoNode;
        if (isStage0(m_kind))
            return stage0Optimizer(m_composer, m_context);
        return mayHoldOptimizer(m_source) ? m_builder.none() : kNoNode;
    }

    NodeId dpWorldSize()
    {
        const bool lacks = m_follows && m_old.dpWorldSize == kNoNode;
        return lacks || isUniversal(m_kind) ? kNoNode : m_builder.integer(m_context->target.ranks);
    }

    /// Slices and stages in all: those of a target that merges or splits them. Else the files of ranks may
    /// record others than there are.
    NodeId mpWorldSize()
    {
        const bool differs = hasRankFiles(m_source.kind) && m_old.mpWorldSize != kNoNode
            && asInteger(m_graph, m_old.mpWorldSize) != slices();
        return m_source.merged || differs ? m_builder.integer(slices()) : kNoNode;
    }

    NodeId parallelDimensions()
    {
        if (m_old.parallelDimensions == kNoNode || (!m_source.merged && !hasRankFiles(m_source.kind)))
            return kNoNode;
        const auto tp = asInteger(m_graph, m_old.tpDegree);
        const auto pp = asInteger(m_graph, m_old.ppDegree);
        const auto degrees = tp && pp ? checkedMultiply(*tp, *pp) : std::nullopt;
        const bool fits = degrees == slices()
            || (degrees && countsSequenceRanks(*degrees, slices(), m_context->target.ranks));
        if (!m_source.merged && fits)
            return kNoNode;
        const NodeId out = m_builder.dict();
        m_builder.setItem(out, m_builder.string("pp_degree"), m_builder.integer(m_source.parallel.pp));
        m_builder.setItem(out, m_builder.string("tp_degree"), m_builder.integer(m_source.parallel.tp));
        return out;
    }

    NodeId paramShapes()
    {
        if (isStage0(m_kind)) // engine.py, _common_checkpoint_state: without ZeRO there is none of them
            return noneUnlessFollows();
        // Without them (experts before 0.19.3) they are written as they were found. Under round robin they
        // are rebuilt even if the order stays, so that there and back gives the same bytes.
        const bool lacks = m_graph.kind(m_old.paramShapes) != NodeKind::List;
        const bool stays = m_follows && !lacks && !partitionsParameters(m_kind) && !m_source.roundRobin
            && m_context->target.expertRanks == 0;
        return stays ? kNoNode : m_parts.paramShapes(m_rank);
    }

    NodeId frozenShapes()
    {
        return !m_follows && (isUniversal(m_kind) || listsFrozen()) ? m_parts.frozenShapes()
                                                                    : noneUnlessFollows();
    }

    /// Whole ones of a universal folder are in the module.
    NodeId frozenFragments()
    {
        const bool lists = m_follows
            ? partitionsParameters(m_kind) && isMapping(m_graph, m_old.frozenParamFragments)
            : !isUniversal(m_kind) && listsFrozen();
        return lists ? m_parts.frozenFragments(m_rank) : noneUnlessFollows();
    }

    /// engine.py, _save_checkpoint: below stage 2 frozen parameters are in `module` alone. ZeRO-3 before
    /// 0.9.1 leaves them out; stock looks for every one of them where it finds any mapping, and leaves them
    /// as they are where it finds None.
    [[nodiscard]] bool listsFrozen() const
    {
        return m_context->stage() >= 2 && !leavesOutFrozen()
            && (!partitionsParameters(m_source.kind)
                || (m_context->refills && m_context->refills->has("weight")) // grafted
                || isMapping(m_graph, m_old.frozenParamFragments));
    }

    /// Stock fills it on the first rank only (runtime/engine.py, _get_shared_params).
    NodeId sharedParams()
    {
        if (isStage0(m_kind))
            return noneUnlessFollows();
        if (m_rank > 0)
            return !m_follows || isMapping(m_graph, m_old.sharedParams) ? m_builder.dict() : kNoNode;
        const bool lacks = m_old.sharedParams == kNoNode || mayHoldOptimizer(m_source) || hasAllStages()
            || (!isUniversal(m_kind) && (leavesOutFrozen() || lacksTies()));
        return !m_follows && lacks ? m_parts.sharedParams() : kNoNode;
    }

    /// Keys that came with 0.4.2 (this one) and 0.4.0, and that today's loaders and converter ask for.
    NodeId bufferNames()
    {
        if (!hasAllStages() && !(lacksOldKeys() && m_old.bufferNames == kNoNode))
            return kNoNode;
        const NodeId names = m_builder.list();
        for (const Parameter& param : m_source.params) {
            if (param.role == ParamRole::Buffer)
                m_builder.append(names, m_builder.string(param.name));
        }
        return names;
    }

    NodeId version()
    {
        return lacksOldKeys() && m_old.version == kNoNode ? m_builder.string(writtenVersion(m_source))
                                                          : kNoNode;
    }

    [[nodiscard]] bool lacksOldKeys() const { return !m_follows && !isStage0(m_kind); }
    NodeId noneUnlessFollows() { return m_follows ? kNoNode : m_builder.none(); }
    [[nodiscard]] int64_t slices() const { return int64_t{m_source.parallel.tp} * m_source.parallel.pp; }
    [[nodiscard]] bool leavesOutFrozen() const
    {
        return m_context->refills && m_context->refills->model().withoutFrozen;
    }
    /// A file of one pipeline stage speaks of the names that this stage has.
    [[nodiscard]] bool hasAllStages() const
    {
        return m_source.merged && (m_source.merged->of->parallel.pp > 1 || m_source.merged->isStage);
    }
    /// Whether ties are known that a ZeRO-3 source does not record (ReshardOptions::ties).
    [[nodiscard]] bool lacksTies() const
    {
        const auto ties = std::count_if(m_source.params.begin(), m_source.params.end(),
            [](const Parameter& param) { return param.sharedWith != kNoParam; });
        return partitionsParameters(m_source.kind)
            && mappingItems(m_graph, m_old.sharedParams).size() / 2 < static_cast<size_t>(ties);
    }

    void markTensors()
    {
        if (m_follows && isStage0(m_kind))
            markStage0Tensors(m_composer, m_context, m_source.templateModel);
        else
            markWholeTensors(m_composer, m_context, m_source.templateModel);
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    uint32_t m_rank;
    bool m_slim;
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    PickleBuilder& m_builder;
    ModelStates m_old; ///< of the template
    CheckpointKind m_kind; ///< the target's
    bool m_follows; ///< the source's stage and form stay
    ModelParts m_parts;
};

} // namespace

Result<OutputFile> composeModelFile(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, bool slim, const std::string& name)
{
    return ModelFile(context, rank, slim).compose(name);
}

} // namespace shardscope
