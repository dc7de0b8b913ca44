// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/picks.h"

#include "ui/models/parameters/fuzzy.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kMaxShown = 100;

struct Candidate {
    int score = 0;
    uint32_t position = 0;
    /// Better first, earlier ones first among equals.
    bool operator<(const Candidate& other) const
    {
        return score != other.score ? score > other.score : position < other.position;
    }
};

void keepBest(std::vector<Candidate>& candidates)
{
    const size_t kept = std::min(candidates.size(), kMaxShown);
    std::partial_sort(
        candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(kept), candidates.end());
    candidates.resize(kept);
}

std::string lowered(const QString& text)
{
    return text.trimmed().toLower().toStdString();
}

Pick parameterPick(const ParameterIndex& index, uint32_t param)
{
    const Parameter& parameter = index.checkpoint()->params[param];
    return {toText(parameter.name),
        QString::fromStdString(shapeText(parameter.shape)) % u"  "_s
            % bytesText(index.facts(ParamId{param}).bytes),
        param};
}

} // namespace

PickFinder findAmong(PickList all)
{
    return [all = std::move(all)](const QString& typed, const std::stop_token&) {
        const std::string pattern = lowered(typed);
        if (pattern.empty())
            return all;
        std::vector<Candidate> candidates;
        for (uint32_t i = 0; i < all.size(); ++i)
            if (const int score = fuzzyScore(pattern, lowered(all[i].text)); score >= 0)
                candidates.push_back({score, i});
        keepBest(candidates);
        PickList found;
        for (const Candidate& candidate : candidates)
            found.push_back(all[candidate.position]);
        return found;
    };
}

PickFinder findParameter(ParameterIndexPtr index)
{
    return [index = std::move(index)](const QString& typed, const std::stop_token& token) {
        const std::string pattern = lowered(typed);
        const std::vector<uint32_t>& byName = index->order(ParamColumn::Name);
        std::vector<Candidate> candidates;
        for (uint32_t i = 0; i < byName.size(); ++i) {
            if (i % 4096 == 0 && token.stop_requested())
                break;
            if (pattern.empty() && i >= kMaxShown)
                break;
            if (const int score = pattern.empty() ? 0 : fuzzyScore(pattern, index->lowerName(byName[i]));
                score >= 0)
                candidates.push_back({score, i});
        }
        keepBest(candidates);
        PickList found;
        for (const Candidate& candidate : candidates)
            found.push_back(parameterPick(*index, byName[candidate.position]));
        return found;
    };
}

} // namespace shardscope::ui
