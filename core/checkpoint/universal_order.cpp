// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal_order.h"

#include "core/partition/round_robin.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <limits>

namespace shardscope {

OverlookedOrder::OverlookedOrder(const FlatUnit& unit, uint32_t ranks)
{
    const auto count = static_cast<uint32_t>(unit.params.size());
    const std::vector<uint32_t> places = roundRobinOrder(count, ranks);
    m_cut.resize(count);
    for (uint32_t position = 0; position < count; ++position) {
        m_cut[places[position]] = position;
        m_moves = m_moves || places[position] != position;
    }
    uint64_t listed = 0;
    uint64_t cut = 0;
    for (uint32_t i = 0; i < count; ++i) {
        m_listed.push_back(listed);
        m_cutStarts.push_back(cut);
        listed += unit.partition.paramElements(i);
        cut += unit.partition.paramElements(m_cut[i]);
    }
    m_listed.push_back(listed);
}

std::vector<MovedRun> OverlookedOrder::runsOf(uint32_t position) const
{
    std::vector<MovedRun> out;
    uint64_t at = m_listed[position];
    const uint64_t end = m_listed[position + size_t{1}];
    auto next = std::upper_bound(m_cutStarts.begin(), m_cutStarts.end(), at);
    while (at < end) {
        const auto cut = static_cast<size_t>(next - m_cutStarts.begin()) - 1;
        const uint64_t cutEnd = next == m_cutStarts.end() ? m_listed.back() : *next;
        const uint64_t elements = std::min(end, cutEnd) - at;
        if (elements > 0)
            out.push_back({m_cut[cut], at - m_cutStarts[cut], elements});
        at += elements;
        if (at < end)
            ++next;
    }
    return out;
}

std::optional<uint32_t> convertedRanks(const Checkpoint& universal)
{
    const TorchFile* model
        = universal.rank0Model == kNoFile ? nullptr : universal.file(universal.rank0Model).content.get();
    if (model == nullptr)
        return std::nullopt;
    const PickleGraph& graph = model->pickle();
    const auto ranks = asInteger(graph, lookup(graph, graph.root(), "dp_world_size"));
    return ranks && *ranks > 1 && *ranks < std::numeric_limits<uint32_t>::max()
        ? std::optional(static_cast<uint32_t>(*ranks))
        : std::nullopt;
}

} // namespace shardscope
