// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/group_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace shardscope {

namespace {

constexpr size_t kMaxOpen = 1024; ///< ways open after one candidate
constexpr size_t kMaxSteps = 8'000'000; ///< in all
constexpr uint64_t kMaxTries = 400'000'000; ///< of a candidate in a group
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

/// One way to distribute the candidates so far: its last choice, and a link to the way before it.
struct Step {
    uint32_t before = kNone;
    int32_t choice = -1;
};

struct Open {
    uint32_t step = kNone;
    uint32_t ways = 1; ///< ways that lead here, at most 2
};

/// How far each group is filled → how the search got there.
using Front = std::map<std::vector<uint64_t>, Open>;

std::optional<uint64_t> checkedSum(const std::vector<uint64_t>& numbers)
{
    uint64_t sum = 0;
    for (const uint64_t number : numbers) {
        if (number > std::numeric_limits<uint64_t>::max() - sum)
            return std::nullopt;
        sum += number;
    }
    return sum;
}

class Search
{
public:
    explicit Search(const GroupSearch& search)
        : m_search(search)
    {
    }

    GroupSplit run()
    {
        GroupSplit out;
        const auto offered = checkedSum(m_search.weights);
        const auto wanted = checkedSum(m_search.sizes);
        if (!offered || !wanted || *offered < *wanted)
            return out;
        m_mayLeaveOut = *offered - *wanted;
        m_front.emplace(std::vector<uint64_t>(m_search.sizes.size()), Open{});
        for (uint32_t candidate = 0; candidate < m_search.weights.size(); ++candidate) {
            advance(candidate);
            if (m_front.size() > kMaxOpen || m_steps.size() > kMaxSteps || m_tries > kMaxTries) {
                out.outcome = GroupSplit::Outcome::TooMany;
                return out;
            }
        }
        const auto end = m_front.find(m_search.sizes);
        if (end == m_front.end())
            return out;
        out.outcome = end->second.ways > 1 ? GroupSplit::Outcome::Several : GroupSplit::Outcome::One;
        out.groupOf.assign(m_search.weights.size(), -1);
        size_t candidate = out.groupOf.size();
        for (uint32_t step = end->second.step; step != kNone; step = m_steps[step].before)
            out.groupOf[--candidate] = m_steps[step].choice;
        return out;
    }

private:
    void advance(uint32_t candidate)
    {
        const uint64_t weight = m_search.weights[candidate];
        m_offered += weight;
        Front next;
        for (const auto& [filled, open] : m_front) {
            m_tries += filled.size() + 1;
            for (uint32_t group = 0; group < filled.size(); ++group) {
                if (m_search.sizes[group] - filled[group] < weight
                    || !m_search.fits(candidate, group, filled[group]))
                    continue;
                std::vector<uint64_t> after = filled;
                after[group] += weight;
                add(next, std::move(after), open, static_cast<int32_t>(group));
            }
            const uint64_t taken = std::accumulate(filled.begin(), filled.end(), uint64_t{0});
            if (m_offered - taken <= m_mayLeaveOut)
                add(next, filled, open, -1);
        }
        m_front = std::move(next);
    }

    void add(Front& front, std::vector<uint64_t> filled, const Open& from, int32_t choice)
    {
        const auto [at, isNew] = front.try_emplace(std::move(filled));
        if (!isNew) {
            at->second.ways = 2;
            return;
        }
        at->second = {static_cast<uint32_t>(m_steps.size()), from.ways};
        m_steps.push_back({from.step, choice});
    }

    const GroupSearch& m_search;
    Front m_front;
    std::vector<Step> m_steps;
    uint64_t m_tries = 0;
    uint64_t m_offered = 0;
    uint64_t m_mayLeaveOut = 0;
};

} // namespace

GroupSplit splitIntoGroups(const GroupSearch& search)
{
    return Search(search).run();
}

} // namespace shardscope
