// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/reading.h"

#include "core/base/finding_codes.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

/// Where the parameters of every unit lie when they stand in one certain order.
struct Order {
    std::vector<FlatPartition> partitions; ///< per unit
    std::vector<std::vector<uint32_t>> places; ///< per unit: position of each parameter of param_shapes
};

Order listedOrder(const Checkpoint& checkpoint)
{
    Order out;
    for (const FlatUnit& unit : checkpoint.units) {
        std::vector<uint32_t>& places = out.places.emplace_back(unit.params.size());
        std::iota(places.begin(), places.end(), 0u);
        out.partitions.push_back(unit.partition);
    }
    return out;
}

/// _round_robin_reorder of runtime/zero/stage_1_and_2.py puts parameters 0, N, 2N, … first, then 1, N + 1, ….
/// The flat buffers and param_shapes have that order; the mappings are recorded as if it were the one before.
Result<Order> orderBeforeRoundRobin(const Checkpoint& checkpoint, uint32_t ranks)
{
    Order out;
    for (const FlatUnit& unit : checkpoint.units) {
        const auto count = static_cast<uint32_t>(unit.params.size());
        std::vector<uint32_t>& places = out.places.emplace_back();
        std::vector<uint64_t> elements(count);
        for (uint32_t first = 0; first < std::min(ranks, count); ++first) {
            for (uint64_t before = first; before < count; before += ranks) {
                elements[before] = checkpoint.params[index(unit.params[places.size()])].elements;
                places.push_back(static_cast<uint32_t>(before));
            }
        }
        SHARDSCOPE_TRY(FlatPartition partition, FlatPartition::contiguous(std::move(elements), ranks));
        out.partitions.push_back(std::move(partition));
    }
    return out;
}

enum class Match { NothingRecorded, Fits, Differs };

class SliceMappings
{
public:
    explicit SliceMappings(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_listed(listedOrder(reading.out))
    {
        for (uint32_t rank = 0; rank < reading.worldSize; ++rank) {
            const FileId file = m_out.optimFiles[rank];
            if (reading.content(file) != nullptr && m_out.file(file).status != FileStatus::Foreign)
                m_usable.emplace_back(rank, file);
        }
    }

    void check()
    {
        std::vector<FileId> misfits;
        bool someFit = false;
        for (const auto& [rank, file] : m_usable) {
            const Match match = compare(m_listed, file, rank);
            someFit = someFit || match != Match::Differs;
            if (match == Match::Differs)
                misfits.push_back(file);
        }
        // The config alone is reason enough while the places do not contradict: a loader at another world size
        // would expect another order, and older releases may have recorded the places as they are.
        if (misfits.empty() ? configSaysRoundRobin() : roundRobinExplains())
            return refuseRoundRobin();
        if (misfits.empty())
            return;
        for (const FileId file : misfits) {
            const std::optional<uint32_t> owner = ownerOf(file);
            if (!owner && !someFit)
                return m_reading.noModel({ErrorCode::Damaged,
                    "the optimizer file records places of its parameters that the shapes of the model file "
                    "do not give, in no order that DeepSpeed has",
                    m_out.file(file).path.string(),
                    "model file and optimizer files may come from different runs"});
            m_out.files[index(file)].status = FileStatus::Foreign;
            m_reading.add(code::kRankForeign, Severity::Error,
                "the file records other places of its parameters than its rank has", m_out.file(file).name,
                {owner ? "they are those of rank " + std::to_string(*owner)
                       : "they are those of no rank of this checkpoint"});
        }
    }

private:
    void refuseRoundRobin()
    {
        m_reading.refuse("round_robin_gradients orders its parameters by the world size it was saved with");
    }

    /// Stages 1 and 2 heed the option (engine.py passes it to both), BF16_Optimizer does not; it changes nothing
    /// while no rank has two parameters of a group.
    [[nodiscard]] bool configSaysRoundRobin() const
    {
        const NodeId node = configValue(m_reading, {"zero_optimization", "round_robin_gradients"});
        const PickleGraph& graph = m_reading.content(m_out.rank0Model)->pickle();
        if (node == kNoNode || !asBool(graph, node).value_or(false) || m_out.kind == CheckpointKind::Bf16)
            return false;
        return m_reading.worldSize > 1
            && std::any_of(m_out.units.begin(), m_out.units.end(),
                [&](const FlatUnit& unit) { return unit.params.size() > m_reading.worldSize; });
    }

    /// Files that only the round-robin order explains, and none that only the other one does.
    bool roundRobinExplains()
    {
        const auto order = orderBeforeRoundRobin(m_out, m_reading.worldSize);
        if (!order)
            return false;
        bool explained = false;
        for (const auto& [rank, file] : m_usable) {
            const bool listed = compare(m_listed, file, rank) == Match::Fits;
            const bool before = compare(*order, file, rank) == Match::Fits;
            if (listed && !before)
                return false;
            explained = explained || (before && !listed);
        }
        return explained;
    }

    /// The rank whose places the file records.
    std::optional<uint32_t> ownerOf(FileId file)
    {
        for (uint32_t rank = 0; rank < m_reading.worldSize; ++rank) {
            if (compare(m_listed, file, rank) == Match::Fits)
                return rank;
        }
        return std::nullopt;
    }

    Match compare(const Order& order, FileId file, uint32_t rank)
    {
        const PickleGraph& graph = m_reading.content(file)->pickle();
        const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
        const auto mappings = sequenceItems(graph, lookup(graph, wrapper, "param_slice_mappings"));
        Match match = Match::NothingRecorded;
        for (uint32_t u = 0; u < mappings.size() && u < m_out.units.size(); ++u) {
            const auto items = mappingItems(graph, mappings[u]);
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const Match entry = compareEntry(graph, items[i], items[i + 1], order, u, rank);
                if (entry == Match::Differs)
                    return entry;
                match = std::max(match, entry);
            }
        }
        return match;
    }

    Match compareEntry(const PickleGraph& graph, NodeId nameNode, NodeId addressNode, const Order& order,
        uint32_t u, uint32_t rank)
    {
        const auto name = asString(graph, nameNode);
        const auto address = asObject(graph, addressNode);
        if (!name || !address)
            return Match::NothingRecorded;
        const auto numel = asInteger(graph, lookup(graph, address->attributes, "numel"));
        const auto start = asInteger(graph, lookup(graph, address->attributes, "start"));
        const auto id = m_out.findParam(*name);
        if (!numel || !start || !id)
            return Match::NothingRecorded;
        const Parameter& param = m_out.params[index(*id)];
        if (param.group != m_out.units[u].group)
            return Match::Differs;
        bool found = false;
        order.partitions[u].forEachFragment(
            order.places[u][param.indexInUnit], 0, param.elements, [&](const FlatPiece& piece) {
                if (piece.rank != rank)
                    return piece.rank < rank;
                found = piece.flatOffset == static_cast<uint64_t>(*start)
                    && piece.elements == static_cast<uint64_t>(*numel);
                return false;
            });
        return found || *numel == 0 ? Match::Fits : Match::Differs;
    }

    Reading& m_reading;
    Checkpoint& m_out;
    Order m_listed;
    std::vector<std::pair<uint32_t, FileId>> m_usable; ///< rank, its file
};

} // namespace

void checkSliceMappings(Reading& reading)
{
    SliceMappings(reading).check();
}

} // namespace shardscope
