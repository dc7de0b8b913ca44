// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/elastic_zero3.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/model_header.h"

#include <algorithm>
#include <span>

namespace shardscope {

namespace {

constexpr std::string_view kStates = "base_optimizer_state";

/// Number of param groups in the learning-rate scheduler. 0 if it does not record them.
size_t scheduledGroups(const Reading& reading)
{
    if (reading.content(reading.out.templateModel) == nullptr)
        return 0;
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const NodeId scheduler = lookup(graph, reading.modelRoot, "lr_scheduler");
    if (!isMapping(graph, scheduler))
        return 0;
    for (const char* list : {"_last_lr", "base_lrs"}) {
        if (const auto rates = sequenceItems(graph, lookup(graph, scheduler, list)); !rates.empty())
            return rates.size();
    }
    return 0;
}

uint64_t elementsPerRank(const std::vector<NamedShape>& subGroup, uint32_t ranks)
{
    uint64_t sum = 0;
    for (const NamedShape& entry : subGroup) {
        const uint64_t elements = elementCount(entry.shape).value_or(0);
        sum += elements / ranks + (elements % ranks != 0 ? 1 : 0);
    }
    return sum;
}

/// Groups of consecutive sub-groups. Each group has as many parameters as its state lists tensors.
std::optional<std::vector<GroupEntry>> groupsFromLists(
    const ShapeLists& subGroups, const PickleGraph& graph, std::span<const NodeId> entries)
{
    std::vector<GroupEntry> out;
    size_t next = 0;
    for (const NodeId entry : entries) {
        size_t left = 0;
        const auto states = mappingItems(graph, entry);
        for (size_t i = 0; i + 1 < states.size(); i += 2) {
            if (!looksLikeTensor(graph, states[i + 1]))
                left = std::max(left, sequenceItems(graph, states[i + 1]).size());
        }
        out.emplace_back();
        while (left > 0) {
            if (next == subGroups.size() || subGroups[next].size() > left || subGroups[next].empty())
                return std::nullopt;
            left -= subGroups[next].size();
            out.back().stateKeys.push_back(static_cast<int64_t>(next++));
        }
    }
    return next == subGroups.size() ? std::optional(std::move(out)) : std::nullopt;
}

/// One rank's parts of the parameters. Its file has one tensor or several.
class RankSlices
{
public:
    RankSlices(const Reading& reading, const FlatUnit& unit, uint32_t rank)
        : m_reading(reading)
        , m_partition(unit.partition)
        , m_rank(rank)
        , m_params(static_cast<uint32_t>(unit.params.size()))
    {
    }

    /// Empty on success, else the reason why they are missing.
    std::string read(const RankStates& source, NodeId value)
    {
        const PickleGraph& graph = m_reading.content(source.file)->pickle();
        return looksLikeTensor(graph, value) ? readFlat(source, value) : readList(source, value);
    }

    [[nodiscard]] DType dtype() const { return m_dtype; }
    std::vector<SliceMap::Slice> take() { return std::move(m_slices); }

private:
    [[nodiscard]] uint64_t first(uint32_t param) const
    {
        return std::min(m_rank * m_partition.sliceElements(param), m_partition.paramElements(param));
    }
    [[nodiscard]] uint64_t payload(uint32_t param) const
    {
        return std::min(m_partition.sliceElements(param), m_partition.paramElements(param) - first(param));
    }

    void add(uint32_t param, StoredRun run)
    {
        run.elements = payload(param);
        m_slices.push_back({run, first(param)});
    }

    /// Reads a single tensor: padded like the masters, or the payload back to back.
    std::string readFlat(const RankStates& source, NodeId value)
    {
        const auto run = flatRun(m_reading, source.file, value, m_dtype);
        if (!run)
            return "it is not a flat tensor";
        const bool padded = run->elements == m_partition.partitionElements();
        if (!padded && run->elements != m_partition.payloadOn(m_rank))
            return "it has " + std::to_string(run->elements) + " elements where the layout has "
                + std::to_string(m_partition.payloadOn(m_rank)) + ", and "
                + std::to_string(m_partition.partitionElements()) + " with padding";
        uint64_t at = 0;
        for (uint32_t param = 0; param < m_params; ++param) {
            StoredRun slice = *run;
            slice.byteOffset += (padded ? m_partition.paramStart(param) : at) * itemSize(m_dtype);
            at += payload(param);
            add(param, slice);
        }
        return {};
    }

    std::string readList(const RankStates& source, NodeId value)
    {
        const auto items = sequenceItems(m_reading.content(source.file)->pickle(), value);
        const uint32_t from = source.firstSlice.value_or(0);
        if (items.size() < from || items.size() - from < m_params)
            return "it lists " + std::to_string(items.size()) + " tensors, and parameters up to the "
                + std::to_string(from + m_params) + "th are asked for";
        for (uint32_t param = 0; param < m_params; ++param) {
            StoredRun run{source.file, StoredRun::kNoRecord, 0, 0};
            if (payload(param) > 0) {
                DType dtype = DType::Unknown;
                const auto stored = flatRun(m_reading, source.file, items[from + param], dtype);
                if (!stored || (m_dtype != DType::Unknown && dtype != m_dtype))
                    return "its tensors are not flat ones of one dtype";
                if (stored->elements < payload(param))
                    return "of a parameter it has " + std::to_string(stored->elements)
                        + " elements where the layout has " + std::to_string(payload(param));
                m_dtype = dtype;
                run = *stored;
            }
            add(param, run);
        }
        return {};
    }

    const Reading& m_reading;
    const FlatPartition& m_partition;
    uint32_t m_rank;
    uint32_t m_params;
    DType m_dtype = DType::Unknown; ///< Unknown while no element was found
    std::vector<SliceMap::Slice> m_slices;
};

NodeId valueOf(const Reading& reading, const RankStates& source, std::string_view name)
{
    return source.state == kNoNode || reading.content(source.file) == nullptr
        ? kNoNode
        : lookup(reading.content(source.file)->pickle(), source.state, name);
}

} // namespace

bool isElasticZero3(const PickleGraph& graph, NodeId wrapper)
{
    return lookup(graph, wrapper, kStates) != kNoNode;
}

std::vector<GroupEntry> elasticParamGroups(const PickleGraph& graph, NodeId wrapper)
{
    auto nested = readParamGroups(graph, lookup(graph, wrapper, "optimizer_state_dict"));
    return nested.empty() ? readParamGroups(graph, wrapper) : nested;
}

std::optional<std::vector<GroupEntry>> groupsFromSizes(
    const Reading& reading, const ShapeLists& subGroups, const PickleGraph& graph, NodeId wrapper)
{
    const auto entries = sequenceItems(graph, lookup(graph, wrapper, kStates));
    if (entries.size() != subGroups.size()) {
        if (auto listed = groupsFromLists(subGroups, graph, entries))
            return listed;
    }
    const auto size = modelStates(reading).subGroupSize(); // per rank, of a complete sub-group
    std::vector<bool> mayGoOn; // whether the group may continue there
    for (size_t i = 0; i < subGroups.size(); ++i)
        mayGoOn.push_back(
            i + 1 < subGroups.size() && (!size || elementsPerRank(subGroups[i], reading.worldSize) >= *size));
    const auto open = static_cast<size_t>(std::count(mayGoOn.begin(), mayGoOn.end(), true));
    const size_t recorded = entries.size() != subGroups.size() ? entries.size() : scheduledGroups(reading);
    const bool canContinue = open > 0 && recorded == subGroups.size() - open;
    if (open > 0 && !canContinue && recorded != subGroups.size())
        return std::nullopt;
    std::vector<GroupEntry> out;
    for (size_t i = 0; i < subGroups.size(); ++i) {
        if (i == 0 || !canContinue || !mayGoOn[i - 1])
            out.emplace_back();
        out.back().stateKeys.push_back(static_cast<int64_t>(i));
    }
    return out;
}

ElasticEntry elasticEntry(const PickleGraph& graph, NodeId wrapper, uint32_t subGroup,
    const std::vector<GroupEntry>& groups, const std::vector<uint32_t>& counts)
{
    const auto entries = sequenceItems(graph, lookup(graph, wrapper, kStates));
    if (entries.size() == counts.size())
        return {entries[subGroup], 0};
    if (entries.size() != groups.size())
        return {};
    for (size_t g = 0; g < groups.size(); ++g) {
        uint32_t before = 0;
        for (const int64_t key : groups[g].stateKeys) {
            if (key == subGroup)
                return {entries[g], before};
            before += key >= 0 && static_cast<size_t>(key) < counts.size() ? counts[static_cast<size_t>(key)]
                                                                           : 0;
        }
    }
    return {};
}

bool keepsSlices(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name)
{
    return std::any_of(perRank.begin(), perRank.end(), [&](const RankStates& source) {
        const NodeId value = valueOf(reading, source, name);
        if (!source.firstSlice || value == kNoNode)
            return false;
        const PickleGraph& graph = reading.content(source.file)->pickle();
        if (!looksLikeTensor(graph, value)) {
            const auto items = sequenceItems(graph, value);
            return !items.empty() && looksLikeTensor(graph, items.front());
        }
        const auto tensor = asTensor(graph, value);
        return tensor && tensor->sizes.size() == 1 && name != "step"
            && tensor->sizes[0] != unit.partition.partitionElements();
    });
}

UnitState collectSlices(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    std::string_view name)
{
    UnitState state;
    state.name = std::string(name);
    state.dtype = DType::Unknown;
    state.perRank.resize(unit.partition.ranks());
    std::vector<SliceMap::Slice> all;
    for (uint32_t rank = 0; rank < state.perRank.size(); ++rank) {
        const RankStates& source = perRank[rank];
        RankSlices slices(reading, unit, rank);
        if (source.file != kNoFile && reading.content(source.file) != nullptr) {
            const NodeId value = valueOf(reading, source, name);
            std::string why = value == kNoNode ? "it is missing on this rank" : slices.read(source, value);
            if (why.empty() && state.dtype != DType::Unknown && slices.dtype() != DType::Unknown
                && slices.dtype() != state.dtype)
                why = "it has another dtype than on the ranks before";
            if (!why.empty())
                reading.add(value == kNoNode ? code::kStateMissing : code::kStateLength, Severity::Error,
                    "state `" + state.name + "` cannot be used: " + why,
                    flatAddressOf(reading.out, unit, rank, 0, state.name));
            else
                state.perRank[rank] = {source.file, StoredRun::kNoRecord, 0, 0};
        }
        auto parts = slices.take();
        parts.resize(unit.params.size());
        if (state.dtype == DType::Unknown)
            state.dtype = slices.dtype();
        std::move(parts.begin(), parts.end(), std::back_inserter(all));
    }
    state.elements = std::make_shared<const SliceMap>(std::move(all), unit.params.size());
    if (state.dtype == DType::Unknown) // no rank has an element
        state.dtype = unit.states.front().dtype;
    return state;
}

} // namespace shardscope
