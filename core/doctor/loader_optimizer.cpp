// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/loader_checks.h"

#include "core/checkpoint/zero_paddings.h"
#include "core/doctor/saved_facts.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

using Id = LoaderCheckId;

/// Whether packaging.version.parse() takes it, but for the order of its parts.
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

class OptimizerFileChecks
{
public:
    OptimizerFileChecks(
        const Checkpoint& part, const SavedFile& file, uint32_t rank, std::vector<LoaderViolation>& out)
        : m_part(part)
        , m_file(file)
        , m_graph(*file.graph)
        , m_rank(rank)
        , m_out(out)
    {
    }

    void run()
    {
        const NodeId wrapper = m_file.at({"optimizer_state_dict"});
        if (wrapper == kNoNode || !isMapping(m_graph, wrapper))
            return; // rank-foreign
        if (m_part.kind == CheckpointKind::Zero3)
            checkZero3(wrapper);
        else
            checkZero12(wrapper);
    }

private:
    void add(Id check, std::string what) { m_out.push_back({check, std::move(what), m_file.file->name}); }

    void checkZero12(NodeId wrapper)
    {
        checkVersion(wrapper);
        const NodeId base = lookup(m_graph, wrapper, "base_optimizer_state");
        if (base == kNoNode)
            add(Id::BaseOptimizer, "the file does not have the key `base_optimizer_state`");
        else if (m_graph.kind(base) != NodeKind::List)
            checkGroups(base,
                sequenceItems(m_graph, lookup(m_graph, wrapper, "single_partition_of_fp32_groups")).size());
        if (m_part.kind != CheckpointKind::Bf16 && hasLayout()
            && !recordsPaddingsOf(
                m_graph, m_part, m_part.unitsOn({m_rank, m_part.place.tp, m_part.place.pp})))
            add(Id::AlignmentPaddings,
                "`param_alignment_paddings` is not the list of the paddings behind each parameter");
    }

    /// Releases before 0.4.0 wrote no version, into no file.
    void checkVersion(NodeId wrapper)
    {
        if (m_part.deepspeedVersion.empty())
            return;
        const NodeId node = lookup(m_graph, wrapper, "ds_version");
        const auto text = node == kNoNode ? std::nullopt : asString(m_graph, node);
        if (!text || text->empty())
            add(Id::ShardVersion, "`ds_version` of the optimizer's state is missing or empty");
        else if (!isVersion(*text))
            add(Id::ShardVersion, "`ds_version` of the optimizer's state is not a version");
    }

    void checkGroups(NodeId base, size_t masters)
    {
        const auto groups = sequenceItems(m_graph, lookup(m_graph, base, "param_groups"));
        if (groups.size() != masters)
            add(Id::BaseOptimizerGroups,
                "`base_optimizer_state` has " + std::to_string(groups.size()) + " param groups, and "
                    + std::to_string(masters) + " partitions of masters are there");
        for (const NodeId group : groups) {
            const size_t count = sequenceItems(m_graph, lookup(m_graph, group, "params")).size();
            if (count != 1)
                return add(Id::BaseOptimizerParams,
                    "a param group of `base_optimizer_state` lists " + std::to_string(count)
                        + " parameters, where the flat buffer is one");
        }
    }

    void checkZero3(NodeId wrapper)
    {
        static constexpr std::array<std::string_view, 3> kScaler{
            "loss_scaler", "dynamic_loss_scale", "overflow"};
        for (const std::string_view key : kScaler) {
            if (lookup(m_graph, wrapper, key) == kNoNode)
                add(Id::Scaler, "the file does not have the key `" + std::string(key) + "`");
        }
        const NodeId torchState = lookup(m_graph, wrapper, "optimizer_state_dict");
        if (lookup(m_graph, wrapper, "base_optimizer_state") != kNoNode)
            return; // elastic ZeRO-3, which another loader reads
        if (torchState == kNoNode)
            return add(Id::TorchOptimizer, "the optimizer's state does not have `optimizer_state_dict`");
        const size_t masters = sequenceItems(m_graph, lookup(m_graph, wrapper, "fp32_flat_groups")).size();
        size_t listed = 0;
        for (const NodeId group : sequenceItems(m_graph, lookup(m_graph, torchState, "param_groups")))
            listed += sequenceItems(m_graph, lookup(m_graph, group, "params")).size();
        if (listed != masters)
            add(Id::SubGroupParams,
                "the param groups list " + std::to_string(listed) + " sub-groups, and `fp32_flat_groups` has "
                    + std::to_string(masters));
        if (!hasLayout())
            return;
        const auto units = m_part.unitsOn({m_rank, m_part.place.tp, m_part.place.pp});
        const auto subGroups = static_cast<size_t>(std::count_if(units.begin(), units.end(),
            [&](UnitId id) { return m_part.units[index(id)].kind == UnitKind::SubGroup; }));
        if (masters != subGroups)
            add(Id::SubGroups,
                "`fp32_flat_groups` has " + std::to_string(masters) + " entries, and there are "
                    + std::to_string(subGroups) + " sub-groups");
    }

    /// Whether the file can be compared with the layout: a foreign one has a finding of its own.
    [[nodiscard]] bool hasLayout() const
    {
        return !m_part.modelError && m_file.file->status == FileStatus::Ok;
    }

    const Checkpoint& m_part;
    SavedFile m_file;
    const PickleGraph& m_graph;
    uint32_t m_rank;
    std::vector<LoaderViolation>& m_out;
};

} // namespace

void checkOptimizerFiles(const Checkpoint& part, std::vector<LoaderViolation>& out)
{
    for (uint32_t rank = 0; rank < part.optimFiles.size(); ++rank) {
        const SavedFile file = savedFile(part, part.optimFiles[rank]);
        if (file && (file.file->status == FileStatus::Ok || file.file->status == FileStatus::Foreign))
            OptimizerFileChecks(part, file, rank, out).run();
    }
}

void checkUniversalOptimizer(const Checkpoint& checkpoint, std::vector<LoaderViolation>& out)
{
    const SavedFile file = savedOptimizer(checkpoint);
    if (!file || !isMapping(*file.graph, file.graph->root()))
        return;
    // What ds_to_universal makes of ZeRO-3 has the nested mapping and no version, and loads into ZeRO-3.
    const bool isForZero3 = file.at({"optimizer_state_dict"}) != kNoNode;
    if (file.at({"param_groups"}) == kNoNode)
        out.push_back(
            {Id::UniversalGroups, "the file does not have the key `param_groups`", file.file->name});
    const NodeId version = file.at({"ds_version"});
    const auto text = version == kNoNode ? std::nullopt : asString(*file.graph, version);
    if (!isForZero3 && (!text || !isVersion(*text)))
        out.push_back({Id::UniversalVersion, "`ds_version` is missing or not a version", file.file->name});
}

} // namespace shardscope
