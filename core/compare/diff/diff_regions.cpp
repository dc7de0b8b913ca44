// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_regions.h"

#include "core/tensor/different_elements.h"

#include <algorithm>
#include <bit>

namespace shardscope {

namespace {

struct Gap {
    uint64_t length = 0;
    size_t before = 0; ///< position of the run that follows
};

/// Of two gaps, the one that is kept.
bool isKept(const Gap& one, const Gap& other)
{
    return one.length != other.length ? one.length > other.length : one.before < other.before;
}

} // namespace

void ElementRuns::add(uint64_t begin, uint64_t end, uint64_t count)
{
    if (!m_runs.empty() && begin - m_runs.back().end <= m_closed) {
        m_runs.back().end = end;
        m_runs.back().count += count;
        return;
    }
    m_runs.push_back({begin, end, count});
    if (m_runs.size() >= 2 * kMost)
        shorten(kMost);
}

void ElementRuns::append(const ElementRuns& further)
{
    for (const DiffRun& run : further.m_runs)
        add(run.begin, run.end, run.count);
    shorten(kMost);
}

void ElementRuns::shorten(size_t most)
{
    if (m_runs.size() <= most)
        return;
    std::vector<Gap> gaps;
    gaps.reserve(m_runs.size());
    for (size_t i = 1; i < m_runs.size(); ++i)
        gaps.push_back({m_runs[i].begin - m_runs[i - 1].end, i});
    const size_t kept = most - 1;
    std::ranges::nth_element(gaps, gaps.begin() + static_cast<std::ptrdiff_t>(kept), isKept);
    m_closed = std::max(m_closed, gaps[kept].length); // later ones of that length are closed, too
    gaps.resize(kept);
    std::ranges::sort(gaps, {}, &Gap::before);
    size_t out = 0;
    size_t next = 0;
    for (size_t i = 1; i < m_runs.size(); ++i) {
        if (next < gaps.size() && gaps[next].before == i) {
            ++next;
            m_runs[++out] = m_runs[i];
            continue;
        }
        m_runs[out].end = m_runs[i].end;
        m_runs[out].count += m_runs[i].count;
    }
    m_runs.resize(out + 1);
    m_runs.shrink_to_fit();
}

ElementRuns::Part ElementRuns::in(uint64_t begin, uint64_t end) const
{
    Part out;
    auto run = std::ranges::upper_bound(m_runs, begin, {}, &DiffRun::end);
    for (; run != m_runs.end() && run->begin < end; ++run) {
        const uint64_t part = std::min(end, run->end) - std::max(begin, run->begin);
        const bool isFull = run->count == run->end - run->begin;
        const bool isCut = part < run->end - run->begin;
        out.elements += part;
        out.count += isCut ? std::min(part, run->count) : run->count;
        out.isExact = out.isExact && (isFull || !isCut);
    }
    return out;
}

ElementRuns differentRuns(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Comparison& found)
{
    ElementRuns out;
    const uint64_t last = firstElement + left.size();
    if (found.different == found.elements) {
        if (found.elements > 0)
            out.add(firstElement, last, found.elements);
        return out;
    }
    if (found.different == 1) {
        out.add(found.firstDifferent, found.firstDifferent + 1, 1);
        return out;
    }
    if (found.areEqual())
        return out;
    uint64_t begin = 0;
    uint64_t end = 0; // of the run that goes on; equal: none
    for (uint64_t at = found.firstDifferent - firstElement; at < left.size(); at += 64) {
        const size_t count = std::min<uint64_t>(64, left.size() - at);
        uint64_t mask = differentElements(left.part(at, count), right.part(at, count));
        while (mask != 0) {
            const auto first = static_cast<unsigned>(std::countr_zero(mask));
            const auto length = static_cast<unsigned>(std::countr_one(mask >> first));
            mask = first + length < 64 ? mask >> (first + length) << (first + length) : 0;
            if (begin == end || end < at + first) {
                if (begin < end)
                    out.add(firstElement + begin, firstElement + end, end - begin);
                begin = at + first;
            }
            end = at + first + length;
        }
    }
    if (begin < end)
        out.add(firstElement + begin, firstElement + end, end - begin);
    out.shorten(ElementRuns::kMost);
    return out;
}

void DiffRegions::shorten(StateRegions& regions) const
{
    regions.different.shorten(m_most);
    for (ElementRuns& lacking : regions.lacking)
        lacking.shorten(m_most);
}

void DiffRegions::add(StateRegions regions, const std::array<std::string, 2>& names)
{
    if (regions.isEmpty())
        return;
    const auto known = std::ranges::find(m_names, names);
    regions.state = static_cast<uint32_t>(known - m_names.begin());
    if (known == m_names.end())
        m_names.push_back(names);
    shorten(regions);
    m_runs += regions.runs();
    m_states.push_back(std::move(regions));
    while (m_runs > kMostRuns && m_most > 1) {
        m_most /= 4;
        m_runs = 0;
        for (StateRegions& each : m_states) {
            shorten(each);
            m_runs += each.runs();
        }
    }
}

} // namespace shardscope
