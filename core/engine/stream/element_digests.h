// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/compute_backend.h"
#include "core/engine/stream/claimed_elements.h"
#include "core/plan/model/write_plan.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace shardscope {

/// Sums to compute together (ComputeBackend::transform), with the tensor of each and its place: bytes from
/// the start of the output file.
struct SumBatch {
    std::vector<ElementSum> sums;
    std::vector<uint32_t> tensors;
    std::vector<uint64_t> offsets;

    void clear();
};

/// The keys and element sizes of all tensors of a plan. Immutable; thread-safe.
class TensorKeys
{
public:
    explicit TensorKeys(const std::vector<PlanTensor>& tensors);

    [[nodiscard]] size_t count() const { return m_keys.size(); }
    [[nodiscard]] uint32_t itemBytes(uint32_t tensor) const { return m_itemBytes[tensor]; }
    /// Of whole elements from `firstElement` on.
    [[nodiscard]] ElementSum sumOf(
        uint32_t tensor, uint64_t firstElement, std::span<const uint8_t> bytes) const
    {
        return {m_keys[tensor], m_itemBytes[tensor], m_orders[tensor], firstElement, bytes, {}};
    }

private:
    std::vector<DigestKey> m_keys;
    std::vector<uint8_t> m_itemBytes;
    std::vector<std::optional<TransposedOrder>> m_orders;
};

/// Takes the digests of a plan's elements while they are processed.
class ElementSums
{
public:
    virtual ~ElementSums() = default;

    [[nodiscard]] virtual uint32_t itemBytes(uint32_t tensor) const = 0;
    /// `bytes` are, or will be, whole elements of `tensor` from `firstElement` on, all within the tensor, at
    /// `offset` of the output file. Adds those of them that count to `batch`, to be summed and passed to
    /// add().
    virtual void claim(uint32_t tensor, uint64_t firstElement, uint64_t offset,
        std::span<const uint8_t> bytes, SumBatch& batch)
        = 0;
    /// Adds claimed and summed elements; the batch is empty afterwards.
    virtual void add(SumBatch& batch) = 0;
};

/// Sums the digests of all tensors of a plan, in any order, from any thread.
///
/// Every element counts once: a copy in another file is not counted again. So the sums depend on the content
/// of the plan's tensors, not on the number of copies.
class ElementDigests final : public ElementSums
{
public:
    explicit ElementDigests(const std::vector<PlanTensor>& tensors);

    [[nodiscard]] const TensorKeys& keys() const { return m_keys; }
    [[nodiscard]] uint32_t itemBytes(uint32_t tensor) const override { return m_keys.itemBytes(tensor); }
    void claim(uint32_t tensor, uint64_t firstElement, uint64_t offset, std::span<const uint8_t> bytes,
        SumBatch& batch) override;
    void add(SumBatch& batch) override;
    /// Adds the sum of claimed elements.
    void addDigest(uint32_t tensor, const Digest& digest);
    /// Adds elements that were summed elsewhere, if all of them are new. If only some are, passes these to
    /// `partial` as [first, end): they are claimed and have to be summed and added.
    void addSummed(uint32_t tensor, uint64_t first, uint64_t end, const Digest& digest,
        std::vector<std::pair<uint64_t, uint64_t>>& partial);

    [[nodiscard]] const ClaimedElements& claimed() const { return m_claimed; }
    /// One digest per tensor, in the plan's order. Must not be called while add() runs.
    [[nodiscard]] const std::vector<Digest>& sums() const { return m_sums; }

private:
    static constexpr size_t kLocks = 64;

    TensorKeys m_keys;
    ClaimedElements m_claimed;
    std::vector<Digest> m_sums;
    std::array<std::mutex, kLocks> m_locks;
};

} // namespace shardscope
