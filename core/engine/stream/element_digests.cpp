// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/element_digests.h"

namespace shardscope {

ElementDigests::ElementDigests(const std::vector<PlanTensor>& tensors)
    : m_claimed(tensors.size())
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

void ElementDigests::claim(
    uint32_t tensor, uint64_t firstElement, std::span<const uint8_t> bytes, SumBatch& batch)
{
    const uint32_t item = m_itemBytes[tensor];
    m_claimed.claim(
        tensor, firstElement, firstElement + bytes.size() / item, [&](uint64_t begin, uint64_t end) {
            batch.sums.push_back({m_keys[tensor], item, m_orders[tensor], begin,
                bytes.subspan((begin - firstElement) * item, (end - begin) * item), {}});
            batch.tensors.push_back(tensor);
        });
}

void ElementDigests::add(SumBatch& batch)
{
    for (size_t i = 0; i < batch.sums.size(); ++i) {
        const std::lock_guard lock(m_locks[batch.tensors[i] % kLocks]);
        m_sums[batch.tensors[i]] += batch.sums[i].digest;
    }
    batch.sums.clear();
    batch.tensors.clear();
}

} // namespace shardscope
