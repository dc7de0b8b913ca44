// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/old_forms.h"
#include "core/plan/emit/optimizer_entries.h"
#include "core/plan/emit/slice_record.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/target/scaler_forms.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

/// Keys of a wrapper that follow from the target, beside those that describe shards.
constexpr std::array<std::string_view, 4> kTargetKeys{
    "zero_stage", "partition_count", "param_groups", "ds_version"};
/// Keys of the scaler, which BF16_Optimizer leaves out and every other wrapper must have.
constexpr std::array<std::string_view, 3> kScalerKeys{"loss_scaler", "dynamic_loss_scale", "overflow"};

/// Writes one optimizer file of DeepSpeedZeroOptimizer (runtime/zero/stage_1_and_2.py, state_dict) or
/// DeepSpeedZeroOptimizer_Stage3 (runtime/zero/stage3.py, _rigid_state_dict) from the model of a checkpoint
/// of another stage or form. Options, steps, scaler and unknown keys come from the source's rank-0 file.
class FreshOptim
{
public:
    FreshOptim(std::shared_ptr<const ReshardContext> context, uint32_t rank)
        : m_context(std::move(context))
        , m_source(*m_context->source)
        , m_rank(rank)
        , m_composer(m_context->optimTemplate(), m_context->sourceIndex(m_source.templateOptim))
        , m_graph(m_composer.graph())
        , m_builder(m_composer.builder())
        , m_zero3(partitionsParameters(m_context->target.kind))
    {
    }

    Result<OutputFile> compose(const std::string& name)
    {
        const NodeId root = m_builder.dict();
        setZenFlowOff(m_composer, *m_context);
        set(root, "optimizer_state_dict", wrapper());
        if (isStage0(m_source.kind)) {
            const NodeId config = lookup(m_graph, m_graph.root(), "ds_config");
            set(root, "ds_config", config == kNoNode ? m_builder.none() : m_composer.import(config));
        }
        if (isConverted(m_source.kind) || isStage0(m_source.kind)) {
            set(root, "ds_version", m_builder.string(writtenVersion(m_source)));
        } else {
            const auto items = mappingItems(m_graph, m_graph.root());
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const auto key = asString(m_graph, items[i]);
                if (key != "optimizer_state_dict" && key != "param_shapes") // of the model file since 0.6.0
                    m_builder.setItem(root, m_composer.import(items[i]), m_composer.import(items[i + 1]));
            }
        }
        return m_composer.finish(root, name, m_context->optimRecords);
    }

private:
    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }

    NodeId wrapper()
    {
        const NodeId wrapper = m_builder.dict();
        if (m_zero3)
            set(wrapper, "zero_stage", zeroStage());
        if (!hasBf16Optimizer(m_context->target.kind))
            addScaler(wrapper);
        if (m_zero3)
            set(wrapper, "partition_count", m_builder.integer(m_context->target.ranks));
        else
            carry(wrapper, "clip_grad");
        set(wrapper, m_zero3 ? "optimizer_state_dict" : "base_optimizer_state", torchState());
        set(wrapper, m_zero3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups", masters());
        if (!m_zero3)
            addLayout(wrapper);
        addUnknown(wrapper);
        return wrapper;
    }

    [[nodiscard]] uint32_t unitCount() const
    {
        const auto& units = m_context->target.units;
        return static_cast<uint32_t>(
            std::count_if(units.begin(), units.end(), [](const auto& unit) { return unit->isFlat(); }));
    }

    /// In the source's spelling, with the target's number.
    NodeId zeroStage()
    {
        const NodeId number = m_builder.integer(m_context->stage());
        if (isStage0(m_source.kind)) // a source that has none: as releases since 0.7.0 write it
            return m_builder.reduce(m_builder.global("deepspeed.runtime.zero.config", "ZeroStageEnum"),
                m_builder.tuple(std::array{number}));
        const NodeId old = lookup(m_graph, m_source.optimWrapper, "zero_stage");
        if (old == kNoNode || m_graph.kind(old) != NodeKind::Reduce
            || !isGlobal(m_graph, m_graph.callable(old), "deepspeed.runtime.zero.config", "ZeroStageEnum"))
            return number;
        return m_builder.reduce(
            m_composer.import(m_graph.callable(old)), m_builder.tuple(std::array{number}));
    }

    void carry(NodeId wrapper, std::string_view key)
    {
        if (const NodeId old = lookup(m_graph, m_source.optimWrapper, key); old != kNoNode)
            set(wrapper, key, m_composer.import(old));
    }

    void addScaler(NodeId wrapper)
    {
        const NodeId old = lookup(m_graph, m_source.optimWrapper, "loss_scaler");
        if (const NodeId renewed = renewedScaler(m_composer, old); renewed != kNoNode)
            m_composer.substitute(old, renewed);
        if (old != kNoNode) {
            for (const std::string_view key : kScalerKeys)
                carry(wrapper, key);
            return;
        }
        if (keepsScalerKeys(m_source)) {
            const NodeId scaler = scalerObject(m_composer, m_source);
            set(wrapper, "loss_scaler", scaler);
            const NodeId dynamic = lookup(m_graph, m_source.optimWrapper, "dynamic_loss_scale");
            set(wrapper, "dynamic_loss_scale",
                dynamic == kNoNode ? m_builder.boolean(false) : m_composer.import(dynamic));
            set(wrapper, "overflow", m_builder.boolean(false));
            return;
        }
        // What an engine without loss scaling writes (runtime/fp16/loss_scaler.py, LossScaler).
        const NodeId attributes = m_builder.dict();
        set(attributes, "cur_scale", m_builder.real(1.0));
        set(attributes, "dynamic", m_builder.boolean(false));
        const NodeId scaler = m_builder.newObj(
            m_builder.global("deepspeed.runtime.fp16.loss_scaler", "LossScaler"), m_builder.tuple({}));
        m_builder.setState(scaler, attributes);
        set(wrapper, "loss_scaler", scaler);
        set(wrapper, "dynamic_loss_scale", m_builder.boolean(false));
        set(wrapper, "overflow", m_builder.boolean(false));
    }

    [[nodiscard]] NodeId sourceEntry(const FlatUnit& unit) const
    {
        return shardscope::sourceEntry(m_source, static_cast<size_t>(unit.group));
    }

    NodeId torchState()
    {
        const NodeId states = m_builder.dict();
        for (uint32_t i = 0; i < unitCount(); ++i) {
            const NodeId entry
                = stateEntry(m_composer, m_context, i, m_rank, sourceEntry(*m_context->target.units[i]));
            if (entry != kNoNode)
                m_builder.setItem(states, m_builder.integer(i), entry);
        }
        const NodeId groups = m_builder.list();
        for (size_t g = 0; g < m_source.groups.size(); ++g) {
            std::vector<NodeId> numbers;
            if (!m_zero3)
                numbers.push_back(m_builder.integer(static_cast<int64_t>(g)));
            for (size_t i = 0; m_zero3 && i < m_context->target.subGroupsOfGroup[g].size(); ++i)
                numbers.push_back(m_builder.integer(m_context->target.subGroupsOfGroup[g][i]));
            m_builder.append(groups, groupOptions(m_composer, m_source.groups[g].options, numbers));
        }
        const NodeId out = m_builder.dict();
        set(out, "state", states);
        set(out, "param_groups", groups);
        return out;
    }

    NodeId masters()
    {
        std::vector<NodeId> out;
        for (uint32_t i = 0; i < unitCount(); ++i)
            out.push_back(flatTensor(m_composer, m_context, i, 0, m_rank, true));
        return m_builder.list(out);
    }

    void addLayout(NodeId wrapper)
    {
        std::vector<NodeId> paddings;
        std::vector<NodeId> counts;
        for (uint32_t i = 0; i < unitCount(); ++i) {
            paddings.push_back(m_builder.integer(groupPadding(*m_context, i, m_rank)));
            counts.push_back(m_builder.integer(m_context->target.ranks));
        }
        if (!hasBf16Optimizer(m_context->target.kind))
            set(wrapper, "zero_stage", zeroStage());
        set(wrapper, "group_paddings", m_builder.list(paddings));
        set(wrapper, "partition_count", m_builder.list(counts));
        set(wrapper, "ds_version", m_builder.string(writtenVersion(m_source)));
        set(wrapper, "param_slice_mappings", sliceMappings(m_composer, *m_context, m_rank));
        if (const NodeId inner = alignmentPaddings(m_composer, *m_context); inner != kNoNode)
            set(wrapper, "param_alignment_paddings", inner);
    }

    void addUnknown(NodeId wrapper)
    {
        const auto items = mappingItems(m_graph, m_source.optimWrapper);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(m_graph, items[i]);
            const bool known = key
                && (describesShards(*key) || keepsScalerKeys(m_source)
                    || std::find(kTargetKeys.begin(), kTargetKeys.end(), *key) != kTargetKeys.end()
                    || std::find(kScalerKeys.begin(), kScalerKeys.end(), *key) != kScalerKeys.end()
                    || *key == "clip_grad" || (m_source.merged && *key == "universal_checkpoint_info"));
            if (m_source.merged && key == "universal_checkpoint_info") { // AutoTP's is in both files
                if (const NodeId record = sliceRecord(m_composer, *m_context, items[i + 1]);
                    record != kNoNode)
                    set(wrapper, *key, record);
            }
            if (!known)
                m_builder.setItem(wrapper, m_composer.import(items[i]), m_composer.import(items[i + 1]));
        }
    }

    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    uint32_t m_rank;
    ArchiveComposer m_composer;
    const PickleGraph& m_graph;
    PickleBuilder& m_builder;
    bool m_zero3;
};

} // namespace

Result<OutputFile> composeFreshOptim(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    return FreshOptim(context, rank).compose(name);
}

} // namespace shardscope
