// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal/universal_order.h"

#include "core/partition/round_robin.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <limits>

namespace shardscope {

OverlookedOrder::OverlookedOrder(const FlatUnit& unit, uint32_t ranks)
    : m_listed(unit.partition)
    , m_positions(unit.params.size())
{
    const auto count = static_cast<uint32_t>(unit.params.size());
    const std::vector<uint32_t> places = roundRobinOrder(count, ranks);
    std::vector<uint64_t> elements(count);
    for (uint32_t position = 0; position < count; ++position) {
        m_positions[places[position]] = position;
        elements[places[position]] = m_listed.paramElements(position);
    }
    if (auto converted
        = FlatPartition::contiguous(std::move(elements), 1, 1)) // the same elements as the unit
        m_converted = std::move(*converted);
}

std::vector<MovedRun> OverlookedOrder::runsOf(uint32_t position) const
{
    std::vector<MovedRun> out;
    const uint64_t begin = m_listed.paramStart(position);
    m_converted.forEachPiece(0, begin, begin + m_listed.paramElements(position), [&](const FlatPiece& piece) {
        out.push_back({m_positions[piece.param], piece.paramOffset, piece.elements});
        return true;
    });
    return out;
}

std::optional<uint32_t> convertedRanks(const Checkpoint& universal)
{
    const TorchFile* model = universal.templateModel == kNoFile
        ? nullptr
        : universal.file(universal.templateModel).content.get();
    if (model == nullptr)
        return std::nullopt;
    const PickleGraph& graph = model->pickle();
    const auto ranks = asInteger(graph, lookup(graph, graph.root(), "dp_world_size"));
    return ranks && *ranks > 1 && *ranks < std::numeric_limits<uint32_t>::max()
        ? std::optional(static_cast<uint32_t>(*ranks))
        : std::nullopt;
}

} // namespace shardscope
