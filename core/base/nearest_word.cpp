// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest_word.h"

#include <algorithm>
#include <vector>

namespace shardscope {

namespace {

constexpr size_t kLongestWord = 256;

/// Edits between two words, swapped neighbours counting as one.
size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) {
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

} // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates)
{
    if (word.empty() || word.size() > kLongestWord)
        return {};
    std::string best;
    const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
    size_t bestDistance = std::max<size_t>(1, letters / 3) + 1;
    for (const std::string& candidate : candidates) {
        const size_t difference
            = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
        if (difference >= bestDistance)
            continue; // each needs an edit
        const size_t edits = distance(word, candidate);
        if (edits < bestDistance) {
            bestDistance = edits;
            best = candidate;
        }
    }
    if (!best.empty() || word.size() < 3)
        return best;
    const auto begins = std::find_if(
        candidates.begin(), candidates.end(), [&](const std::string& c) { return c.starts_with(word); });
    return begins == candidates.end() ? std::string() : *begins;
}

Hint nearestHint(const std::string& word, std::span<const std::string> candidates, Hint otherwise)
{
    const std::string meant = nearest(word, candidates);
    return meant.empty() ? std::move(otherwise) : Hint::didYouMean(word, meant);
}

} // namespace shardscope
