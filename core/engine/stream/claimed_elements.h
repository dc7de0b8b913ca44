// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/interval_set.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace shardscope {

/// Which elements of some tensors were seen, in any order, so that copies count once. Thread-safe.
class ClaimedElements
{
public:
    explicit ClaimedElements(size_t tensors)
        : m_seen(tensors)
        , m_counts(tensors)
    {
    }

    /// Takes [begin, end) and calls `added(begin, end)` for each part of it that was not taken before.
    template <class Added>
    void claim(uint32_t tensor, uint64_t begin, uint64_t end, Added added)
    {
        const std::lock_guard lock(m_locks[tensor % kLocks]);
        m_seen[tensor].claim(begin, end, [&](uint64_t from, uint64_t to) {
            m_counts[tensor] += to - from;
            added(from, to);
        });
    }
    /// The number of different elements. Must not be called while claim() runs.
    [[nodiscard]] uint64_t count(uint32_t tensor) const { return m_counts[tensor]; }

private:
    static constexpr size_t kLocks = 64;

    std::vector<IntervalSet> m_seen;
    std::vector<uint64_t> m_counts;
    std::array<std::mutex, kLocks> m_locks;
};

} // namespace shardscope
