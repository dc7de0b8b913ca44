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

/// Writes one optimizer file of a ZeRO checkpoint for one target rank. Where stage and form stay, it has the
/// keys of the source's template file in their order; else those of stock. The template's entries that nobody
/// interprets, options, steps and the scaler go along.
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
        , m_parts(m_composer, *m_context)
        , m_old(optimStates(m_graph, m_source.optimWrapper))
        , m_zero3(partitionsParameters(m_context->target.kind))
        , m_follows(!m_context->rebuilds)
    {
    }

    Result<OutputFile> compose(const std::string& name)
    {
        if (m_follows)
            ExpertRecords(*m_context, m_rank).replaceInOptimFile(m_composer);
        else
            setZenFlowOff(m_composer, *m_context);
        return m_composer.finish(root(), name, m_context->optimRecords);
    }

private:
    /// A key of the wrapper.
    struct Key {
        std::string_view name;
        NodeId (OptimFile::*make)(); ///< its value; kNoNode: none, or the template's
        bool ofRanks = true; ///< follows from the ranks; the template has others of the same stage and form
        bool inBf16 = true; ///< BF16_Optimizer has it
    };
    /// In the order of stock's state_dict(): DeepSpeedZeroOptimizer_Stage3 (stage3.py, _rigid_state_dict),
    /// and DeepSpeedZeroOptimizer (stage_1_and_2.py) with BF16_Optimizer.
    static std::span<const Key> keysOf(bool zero3)
    {
        static constexpr std::array kZero3{
            Key{"zero_stage", &OptimFile::zeroStage, false},
            Key{"loss_scaler", &OptimFile::scaler},
            Key{"dynamic_loss_scale", &OptimFile::dynamicScale, false},
            Key{"overflow", &OptimFile::overflow, false},
            Key{"partition_count", &OptimFile::partitionCount},
            Key{"optimizer_state_dict", &OptimFile::optimizerState},
            Key{"fp32_flat_groups", &OptimFile::masters},
            Key{"ds_zero_partition_groups", &OptimFile::partitionGroups},
        };
        static constexpr std::array kZero12{
            Key{"loss_scaler", &OptimFile::scaler, true, false},
            Key{"dynamic_loss_scale", &OptimFile::dynamicScale, false, false},
            Key{"overflow", &OptimFile::overflow, false, false},
            Key{"clip_grad", &OptimFile::clipping, false},
            Key{"base_optimizer_state", &OptimFile::optimizerState},
            Key{"single_partition_of_fp32_groups", &OptimFile::masters},
            Key{"zero_stage", &OptimFile::zeroStage, false, false},
            Key{"group_paddings", &OptimFile::paddings},
            Key{"partition_count", &OptimFile::partitionCount},
            Key{"ds_version", &OptimFile::version, false},
            Key{"param_slice_mappings", &OptimFile::mappings},
            Key{"param_alignment_paddings", &OptimFile::alignments},
        };
        return zero3 ? std::span<const Key>(kZero3) : std::span<const Key>(kZero12);
    }
    static const Key* find(std::string_view name, bool zero3)
    {
        const auto keys = keysOf(zero3);
        const auto found = std::ranges::find(keys, name, &Key::name);
        return found == keys.end() ? nullptr : &*found;
    }

    void set(NodeId mapping, std::string_view key, NodeId value)
    {
        m_builder.setItem(mapping, m_builder.string(key), value);
    }
    NodeId carried(NodeId old) { return old == kNoNode ? kNoNode : m_composer.import(old); }

    NodeId root()
    {
        if (!isConverted(m_source.kind) && !isStage0(m_source.kind))
            return m_composer.importChanged(m_graph.root(), [&](std::string_view key, NodeId value) {
                if (key == "optimizer_state_dict")
                    return wrapper();
                const bool isOld = !m_follows && key == "param_shapes"; // of the model file since 0.6.0
                return isOld ? kNoNode : m_composer.import(value);
            });
        const NodeId root = m_builder.dict();
        set(root, "optimizer_state_dict", wrapper());
        if (isStage0(m_source.kind)) { // the template is the model file
            const NodeId config = modelStates(m_graph).config;
            set(root, "ds_config", config == kNoNode ? m_builder.none() : m_composer.import(config));
        }
        set(root, "ds_version", m_builder.string(writtenVersion(m_source)));
        return root;
    }

    NodeId wrapper()
    {
        const NodeId out = m_builder.dict();
        for (const Key& key : keysOf(m_zero3)) {
            const bool isOf = !m_follows && (key.inBf16 || !hasBf16Optimizer(m_context->target.kind));
            if (const NodeId value = isOf ? (this->*key.make)() : kNoNode; value != kNoNode)
                set(out, key.name, value);
        }
        m_composer.addEntries(out, m_old.wrapper, [&](std::string_view name, NodeId value) {
            const Key* key = find(name, m_zero3);
            if (m_follows) {
                const NodeId made = key != nullptr && key->ofRanks ? (this->*key->make)() : kNoNode;
                return made != kNoNode ? made : m_composer.import(value);
            }
            if (m_source.merged && name == "universal_checkpoint_info") // AutoTP's is in both files
                return sliceRecord(m_composer, *m_context, value);
            const bool isInterpreted = key != nullptr || find(name, !m_zero3) != nullptr
                || describesShards(name) || keepsScalerKeys(m_source);
            return isInterpreted ? kNoNode : m_composer.import(value);
        });
        return out;
    }

    NodeId scaler() { return scalerObject(m_composer, m_source); }
    NodeId clipping() { return carried(m_old.clipGrad); }
    NodeId version() { return m_builder.string(writtenVersion(m_source)); }
    NodeId mappings() { return sliceMappings(m_composer, *m_context, m_rank); }
    NodeId alignments() { return alignmentPaddings(m_composer, *m_context); }

    NodeId overflow()
    {
        return m_old.lossScaler != kNoNode ? carried(m_old.overflow) : m_builder.boolean(false);
    }

    NodeId dynamicScale()
    {
        const bool isKept = keepsScalerKeys(m_source) && m_old.dynamicLossScale != kNoNode;
        return m_old.lossScaler != kNoNode || isKept ? carried(m_old.dynamicLossScale)
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

    /// The rank's own unit at a number: of a param group, or of a sub-group.
    [[nodiscard]] const FlatUnit& unitAt(uint32_t number) const
    {
        return *m_context->target.units[m_units[number]];
    }

    [[nodiscard]] uint32_t groupCount() const
    {
        return static_cast<uint32_t>(m_zero3 ? m_source.groups.size() : m_units.size());
    }

    /// The numbers of the units of a param group: its own, or those of its sub-groups.
    [[nodiscard]] std::vector<uint32_t> numbersOf(uint32_t g) const
    {
        return m_zero3 ? m_context->target.subGroupsOfGroup[g] : std::vector{g};
    }

    NodeId optimizerState()
    {
        std::vector<TorchGroup> groups;
        for (uint32_t g = 0; g < groupCount(); ++g) {
            const size_t from = m_context->target.sourceGroup(static_cast<int32_t>(g));
            const NodeId first = sourceEntry(m_source, from);
            TorchGroup& group = groups.emplace_back(TorchGroup{m_source.groups[from].options, {}});
            for (const uint32_t number : numbersOf(g))
                group.entries.emplace_back(
                    number, stateEntry(m_parts, unitAt(number), first, [&](uint32_t state) {
                        return flatTensor(m_composer, m_context, m_units[number], state, m_rank, false);
                    }));
        }
        const TorchState made = torchState(m_parts, groups, m_context->target.expertRanks);
        if (!m_follows)
            return made.in(m_builder);
        return m_composer.importChanged(m_zero3 ? m_old.torchState : m_old.baseState,
            ArchiveComposer::Changes{{"state", made.state}, {"param_groups", made.paramGroups}});
    }

    NodeId masters()
    {
        const NodeId list = m_zero3 ? m_old.flatGroups : m_old.masters;
        const auto old = sequenceItems(m_graph, list);
        const auto first = asTensor(m_graph, old.empty() ? list : old.front());
        std::vector<NodeId> out;
        for (const uint32_t unit : m_units)
            out.push_back(flatTensor(
                m_composer, m_context, unit, 0, m_rank, !m_follows || (first && first->requiresGrad)));
        return m_builder.list(out);
    }

    /// ZeRO-1/2: a list by param group; ZeRO-3 and old releases: one number.
    NodeId partitionCount()
    {
        if (m_zero3 || (m_follows && m_graph.kind(m_old.partitionCount) == NodeKind::Int))
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
    OptimParts m_parts;
    OptimStates m_old; ///< of the template
    bool m_zero3;
    bool m_follows; ///< the source's stage and form stay
};

} // namespace

Result<OutputFile> composeOptimFile(
    const std::shared_ptr<const ReshardContext>& context, uint32_t rank, const std::string& name)
{
    return OptimFile(context, rank).compose(name);
}

} // namespace shardscope
