// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/element_digests.h"

namespace shardscope {

void SumBatch::clear()
{
    sums.clear();
    tensors.clear();
    offsets.clear();
}

TensorKeys::TensorKeys(const std::vector<PlanTensor>& tensors)
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

ElementDigests::ElementDigests(const std::vector<PlanTensor>& tensors)
    : m_keys(tensors)
    , m_claimed(tensors.size())
    , m_sums(tensors.size())
{
}

void ElementDigests::claim(
    uint32_t tensor, uint64_t firstElement, uint64_t offset, std::span<const uint8_t> bytes, SumBatch& batch)
{
    const uint32_t item = itemBytes(tensor);
    m_claimed.claim(
        tensor, firstElement, firstElement + bytes.size() / item, [&](uint64_t begin, uint64_t end) {
            const uint64_t at = (begin - firstElement) * item;
            batch.sums.push_back(m_keys.sumOf(tensor, begin, bytes.subspan(at, (end - begin) * item)));
            batch.tensors.push_back(tensor);
            batch.offsets.push_back(offset + at);
        });
}

void ElementDigests::addSummed(uint32_t tensor, uint64_t first, uint64_t end, const Digest& digest,
    std::vector<std::pair<uint64_t, uint64_t>>& partial)
{
    partial.clear();
    m_claimed.claim(tensor, first, end, [&](uint64_t from, uint64_t to) { partial.emplace_back(from, to); });
    if (partial.size() != 1 || partial[0] != std::pair(first, end))
        return;
    partial.clear();
    addDigest(tensor, digest);
}

void ElementDigests::addDigest(uint32_t tensor, const Digest& digest)
{
    const std::lock_guard lock(m_locks[tensor % kLocks]);
    m_sums[tensor] += digest;
}

void ElementDigests::add(SumBatch& batch)
{
    for (size_t i = 0; i < batch.sums.size(); ++i)
        addDigest(batch.tensors[i], batch.sums[i].digest);
    batch.clear();
}

} // namespace shardscope
