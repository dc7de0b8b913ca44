// SPDX-License-Identifier: Apache-2.0
#include "core/engine/element_digests.h"

namespace shardscope {

ElementDigests::ElementDigests(const std::vector<PlanTensor>& tensors)
    : m_seen(tensors.size())
    , m_sums(tensors.size())
{
    m_keys.reserve(tensors.size());
    m_itemBytes.reserve(tensors.size());
    m_orders.reserve(tensors.size());
    for (const PlanTensor& tensor : tensors) {
        m_orders.push_back(tensor.order());
        m_keys.push_back(digestKey(tensor.name, tensor.state));
        m_itemBytes.push_back(static_cast<uint8_t>(itemSize(tensor.dtype)));
    }
}

void ElementDigests::add(uint32_t tensor, uint64_t firstElement, std::span<const uint8_t> bytes)
{
    const uint32_t item = m_itemBytes[tensor];
    std::mutex& mutex = m_locks[tensor % kLocks];
    // Mostly the whole of it is new; more parts than these only come from plans that overlap in many places.
    std::array<std::pair<uint64_t, uint64_t>, 8> parts;
    size_t count = 0;
    Digest sum;
    const auto digest = [&](uint64_t begin, uint64_t end) {
        const auto part = bytes.subspan((begin - firstElement) * item, (end - begin) * item);
        sum += m_orders[tensor] ? digestTransposed(m_keys[tensor], item, *m_orders[tensor], begin, part)
                                : digestElements(m_keys[tensor], item, begin, part);
    };
    {
        const std::lock_guard lock(mutex);
        m_seen[tensor].claim(
            firstElement, firstElement + bytes.size() / item, [&](uint64_t begin, uint64_t end) {
                if (count < parts.size())
                    parts[count++] = {begin, end};
                else
                    digest(begin, end);
            });
    }
    for (size_t i = 0; i < count; ++i)
        digest(parts[i].first, parts[i].second);
    const std::lock_guard lock(mutex);
    m_sums[tensor] += sum;
}

} // namespace shardscope
