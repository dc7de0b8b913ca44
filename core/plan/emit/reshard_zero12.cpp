// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/expert_records.h"
#include "core/plan/emit/model_module.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/emit/reshard_context.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <array>

namespace shardscope {

namespace {

/// Writes one optimizer file of DeepSpeedZeroOptimizer or BF16_Optimizer for the target's ranks.
class Zero12Optim
{
public:
    Zero12Optim(std::shared_ptr<const ReshardContext> context, uint32_t rank)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_rank(rank)
        , m_composer(m_context->optimTemplate(), m_context->sourceIndex(m_source.templateOptim))
        , m_graph(m_composer.graph())
        , m_wrapper(lookup(m_graph, m_graph.root(), "optimizer_state_dict"))
        , m_units(m_context->target.unitsOn(rank))
    {
    }

    Result<OutputFile> compose(const std::string& name)
    {
        replaceMasters();
        if (m_context->target.expertRanks != 0)
            replaceTorchState();
        else
            replaceStates();
        replaceInteger("partition_count", [this](uint32_t g) { return int64_t{unit(g).partition.ranks()}; });
        replaceInteger(
            "group_paddings", [this](uint32_t g) { return groupPadding(*m_context, m_units[g], m_rank); });
        replaceAlignmentPaddings();
        replaceMappings();
        const NodeId scaler = lookup(m_graph, m_wrapper, "loss_scaler");
        if (const NodeId renewed = renewedScaler(m_composer, scaler); renewed != kNoNode)
            m_composer.substitute(scaler, renewed);
        ExpertRecords(*m_context, m_rank).replaceInOptimFile(m_composer);
        return m_composer.finish(name, m_context->optimRecords);
    }

private:
    [[nodiscard]] uint32_t groupCount() const { return static_cast<uint32_t>(m_units.size()); }
    /// The source's group that a group has its options from.
    [[nodiscard]] size_t sourceGroup(uint32_t g) const
    {
        return m_context->target.expertRanks != 0 ? m_context->target.sourceGroups[g] : g;
    }
    /// The rank's own unit of a group.
    [[nodiscard]] const FlatUnit& unit(uint32_t g) const { return *m_context->target.units[m_units[g]]; }

    void replaceMasters()
    {
        const NodeId list = lookup(m_graph, m_wrapper, "single_partition_of_fp32_groups");
        const auto old = sequenceItems(m_graph, list);
        std::vector<NodeId> masters;
        for (uint32_t g = 0; g < groupCount(); ++g) {
            const auto tensor = asTensor(m_graph, old[sourceGroup(g)]);
            masters.push_back(
                flatTensor(m_composer, m_context, m_units[g], 0, m_rank, tensor && tensor->requiresGrad));
        }
        m_composer.substitute(list, m_composer.builder().list(masters));
    }

    void replaceStates()
    {
        for (uint32_t g = 0; g < groupCount(); ++g) {
            const NodeId entry = sourceEntry(m_source, g);
            if (unit(g).stepSet)
                m_composer.substitute(lookup(m_graph, entry, "step"), stepValue(m_composer, unit(g)));
            for (uint32_t state = 1; state < unit(g).states.size(); ++state) {
                const NodeId old = lookup(m_graph, entry, unit(g).states[state].name);
                const auto tensor = asTensor(m_graph, old);
                m_composer.substitute(old,
                    flatTensor(
                        m_composer, m_context, m_units[g], state, m_rank, tensor && tensor->requiresGrad));
            }
        }
    }

    /// Of experts that were dealt anew: there may be another number of groups.
    void replaceTorchState()
    {
        PickleBuilder& builder = m_composer.builder();
        const NodeId old = lookup(m_graph, m_wrapper, "base_optimizer_state");
        const NodeId states = builder.dict();
        const NodeId groups = builder.list();
        for (uint32_t g = 0; g < groupCount(); ++g) {
            const ParamGroup& from = m_source.groups[sourceGroup(g)];
            const NodeId number = builder.integer(g);
            const NodeId entry = stateEntry(
                m_composer, m_context, m_units[g], m_rank, sourceEntry(m_source, sourceGroup(g)));
            if (entry != kNoNode)
                builder.setItem(states, number, entry);
            builder.append(groups,
                groupOptions(m_composer, from.options, std::array{number}, m_context->target.expertRanks));
        }
        m_composer.substitute(lookup(m_graph, old, "state"), states);
        m_composer.substitute(lookup(m_graph, old, "param_groups"), groups);
    }

    /// A list with one number per group, or the one number of all that old releases had.
    template <class Value>
    void replaceInteger(std::string_view key, Value value)
    {
        const NodeId old = lookup(m_graph, m_wrapper, key);
        if (old == kNoNode)
            return;
        PickleBuilder& builder = m_composer.builder();
        if (m_graph.kind(old) == NodeKind::Int) {
            m_composer.substitute(old, builder.integer(m_context->target.ranks));
            return;
        }
        std::vector<NodeId> items;
        for (uint32_t g = 0; g < groupCount(); ++g)
            items.push_back(builder.integer(value(g)));
        m_composer.substitute(old, builder.list(items));
    }

    void replaceAlignmentPaddings()
    {
        const NodeId old = lookup(m_graph, m_wrapper, "param_alignment_paddings");
        const NodeId paddings = old == kNoNode ? kNoNode : alignmentPaddings(m_composer, *m_context);
        if (paddings != kNoNode)
            m_composer.substitute(old, paddings);
    }

    void replaceMappings()
    {
        const NodeId old = lookup(m_graph, m_wrapper, "param_slice_mappings");
        if (old != kNoNode)
            m_composer.substitute(old, sliceMappings(m_composer, *m_context, m_rank));
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    uint32_t m_rank;
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    NodeId m_wrapper;
    std::vector<uint32_t> m_units; ///< of the target: the rank's, by group
};

/// `param_shapes` names the parameters of every group in flat order. Under round robin it is rebuilt even
/// where the order stays, so that there and back gives the bytes of rewriting in place.
void replaceShapes(ArchiveComposer& composer, const std::shared_ptr<const ReshardContext>& shared)
{
    const ReshardContext& context = *shared;
    const PickleGraph& graph = composer.graph();
    if (context.target.expertRanks != 0) {
        const NodeId old = lookup(graph, graph.root(), "param_shapes");
        if (old != kNoNode) // else they are added
            composer.substitute(old, ModelParts(composer, shared).paramShapes());
        return;
    }
    if (!context.source->roundRobin)
        return;
    const auto groups = sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"));
    const auto units = context.target.unitsOn(0);
    for (uint32_t g = 0; g < groups.size() && g < units.size(); ++g) {
        const auto items = mappingItems(graph, groups[g]);
        const NodeId mapping = composer.orderedDict();
        for (const ParamId param : context.target.units[units[g]]->params) {
            const size_t at = size_t{2} * context.source->params[index(param)].indexInUnit;
            composer.builder().setItem(mapping, composer.import(items[at]), composer.import(items[at + 1]));
        }
        composer.substitute(groups[g], mapping);
    }
}

} // namespace

Result<OutputFile> composeZero12Optim(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    return Zero12Optim(context, rank).compose(name);
}

Result<OutputFile> composeZero12Model(
    const std::shared_ptr<const ReshardContext>& context, const std::string& name)
{
    ArchiveComposer composer(context->modelTemplate(), context->sourceIndex(context->source->templateModel));
    if (context->modelUse)
        composer.leaveOutUnused(*context->modelUse);
    const PickleGraph& graph = composer.graph();
    const NodeId world = lookup(graph, graph.root(), "dp_world_size");
    if (world != kNoNode)
        composer.substitute(world, composer.builder().integer(context->target.ranks));
    replaceShapes(composer, context);
    ExpertRecords(*context, 0).replaceInModelFile(composer);
    markWholeTensors(composer, context, context->source->templateModel);
    const NodeId shapes = lookup(graph, graph.root(), "param_shapes");
    if (shapes != kNoNode && graph.kind(shapes) == NodeKind::List)
        return composer.finish(name, context->modelRecords);
    // With experts before 0.19.3: what was found stands there from now on.
    ModelParts parts(composer, context);
    const NodeId root = composer.builder().dict();
    const auto items = mappingItems(graph, graph.root());
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (asString(graph, items[i]) != "param_shapes")
            composer.builder().setItem(root, composer.import(items[i]), composer.import(items[i + 1]));
    }
    composer.builder().setItem(root, composer.builder().string("param_shapes"), parts.paramShapes());
    return composer.finish(root, name, context->modelRecords);
}

} // namespace shardscope
