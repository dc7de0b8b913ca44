// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/zero3_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/swap/swap.h"
#include "core/checkpoint/units/elastic_zero3.h"
#include "core/checkpoint/units/expert_families.h"
#include "core/checkpoint/units/old_shapes.h"
#include "core/checkpoint/units/other_values.h"
#include "core/checkpoint/units/rank_model_files.h"
#include "core/checkpoint/units/unit_states.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

/// Whether a rank's file records these sub-groups for its family. True if the file is missing.
bool agrees(const Reading& reading, const FusedExperts& fused, uint32_t rank, uint32_t subGroup,
    const ExpertFamilies& families)
{
    const TorchFile* content = reading.content(reading.out.optimFiles[rank]);
    if (content == nullptr)
        return true;
    const PickleGraph& graph = content->pickle();
    const auto entries = sequenceItems(graph, lookup(graph, wrapperOf(graph), "ds_zero_partition_groups"));
    if (subGroup >= entries.size())
        return false;
    const auto ranks = sequenceItems(graph, lookup(graph, entries[subGroup], "partition_ranks"));
    const uint32_t family = families.consecutive ? rank / families.ranksPerFamily : rank % families.count;
    if (ranks.size() != families.ranksPerFamily)
        return false;
    for (uint32_t i = 0; i < ranks.size(); ++i) {
        if (asInteger(graph, ranks[i])
            != int64_t{fused.stageRankOf(families.firstRank(family) + i * families.rankStride)})
            return false;
    }
    return true;
}

/// Which ranks share a sub-group of ZeRO-3 with AutoEP (fused_experts.h). All ranks share a sub-group without
/// experts. The ranks with the same experts share a sub-group of experts. `ds_zero_partition_groups` of every
/// rank's optimizer file records this (runtime/zero/stage3.py, _zero3_partition_group_metadata; 0.19.3 and
/// later).
///
/// Damaged if the shapes are not those of the layers' experts, or do not divide. Unsupported if experts share
/// a sub-group with other parameters. Unsupported, too, if such ranks are neither adjacent nor spaced by the
/// number of expert-parallel ranks.
Result<ExpertFamilies> subGroupFamilies(const Reading& reading, const FusedExperts& fused, uint32_t subGroup,
    const std::vector<NamedShape>& shapes)
{
    const std::string where = reading.out.tagFolder.string();
    ExpertFamilies out;
    out.ranksPerFamily = reading.worldSize;
    if (fused.isEmpty())
        return out;
    const auto isFused = [&](const NamedShape& entry) { return fused.layerOf(entry.name) != nullptr; };
    const bool holds = std::any_of(shapes.begin(), shapes.end(), isFused);
    if (holds && !std::all_of(shapes.begin(), shapes.end(), isFused))
        return fail(ErrorCode::Unsupported,
            "sub-group " + std::to_string(subGroup) + " has experts of AutoEP together with other parameters",
            where);
    if (holds) {
        for (const NamedShape& entry : shapes) {
            if (entry.shape.empty() || entry.shape.front() != fused.layerOf(entry.name)->localExperts)
                return fail(ErrorCode::Damaged,
                    "`" + toValidUtf8(entry.name)
                        + "` does not have the number of experts that `ds_autoep_layers` records",
                    where);
        }
        if (reading.worldSize % fused.families() != 0)
            return fail(ErrorCode::Damaged,
                std::to_string(reading.worldSize) + " ranks do not divide by "
                    + std::to_string(fused.families()) + " expert-parallel ranks",
                where);
        out.count = fused.families();
        out.ranksPerFamily = reading.worldSize / out.count;
        out.consecutive = familiesAreConsecutive(reading.out);
    }
    out.rankStride = out.consecutive ? 1 : out.count;
    for (uint32_t rank = 0; rank < reading.worldSize; ++rank) {
        if (!agrees(reading, fused, rank, subGroup, out))
            return fail(ErrorCode::Unsupported,
                "rank " + std::to_string(rank) + " shares sub-group " + std::to_string(subGroup)
                    + ", but not with the ranks that `ds_autoep_layers` and the configuration record",
                where);
    }
    return out;
}

/// Reads the files of DeepSpeedZeroOptimizer_Stage3 (runtime/zero/stage3.py, _rigid_state_dict).
class Zero3Reader
{
public:
    explicit Zero3Reader(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_fused(FusedExperts::of(reading.out))
    {
    }

    Status run()
    {
        reserveParameters(m_reading);
        SHARDSCOPE_TRY(const ShapeLists shapes, findParamShapes(m_reading));
        const FileId guide = guideOf(m_reading);
        if (guide == kNoFile)
            return fail(ErrorCode::Damaged, "no optimizer file of this checkpoint can be read",
                m_out.tagFolder.string());
        const Status units = readUnits(shapes, guide);
        m_reading.stop(units);
        readModule(m_reading, false); // is shown also without units
        SHARDSCOPE_CHECK(addFrozenUnits(m_reading));
        SHARDSCOPE_CHECK(units);
        readSubGroupSize();
        m_swapped = mapSwapFiles(m_reading);
        m_reading.stop(fillStates());
        if (std::string fold = m_fused.foldText(); !fold.empty())
            m_out.evidence.push_back(std::move(fold));
        return readOtherModelFiles(m_reading);
    }

private:
    [[nodiscard]] NodeId wrapper(FileId file) const
    {
        const PickleGraph& graph = m_reading.content(file)->pickle();
        return wrapperOf(graph);
    }

    Status readUnits(const ShapeLists& shapes, FileId guide)
    {
        const PickleGraph& graph = m_reading.content(guide)->pickle();
        const NodeId node = wrapper(guide);
        if (lookup(graph, node, "ds_zero_partition_groups") != kNoNode && m_fused.isEmpty())
            return fail(ErrorCode::Unsupported,
                "its sub-groups are partitioned over groups of their own, and no experts of "
                "AutoEP (`ds_autoep_layers`) explain this");
        m_elastic = isElasticZero3(graph, node);
        if (m_elastic)
            SHARDSCOPE_CHECK(
                refuseElastic(sequenceItems(graph, lookup(graph, node, "base_optimizer_state")).size()));
        return addUnits(shapes, guide);
    }

    Status refuseElastic(size_t entries)
    {
        const std::string what = "it has the elastic ZeRO-3 form, which no release of DeepSpeed writes, ";
        const bool swapped = std::any_of(m_out.files.begin(), m_out.files.end(),
            [](const CheckpointFile& file) { return file.role == FileRole::Swap; });
        if (entries == 0)
            return fail(ErrorCode::Unsupported, what + "and no list of states in it");
        if (swapped || m_reading.modelRanks > 1 || !m_fused.isEmpty())
            return fail(ErrorCode::Unsupported,
                what
                    + (swapped                  ? "with states in swap files"
                            : m_fused.isEmpty() ? "with several model-parallel ranks"
                                                : "with experts of AutoEP"));
        m_out.evidence.emplace_back("`base_optimizer_state` of ZeRO-3 is a list, as a pull request to "
                                    "DeepSpeed (#8031) describes and no release writes");
        return {};
    }

    /// The sub-groups of every param group, with the group's options if the file has them.
    [[nodiscard]] std::optional<std::vector<GroupEntry>> paramGroups(
        const ShapeLists& shapes, FileId guide) const
    {
        const PickleGraph& graph = m_reading.content(guide)->pickle();
        const NodeId node = wrapper(guide);
        if (!m_elastic)
            return readParamGroups(graph, lookup(graph, node, "optimizer_state_dict"));
        auto groups = elasticParamGroups(graph, node);
        if (groups.empty())
            return groupsFromSizes(m_reading, shapes, graph, node);
        return groups;
    }

    Status addUnits(const std::vector<std::vector<NamedShape>>& shapes, FileId guide)
    {
        const auto found = paramGroups(shapes, guide);
        if (!found)
            return fail(ErrorCode::Unsupported,
                "it has the elastic ZeRO-3 form without its param groups, and the sizes "
                "of its sub-groups do not determine which of them belong to one group");
        const auto& groups = *found;
        m_groups = groups;
        for (const auto& subGroup : shapes)
            m_counts.push_back(static_cast<uint32_t>(subGroup.size()));
        for (uint32_t g = 0; g < groups.size(); ++g) {
            ParamGroup group;
            group.index = g;
            if (guide == m_out.templateOptim)
                group.options = groups[g].options;
            m_out.groups.push_back(std::move(group));
        }
        for (uint32_t i = 0; i < shapes.size(); ++i) {
            const auto owner = std::find_if(groups.begin(), groups.end(), [&](const GroupEntry& group) {
                return std::find(group.stateKeys.begin(), group.stateKeys.end(), int64_t{i})
                    != group.stateKeys.end();
            });
            if (owner == groups.end())
                return fail(ErrorCode::Damaged,
                    "model file and optimizer files disagree about the number of sub-groups",
                    m_out.tagFolder.string(), "the files may come from different runs");
            SHARDSCOPE_TRY(const auto families, subGroupFamilies(m_reading, m_fused, i, shapes[i]));
            m_out.parallel.ep = std::max({m_out.parallel.ep, families.count, m_fused.ranks()});
            for (uint32_t family = 0; family < families.count; ++family)
                SHARDSCOPE_CHECK(
                    addUnit(shapes[i], i, static_cast<uint32_t>(owner - groups.begin()), families, family));
        }
        return {};
    }

    /// Adds one unit per sub-group. A sub-group of experts gets one per expert-parallel rank.
    Status addUnit(const std::vector<NamedShape>& shapes, uint32_t subgroup, uint32_t group,
        const ExpertFamilies& families, uint32_t family)
    {
        FlatUnit unit;
        unit.kind = UnitKind::SubGroup;
        unit.group = static_cast<int32_t>(group);
        unit.subgroup = subgroup;
        unit.firstRank = families.firstRank(family);
        unit.rankStride = families.rankStride;
        std::vector<uint64_t> elements;
        const UnitId unitId{static_cast<uint32_t>(m_out.units.size())};
        for (const NamedShape& entry : shapes) {
            std::string name = m_fused.layerOf(entry.name) != nullptr
                ? FusedExperts::nameOnRank(entry.name, m_fused.rankOf(family))
                : std::string(entry.name);
            SHARDSCOPE_CHECK(placeInNextUnit(m_reading, std::move(name), entry.shape, unit, elements));
        }
        SHARDSCOPE_TRY(unit.partition, FlatPartition::sliced(std::move(elements), families.ranksPerFamily));
        ParamGroup& owner = m_out.groups[group];
        owner.units.push_back(unitId);
        owner.parameters += unit.params.size();
        owner.elements += unit.partition.payloadElements();
        m_out.units.push_back(std::move(unit));
        return {};
    }

    void readSubGroupSize()
    {
        const uint64_t size = modelStates(m_reading).subGroupSize().value_or(kDefaultSubGroupSize);
        if (subGroupsMatch(size)) {
            m_out.subGroupSize = size;
            return;
        }
        // The stored configuration is the source run's. A Shardscope output with another layout has its own
        // sub-group size.
        const bool isRewritten = m_reading.files.stat(m_out.tagFolder / kManifestName).has_value();
        m_reading.add(code::kSubGroupSize, isRewritten ? Severity::Info : Severity::Warning,
            "the sub-groups on disk do not follow from the recorded sub_group_size; name it with "
            "--sub-group-size to reshard",
            m_out.file(m_out.templateModel).name, {"sub_group_size " + std::to_string(size)});
    }

    [[nodiscard]] bool subGroupsMatch(uint64_t size) const
    {
        for (const ParamGroup& group : m_out.groups) {
            std::vector<uint64_t> elements;
            std::vector<uint32_t> ends;
            uint32_t ranks = m_reading.worldSize;
            for (const UnitId id : group.units) {
                if (!m_out.units[index(id)].partitionRankOf(0))
                    continue; // experts of other ranks, partitioned like the first
                ranks = m_out.units[index(id)].partition.ranks();
                for (const ParamId param : m_out.units[index(id)].params)
                    elements.push_back(m_out.params[index(param)].elements);
                ends.push_back(static_cast<uint32_t>(elements.size()));
            }
            const auto ranges = splitIntoSubGroups(elements, ranks, size);
            const bool same = std::equal(ranges.begin(), ranges.end(), ends.begin(), ends.end(),
                [](const SubGroupRange& range, uint32_t end) { return range.end == end; });
            if (!same)
                return false;
        }
        return true;
    }

    Status fillStates()
    {
        for (FlatUnit& unit : m_out.units) {
            if (unit.kind != UnitKind::SubGroup)
                continue;
            std::vector<RankStates> perRank(unit.partition.ranks());
            for (uint32_t rank = 0; rank < perRank.size(); ++rank) {
                const FileId file = m_out.optimFiles[unit.dpRankOf(rank)];
                if (m_reading.content(file) == nullptr || m_out.file(file).status == FileStatus::Foreign)
                    continue;
                const PickleGraph& graph = m_reading.content(file)->pickle();
                const NodeId node = wrapper(file);
                const auto masters = sequenceItems(graph, lookup(graph, node, "fp32_flat_groups"));
                perRank[rank].file = file;
                perRank[rank].swapped = m_swapped.find(*unit.subgroup, unit.dpRankOf(rank));
                if (*unit.subgroup < masters.size())
                    perRank[rank].master = masters[*unit.subgroup];
                addState(graph, *unit.subgroup, node, perRank[rank]);
            }
            SHARDSCOPE_CHECK(requireShapesFit(m_reading, unit, perRank));
            fillUnitStates(m_reading, unit, perRank);
        }
        checkValuesOfGroups(m_reading);
        for (const FileId file : m_out.optimFiles) {
            if (m_reading.content(file) != nullptr && m_out.file(file).status != FileStatus::Foreign)
                checkOptimizerKeys(m_reading, file,
                    lookup(m_reading.content(file)->pickle(), wrapper(file), "optimizer_state_dict"));
        }
        return {};
    }

    void addState(const PickleGraph& graph, uint32_t subgroup, NodeId node, RankStates& states) const
    {
        if (!m_elastic) {
            const NodeId torchState = lookup(graph, node, "optimizer_state_dict");
            states.state = lookup(graph, lookup(graph, torchState, "state"), static_cast<int64_t>(subgroup));
            return;
        }
        const ElasticEntry entry = elasticEntry(graph, node, subgroup, m_groups, m_counts);
        states.state = entry.state;
        states.firstSlice = entry.firstSlice;
    }

    Reading& m_reading;
    Checkpoint& m_out;
    FusedExperts m_fused;
    std::vector<GroupEntry> m_groups;
    std::vector<uint32_t> m_counts; ///< parameters per sub-group
    bool m_elastic = false;
    SwapMap m_swapped;
};

} // namespace

Status readZero3(Reading& reading)
{
    return Zero3Reader(reading).run();
}

} // namespace shardscope
