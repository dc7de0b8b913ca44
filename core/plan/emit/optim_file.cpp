// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/plan/emit/expert_records.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/emit/reshard_context.h"
#include "core/plan/emit/slice_record.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/target/scaler_forms.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// Keys of the wrapper in the order of stock's state_dict(): DeepSpeedZeroOptimizer_Stage3 (stage3.py,
/// _rigid_state_dict), DeepSpeedZeroOptimizer (stage_1_and_2.py) and BF16_Optimizer.
constexpr std::array<std::string_view, 7> kZero3Keys{"zero_stage", "loss_scaler", "dynamic_loss_scale",
    "overflow", "partition_count", "optimizer_state_dict", "fp32_flat_groups"};
constexpr std::array<std::string_view, 12> kZero12Keys{"loss_scaler", "dynamic_loss_scale", "overflow",
    "clip_grad", "base_optimizer_state", "single_partition_of_fp32_groups", "zero_stage", "group_paddings",
    "partition_count", "ds_version", "param_slice_mappings", "param_alignment_paddings"};
/// Of them, those that BF16_Optimizer leaves out.
constexpr std::array<std::string_view, 4> kNotInBf16{
    "loss_scaler", "dynamic_loss_scale", "overflow", "zero_stage"};

/// Keys that a source of another form does not hand over.
constexpr std::array<std::string_view, 8> kOwnKeys{"zero_stage", "partition_count", "param_groups",
    "ds_version", "loss_scaler", "dynamic_loss_scale", "overflow", "clip_grad"};

template <size_t Count>
bool contains(const std::array<std::string_view, Count>& keys, std::string_view key)
{
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Writes one optimizer file of a ZeRO checkpoint for one target rank. Where stage and form stay, it has the
/// keys of the source's template file in their order; else those of stock, then what is unknown. What does
/// not follow from the target comes from the template: options, steps, scaler, unknown keys.
class OptimFile
{
public:
    OptimFile(std::shared_ptr<const ReshardContext> context, uint32_t rank)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_rank(rank)
        , m_units(m_context->target.unitsOn(rank))
        , m_composer(m_context->optimTemplate(), m_context->sourceIndex(m_source.templateOptim))
        , m_graph(m_composer.graph())
        , m_builder(m_composer.builder())
        , m_old(optimStates(m_graph, m_source.optimWrapper))
        , m_zero3(partitionsParameters(m_context->target.kind))
    {
    }

    Result<OutputFile> compose(const std::string& name)
    {
        if (m_context->rebuilds)
            return m_composer.finish(newRoot(), name, m_context->optimRecords);
        m_composer.substitute(m_old.wrapper, sameWrapper());
        ExpertRecords(*m_context, m_rank).replaceInOptimFile(m_composer);
        return m_composer.finish(name, m_context->optimRecords);
    }

private:
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    /// The template's wrapper with the values that follow from the target's ranks.
    NodeId sameWrapper()
    {
        const NodeId wrapper = m_builder.dict();
        const auto items = mappingItems(m_graph, m_old.wrapper);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            const NodeId made = key ? valueOf(*key) : kNoNode;
            m_builder.setItem(wrapper, m_composer.import(items[i]),
                made != kNoNode ? made : m_composer.import(items[i + 1]));
        }
        return wrapper;
    }

    /// A value that follows from the target's ranks, or kNoNode: the template's is kept.
    NodeId valueOf(std::string_view key)
    {
        if (key == "partition_count")
            return partitionCount();
        if (key == "loss_scaler")
            return renewedScaler(m_composer, m_old.lossScaler);
        if (key == (m_zero3 ? "optimizer_state_dict" : "base_optimizer_state"))
            return torchState();
        if (key == (m_zero3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups"))
            return masters();
        if (m_zero3)
            return key == "ds_zero_partition_groups" ? partitionGroups() : kNoNode;
        if (key == "group_paddings")
            return paddings();
        if (key == "param_alignment_paddings")
            return alignmentPaddings(m_composer, *m_context);
        return key == "param_slice_mappings" ? sliceMappings(m_composer, *m_context, m_rank) : kNoNode;
    }

    NodeId newRoot()
    {
        const NodeId root = m_builder.dict();
        setZenFlowOff(m_composer, *m_context);
        set(root, "optimizer_state_dict", newWrapper());
        if (isStage0(m_source.kind)) { // the template is the model file
            const NodeId config = modelStates(m_graph).config;
            set(root, "ds_config", config == kNoNode ? m_builder.none() : m_composer.import(config));
        }
        if (isConverted(m_source.kind) || isStage0(m_source.kind)) {
            set(root, "ds_version", m_builder.string(writtenVersion(m_source)));
            return root;
        }
        const auto items = mappingItems(m_graph, m_graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            if (key != "optimizer_state_dict" && key != "param_shapes") // of the model file since 0.6.0
                m_builder.setItem(root, m_composer.import(items[i]), m_composer.import(items[i + 1]));
        }
        return root;
    }

    NodeId newWrapper()
    {
        const NodeId wrapper = m_builder.dict();
        const auto add = [&](std::string_view key) {
            if (const NodeId value = newValueOf(key); value != kNoNode)
                set(wrapper, key, value);
        };
        if (m_zero3)
            std::for_each(kZero3Keys.begin(), kZero3Keys.end(), add);
        for (size_t i = 0; i < kZero12Keys.size() && !m_zero3; ++i) {
            if (!hasBf16Optimizer(m_context->target.kind) || !contains(kNotInBf16, kZero12Keys[i]))
                add(kZero12Keys[i]);
        }
        addUnknown(wrapper);
        return wrapper;
    }

    /// Of a target of another stage or form; kNoNode if it does not have the key.
    NodeId newValueOf(std::string_view key)
    {
        const auto carried = [&](NodeId old) { return old == kNoNode ? kNoNode : m_composer.import(old); };
        if (key == "zero_stage")
            return zeroStage();
        if (key == "clip_grad")
            return carried(m_old.clipGrad);
        if (key == "ds_version")
            return m_builder.string(writtenVersion(m_source));
        if (key == "loss_scaler")
            return scaler();
        if (key == "overflow")
            return m_old.lossScaler != kNoNode ? carried(m_old.overflow) : m_builder.boolean(false);
        if (key != "dynamic_loss_scale")
            return valueOf(key);
        if (m_old.lossScaler != kNoNode)
            return carried(m_old.dynamicLossScale);
        return keepsScalerKeys(m_source) && m_old.dynamicLossScale != kNoNode
            ? m_composer.import(m_old.dynamicLossScale)
            : m_builder.boolean(false);
    }

    /// In the source's spelling, with the target's number.
    NodeId zeroStage()
    {
        const NodeId number = m_builder.integer(m_context->stage());
        if (isStage0(m_source.kind)) // a source that has none: as releases since 0.7.0 write it
            return m_builder.reduce(m_builder.global("deepspeed.runtime.zero.config", "ZeroStageEnum"),
                m_builder.tuple(std::array{number}));
        const NodeId old = m_old.zeroStage;
        if (m_graph.kind(old) != NodeKind::Reduce
            || !isGlobal(m_graph, m_graph.callable(old), "deepspeed.runtime.zero.config", "ZeroStageEnum"))
            return number;
        return m_builder.reduce(
            m_composer.import(m_graph.callable(old)), m_builder.tuple(std::array{number}));
    }

    NodeId scaler()
    {
        if (m_old.lossScaler != kNoNode) {
            const NodeId renewed = renewedScaler(m_composer, m_old.lossScaler);
            return renewed != kNoNode ? renewed : m_composer.import(m_old.lossScaler);
        }
        if (keepsScalerKeys(m_source))
            return scalerObject(m_composer, m_source);
        // What an engine without loss scaling writes (runtime/fp16/loss_scaler.py, LossScaler).
        const NodeId attributes = m_builder.dict();
        set(attributes, "cur_scale", m_builder.real(1.0));
        set(attributes, "dynamic", m_builder.boolean(false));
        const NodeId scaler = m_builder.newObj(
            m_builder.global("deepspeed.runtime.fp16.loss_scaler", "LossScaler"), m_builder.tuple({}));
        m_builder.setState(scaler, attributes);
        return scaler;
    }

    void addUnknown(NodeId wrapper)
    {
        const auto items = mappingItems(m_graph, m_old.wrapper);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            const bool isRecord = m_source.merged && key == "universal_checkpoint_info";
            if (isRecord) { // AutoTP's is in both files
                if (const NodeId record = sliceRecord(m_composer, *m_context, items[i + 1]);
                    record != kNoNode)
                    set(wrapper, *key, record);
            } else if (!key
                || !(describesShards(*key) || contains(kOwnKeys, *key) || keepsScalerKeys(m_source))) {
                m_builder.setItem(wrapper, m_composer.import(items[i]), m_composer.import(items[i + 1]));
            }
        }
    }

    /// The rank's own unit at a number: of a param group, or of a sub-group.
    [[nodiscard]] const FlatUnit& unitAt(uint32_t number) const
    {
        return *m_context->target.units[m_units[number]];
    }

    [[nodiscard]] uint32_t groupCount() const
    {
        return static_cast<uint32_t>(m_zero3 ? m_source.groups.size() : m_units.size());
    }

    /// The source's group that a group takes its options from.
    [[nodiscard]] size_t sourceGroup(uint32_t g) const
    {
        return m_context->target.expertRanks != 0 ? m_context->target.sourceGroups[g] : g;
    }

    /// The numbers of the units of a param group: its own, or those of its sub-groups.
    [[nodiscard]] std::vector<uint32_t> numbersOf(uint32_t g) const
    {
        return m_zero3 ? m_context->target.subGroupsOfGroup[g] : std::vector{g};
    }

    NodeId torchState()
    {
        const NodeId states = m_builder.dict();
        const NodeId groups = m_builder.list();
        for (uint32_t g = 0; g < groupCount(); ++g) {
            const NodeId first = sourceEntry(m_source, sourceGroup(g));
            std::vector<NodeId> numbers;
            for (const uint32_t number : numbersOf(g)) {
                numbers.push_back(m_builder.integer(number));
                const NodeId entry = stateEntry(m_composer, m_context, m_units[number], m_rank, first);
                if (entry != kNoNode)
                    m_builder.setItem(states, m_builder.integer(number), entry);
            }
            m_builder.append(groups,
                groupOptions(m_composer, m_source.groups[sourceGroup(g)].options, numbers,
                    m_context->target.expertRanks));
        }
        if (!m_context->rebuilds)
            return m_composer.importChanged(
                m_zero3 ? m_old.torchState : m_old.baseState, {{"state", states}, {"param_groups", groups}});
        const NodeId out = m_builder.dict();
        set(out, "state", states);
        set(out, "param_groups", groups);
        return out;
    }

    NodeId masters()
    {
        const NodeId list = m_zero3 ? m_old.flatGroups : m_old.masters;
        const auto old = sequenceItems(m_graph, list);
        const auto first = asTensor(m_graph, old.empty() ? list : old.front());
        std::vector<NodeId> out;
        for (const uint32_t unit : m_units)
            out.push_back(flatTensor(m_composer, m_context, unit, 0, m_rank,
                m_context->rebuilds || (first && first->requiresGrad)));
        return m_builder.list(out);
    }

    /// ZeRO-1/2: a list by param group; ZeRO-3 and old releases: one number.
    NodeId partitionCount()
    {
        if (m_zero3 || (!m_context->rebuilds && m_graph.kind(m_old.partitionCount) == NodeKind::Int))
            return m_builder.integer(m_context->target.ranks);
        std::vector<NodeId> counts;
        for (uint32_t g = 0; g < groupCount(); ++g)
            counts.push_back(m_builder.integer(unitAt(g).partition.ranks()));
        return m_builder.list(counts);
    }

    NodeId paddings()
    {
        std::vector<NodeId> out;
        for (uint32_t g = 0; g < groupCount(); ++g)
            out.push_back(m_builder.integer(groupPadding(*m_context, m_units[g], m_rank)));
        return m_builder.list(out);
    }

    /// AutoEP: which ranks share each sub-group. Stock compares it with what its own run has.
    NodeId partitionGroups()
    {
        const auto entries = sequenceItems(m_graph, m_old.partitionGroups);
        if (entries.empty())
            return kNoNode;
        const FusedExperts fused = FusedExperts::of(m_source);
        std::vector<NodeId> made;
        for (uint32_t number = 0; number < m_units.size(); ++number) {
            const FlatUnit& unit = unitAt(number);
            const ParamGroup& group = m_source.groups[static_cast<size_t>(unit.group)];
            const size_t like = m_source.units[index(group.units.front())].subgroup.value_or(0);
            std::vector<NodeId> ranks;
            for (uint32_t i = 0; i < unit.partition.ranks(); ++i)
                ranks.push_back(m_builder.integer(fused.stageRankOf(unit.dpRankOf(i))));
            made.push_back(m_builder.dict());
            set(made.back(), "sub_group", m_builder.integer(number));
            set(made.back(), "partition_count", m_builder.integer(unit.partition.ranks()));
            set(made.back(), "partition_rank", m_builder.integer(unit.partitionRankOf(m_rank).value_or(0)));
            set(made.back(), "partition_ranks", m_builder.list(ranks));
            for (const char* key : {"families", "group_names"})
                set(made.back(), key,
                    m_composer.import(lookup(m_graph, entries[std::min(like, entries.size() - 1)], key)));
        }
        return m_builder.list(made);
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    uint32_t m_rank;
    std::vector<uint32_t> m_units; ///< of the target: those that the rank has a share of, by number
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    PickleBuilder& m_builder;
    OptimStates m_old; ///< of the template
    bool m_zero3;
};

} // namespace

Result<OutputFile> composeOptimFile(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    return OptimFile(context, rank).compose(name);
}

} // namespace shardscope
