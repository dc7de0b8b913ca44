// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/claimed_elements.h"
#include "core/plan/model/write_plan.h"
#include "core/tensor/compute_backend.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// Sums to compute together (ComputeBackend::transform), and the tensor of each.
struct SumBatch {
    std::vector<ElementSum> sums;
    std::vector<uint32_t> tensors;
};

/// Sums the digests of all tensors of a plan while their elements are processed, in any order, from any
/// thread.
///
/// Every element counts once: a copy in another file is not counted again. So the sums depend on the content
/// of the plan's tensors, not on the number of copies.
class ElementDigests
{
public:
    explicit ElementDigests(const std::vector<PlanTensor>& tensors);

    [[nodiscard]] uint32_t itemBytes(uint32_t tensor) const { return m_itemBytes[tensor]; }
    /// `bytes` are, or will be, whole elements of `tensor` from `firstElement` on, all within the tensor.
    /// Adds the unclaimed part of them to `batch`, to be summed and passed to add().
    void claim(uint32_t tensor, uint64_t firstElement, std::span<const uint8_t> bytes, SumBatch& batch);
    /// Adds claimed and summed elements; the batch is empty afterwards.
    void add(SumBatch& batch);
    [[nodiscard]] const ClaimedElements& claimed() const { return m_claimed; }
    /// One digest per tensor, in the plan's order. Must not be called while add() runs.
    [[nodiscard]] const std::vector<Digest>& sums() const { return m_sums; }

private:
    static constexpr size_t kLocks = 64;

    std::vector<DigestKey> m_keys;
    std::vector<uint8_t> m_itemBytes;
    std::vector<std::optional<TransposedOrder>> m_orders;
    ClaimedElements m_claimed;
    std::vector<Digest> m_sums;
    std::array<std::mutex, kLocks> m_locks;
};

} // namespace shardscope
