// SPDX-License-Identifier: Apache-2.0
#include "tests/core/partition/naive_partition.h"

#include <algorithm>

namespace shardscope::oracle {

namespace {

void appendParam(std::vector<Slot>& flat, uint32_t param, uint64_t elements)
{
    for (uint64_t element = 0; element < elements; ++element)
        flat.push_back(std::pair(param, element));
}

} // namespace

Slots contiguous(const std::vector<uint64_t>& params, uint32_t ranks, uint32_t alignmentFactor,
    uint32_t parameterAlignment)
{
    std::vector<Slot> flat;
    for (uint32_t param = 0; param < params.size(); ++param) {
        appendParam(flat, param, params[param]);
        while (param + 1 < params.size() && flat.size() % parameterAlignment != 0)
            flat.push_back(std::nullopt);
    }
    while (flat.size() % (uint64_t{alignmentFactor} * ranks) != 0)
        flat.push_back(std::nullopt);
    Slots slots(ranks);
    for (size_t at = 0; at < flat.size(); ++at)
        slots[at / (flat.size() / ranks)].push_back(flat[at]);
    return slots;
}

Slots sliced(const std::vector<uint64_t>& params, uint32_t ranks)
{
    Slots slots(ranks);
    for (uint32_t param = 0; param < params.size(); ++param) {
        std::vector<Slot> flat;
        appendParam(flat, param, params[param]);
        while (flat.size() % ranks != 0)
            flat.push_back(std::nullopt);
        for (size_t at = 0; at < flat.size(); ++at)
            slots[at / (flat.size() / ranks)].push_back(flat[at]);
    }
    return slots;
}

FlatPiece pieceAround(
    const Slots& slots, uint32_t rank, uint64_t offset, const std::vector<uint64_t>& borders)
{
    const auto& buffer = slots[rank];
    const auto sameRun = [&](uint64_t left) { // left and left + 1 belong to one run
        if (std::find(borders.begin(), borders.end(), left + 1) != borders.end())
            return false;
        const Slot& a = buffer[left];
        const Slot& b = buffer[left + 1];
        return a.has_value() == b.has_value() && (!a || a->first == b->first);
    };
    uint64_t begin = offset;
    uint64_t end = offset + 1;
    while (begin > 0 && sameRun(begin - 1))
        --begin;
    while (end < buffer.size() && sameRun(end - 1))
        ++end;
    if (!buffer[begin])
        return {FlatPiece::kPadding, rank, 0, begin, end - begin};
    return {buffer[begin]->first, rank, buffer[begin]->second, begin, end - begin};
}

std::vector<SubGroupRange> subGroups(const std::vector<uint64_t>& params, uint32_t ranks, uint64_t size)
{
    uint64_t whole = 0;
    for (const uint64_t elements : params)
        whole += (elements + ranks - 1) / ranks;
    std::vector<SubGroupRange> groups;
    std::vector<uint32_t> open;
    uint64_t length = 0;
    for (uint32_t param = 0; param < params.size(); ++param) {
        open.push_back(param);
        length += (params[param] + ranks - 1) / ranks;
        const bool closes = size < whole && length >= size;
        if (closes || param + 1 == params.size()) {
            groups.push_back({open.front(), open.back() + 1});
            open.clear();
            length = 0;
        }
    }
    return groups;
}

} // namespace shardscope::oracle
