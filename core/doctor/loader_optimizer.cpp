// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/checkpoint/model/zero_paddings.h"
#include "core/doctor/loader_checks.h"
#include "core/doctor/saved_facts.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

namespace shardscope {

namespace {

using Id = LoaderCheckId;

/// Whether packaging.version.parse() accepts it, except for the order of its parts.
bool isVersion(std::string_view text)
{
    if (text.starts_with('v'))
        text.remove_prefix(1);
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && isDigit(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
        return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
            || std::string_view(".+!_-").find(c) != std::string_view::npos;
    });
}

/// The paddings that files record. Most ranks have the same units, and each unit up to all parameters.
class PaddingsByUnits
{
public:
    explicit PaddingsByUnits(const Checkpoint& part)
        : m_part(part)
    {
    }

    const ExpectedPaddings& of(const std::vector<UnitId>& units)
    {
        const auto found = m_made.find(units);
        return found != m_made.end() ? found->second : m_made.try_emplace(units, m_part, units).first->second;
    }

private:
    const Checkpoint& m_part;
    std::map<std::vector<UnitId>, ExpectedPaddings> m_made;
};

class OptimizerFileChecks
{
public:
    OptimizerFileChecks(const Checkpoint& part, const OptimStates& file, uint32_t rank,
        PaddingsByUnits& paddings, std::vector<LoaderViolation>& out)
        : m_part(part)
        , m_file(file)
        , m_graph(*file.graph)
        , m_rank(rank)
        , m_paddings(paddings)
        , m_out(out)
    {
    }

    void run()
    {
        if (isUnknown(m_part.kind))
            return checkUnknown();
        if (!isMapping(m_graph, m_file.wrapper))
            return; // rank-foreign
        if (partitionsParameters(m_part.kind))
            checkZero3();
        else
            checkZero12();
    }

private:
    void add(Id check, std::string what) { m_out.push_back({check, std::move(what), m_file.file->name}); }

    /// The files of all ranks lack the keys that show the stage.
    void checkUnknown()
    {
        if (m_file.wrapper == kNoNode)
            add(Id::OptimizerKey, "the file does not have the key `optimizer_state_dict`");
        else if (isMapping(m_graph, m_file.wrapper) && m_file.masters == kNoNode)
            add(Id::Masters,
                "the file has neither the key `single_partition_of_fp32_groups` nor `fp32_flat_groups`");
    }

    void checkZero12()
    {
        checkVersion();
        if (m_file.baseState == kNoNode)
            add(Id::BaseOptimizer, "the file does not have the key `base_optimizer_state`");
        else if (m_graph.kind(m_file.baseState) != NodeKind::List) {
            const TorchOptimizer base = torchOptimizer(m_graph, m_file.baseState);
            const auto masters = sequenceItems(m_graph, m_file.masters);
            checkGroups(base.paramGroups, masters.size());
            checkMoments(base.state, masters);
        }
        if (!hasBf16Optimizer(m_part.kind) && hasLayout()
            && !m_paddings.of(m_part.unitsOn({m_rank, m_part.place.tp, m_part.place.pp})).areIn(m_graph))
            add(Id::AlignmentPaddings,
                "`param_alignment_paddings` is not the list of the paddings behind each parameter");
    }

    /// Releases before 0.4.0 wrote no version into any file.
    void checkVersion()
    {
        if (m_part.deepspeedVersion.empty())
            return;
        const auto text = asString(m_graph, m_file.version);
        if (!text || text->empty())
            add(Id::ShardVersion, "`ds_version` of the optimizer's state is missing or empty");
        else if (!isVersion(*text))
            add(Id::ShardVersion, "`ds_version` of the optimizer's state is not a version");
    }

    void checkGroups(NodeId paramGroups, size_t masters)
    {
        const auto groups = sequenceItems(m_graph, paramGroups);
        if (groups.size() != masters)
            add(Id::BaseOptimizerGroups,
                "`base_optimizer_state` has " + std::to_string(groups.size())
                    + " param groups, but there are " + std::to_string(masters) + " partitions of masters");
        for (const NodeId group : groups) {
            const size_t count = paramsOf(group).size();
            if (count != 1)
                return add(Id::BaseOptimizerParams,
                    "a param group of `base_optimizer_state` lists " + std::to_string(count)
                        + " parameters instead of one flat buffer");
        }
    }

    [[nodiscard]] std::span<const NodeId> paramsOf(NodeId group) const
    {
        return sequenceItems(m_graph, readGroupOptions(m_graph, group).params);
    }

    /// The elements of a tensor with one dimension.
    [[nodiscard]] std::optional<uint64_t> elementsOf(NodeId node) const
    {
        if (node == kNoNode)
            return std::nullopt;
        const auto tensor = asTensor(m_graph, node);
        return tensor && tensor->sizes.size() == 1 ? tensor->elements() : std::nullopt;
    }

    /// Adam's moments have an element for each master, and for the padding of the partition, which is not
    /// saved with masters. ZenFlow keeps moments for chosen columns.
    void checkMoments(NodeId states, std::span<const NodeId> masters)
    {
        const auto paddings = sequenceItems(m_graph, m_file.groupPaddings);
        if (isOfZenflow(m_part) || paddings.size() != masters.size())
            return; // early releases do not record paddings
        for (size_t i = 0; i < masters.size(); ++i) {
            const NodeId state = lookup(m_graph, states, static_cast<int64_t>(i));
            const auto saved = elementsOf(masters[i]);
            const int64_t padding = asInteger(m_graph, paddings[i]).value_or(-1);
            const auto padded
                = saved && padding >= 0 ? checkedAdd(*saved, static_cast<uint64_t>(padding)) : std::nullopt;
            for (const std::string_view key : {"exp_avg", "exp_avg_sq"}) {
                const auto elements = elementsOf(lookup(m_graph, state, key));
                if (!elements || !padded || *elements == *padded || *elements == *saved)
                    continue;
                return add(Id::StateLength,
                    "`" + std::string(key) + "` of param group " + std::to_string(i) + " has "
                        + std::to_string(*elements) + " elements, but its partition has "
                        + std::to_string(*padded));
            }
        }
    }

    void checkZero3()
    {
        const std::array<std::pair<std::string_view, NodeId>, 3> scaler{{{"loss_scaler", m_file.lossScaler},
            {"dynamic_loss_scale", m_file.dynamicLossScale}, {"overflow", m_file.overflow}}};
        for (const auto& [key, value] : scaler) {
            if (value == kNoNode)
                add(Id::Scaler, "the file does not have the key `" + std::string(key) + "`");
        }
        if (m_file.baseState != kNoNode)
            return; // elastic ZeRO-3, which another loader reads
        if (m_file.torchState == kNoNode)
            return add(Id::TorchOptimizer, "the optimizer's state does not have `optimizer_state_dict`");
        const TorchOptimizer torch = torchOptimizer(m_graph, m_file.torchState);
        const size_t masters = sequenceItems(m_graph, m_file.flatGroups).size();
        size_t listed = 0;
        for (const NodeId group : sequenceItems(m_graph, torch.paramGroups)) {
            const auto params = paramsOf(group);
            listed += params.size();
            checkSubGroupStates(torch.state, params);
        }
        if (listed != masters)
            add(Id::SubGroupParams,
                "the param groups list " + std::to_string(listed) + " sub-groups, but `fp32_flat_groups` has "
                    + std::to_string(masters));
        if (!hasLayout())
            return;
        const auto units = m_part.unitsOn({m_rank, m_part.place.tp, m_part.place.pp});
        const auto subGroups = static_cast<size_t>(std::count_if(units.begin(), units.end(),
            [&](UnitId id) { return m_part.units[index(id)].kind == UnitKind::SubGroup; }));
        if (masters != subGroups)
            add(Id::SubGroups,
                "`fp32_flat_groups` has " + std::to_string(masters) + " entries, but there are "
                    + std::to_string(subGroups) + " sub-groups");
    }

    /// A step creates the states of all sub-groups of a param group, or of none.
    void checkSubGroupStates(NodeId states, std::span<const NodeId> params)
    {
        std::optional<int64_t> missing;
        bool hasOther = false;
        for (const NodeId param : params) {
            const auto id = asInteger(m_graph, param);
            if (!id)
                return;
            if (lookup(m_graph, states, *id) != kNoNode)
                hasOther = true;
            else if (!missing)
                missing = *id;
        }
        if (missing && hasOther && !isOfZenflow(m_part))
            add(Id::SubGroupState,
                "`state` does not have the key " + std::to_string(*missing)
                    + ", but other sub-groups of its param group have states");
    }

    /// Whether the file can be compared with the layout. Another finding reports foreign files.
    [[nodiscard]] bool hasLayout() const
    {
        return !m_part.modelError && m_file.file->status == FileStatus::Ok;
    }

    const Checkpoint& m_part;
    OptimStates m_file;
    const PickleGraph& m_graph;
    uint32_t m_rank;
    PaddingsByUnits& m_paddings;
    std::vector<LoaderViolation>& m_out;
};

} // namespace

void checkOptimizerFiles(const Checkpoint& part, std::vector<LoaderViolation>& out)
{
    if (!hasRankFiles(part.kind) && !isUnknown(part.kind))
        return;
    PaddingsByUnits paddings(part);
    for (uint32_t rank = 0; rank < part.optimFiles.size(); ++rank) {
        if (part.optimFiles[rank] == kNoFile)
            continue;
        const OptimStates file = optimStates(part.file(part.optimFiles[rank]));
        if (file && (file.file->status == FileStatus::Ok || file.file->status == FileStatus::Foreign))
            OptimizerFileChecks(part, file, rank, paddings, out).run();
    }
}

void checkUniversalOptimizer(const Checkpoint& checkpoint, std::vector<LoaderViolation>& out)
{
    const OptimStates file = optimStates(checkpoint);
    if (!file || !isMapping(*file.graph, file.graph->root()))
        return;
    const auto add = [&](Id check, std::string what, bool bySomeEngines = false) {
        out.push_back({check, std::move(what), file.file->name, bySomeEngines});
    };
    const PickleGraph& graph = *file.graph;
    const auto version = asString(graph, file.version);
    const bool hasVersion = version && isVersion(*version);
    const bool hasGroups = file.paramGroups != kNoNode;
    const bool isForZero3 = file.torchState != kNoNode;
    // BF16_Optimizer saves no loss scaler (bf16_optimizer.py, state_dict); all other ZeRO optimizers do.
    const bool isOfBf16Optimizer = file.lossScaler == kNoNode;
    // ds_to_universal copies all of ZeRO-3's state. It never has a version, and only ZeRO-3 loads it.
    const bool isOnlyForZero3 = isForZero3 && (!hasGroups || file.flatGroups != kNoNode);
    if (!hasVersion && !isOnlyForZero3)
        add(Id::UniversalVersion,
            "`ds_version` is missing or not a version: engines with DeepSpeed's ZeRO-1/2 optimizer refuse "
            "the folder; BF16_Optimizer and ZeRO-3 do not read the key",
            isForZero3 || isOfBf16Optimizer);
    if (hasVersion && hasGroups)
        return; // the loader of stages 1 and 2 needs no more
    if (!isForZero3) {
        if (!hasGroups)
            add(Id::UniversalGroups, "the file does not have the key `param_groups`");
        return;
    }
    const TorchOptimizer torch = torchOptimizer(graph, file.torchState);
    if (sequenceItems(graph, torch.paramGroups).empty())
        add(Id::UniversalGroups, "`optimizer_state_dict` does not have `param_groups`");
    if (lookup(graph, lookup(graph, torch.state, int64_t{0}), "step") == kNoNode)
        add(Id::UniversalStep, "`optimizer_state_dict` does not have `step` in its `state[0]`");
}

} // namespace shardscope
