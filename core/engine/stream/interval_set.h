// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

namespace shardscope {

/// A set of intervals that are already taken. Small if taken in ascending order, the usual case. Not
/// thread-safe.
class IntervalSet
{
public:
    /// Takes [begin, end) and calls `added(begin, end)` for each part of it that was not taken before.
    template <class Added>
    void claim(uint64_t begin, uint64_t end, Added added)
    {
        begin = std::max(begin, m_prefixEnd);
        if (begin >= end)
            return;
        if (begin == m_prefixEnd && !m_beyond) {
            m_prefixEnd = end;
            added(begin, end);
            return;
        }
        claimSlowly(begin, end, added);
    }

private:
    using Map = std::map<uint64_t, uint64_t>; ///< begin → end: separate from each other and from the prefix

    template <class Added>
    void claimSlowly(uint64_t begin, uint64_t end, Added added)
    {
        if (!m_beyond)
            m_beyond = std::make_unique<Map>();
        Map& taken = *m_beyond;
        uint64_t mergedBegin = begin;
        uint64_t mergedEnd = end;
        auto next = taken.upper_bound(begin);
        if (next != taken.begin() && std::prev(next)->second >= begin)
            --next;
        uint64_t at = begin;
        while (next != taken.end() && next->first <= end) {
            if (next->first > at)
                added(at, next->first);
            at = std::max(at, next->second);
            mergedBegin = std::min(mergedBegin, next->first);
            mergedEnd = std::max(mergedEnd, next->second);
            next = taken.erase(next);
        }
        if (at < end)
            added(at, end);
        if (mergedBegin == m_prefixEnd)
            m_prefixEnd = mergedEnd;
        else
            taken.emplace(mergedBegin, mergedEnd);
        if (taken.empty())
            m_beyond.reset();
    }

    uint64_t m_prefixEnd = 0; ///< [0, m_prefixEnd) is taken
    std::unique_ptr<Map> m_beyond;
};

} // namespace shardscope
