// SPDX-License-Identifier: Apache-2.0
#include "core/report/layout/layout_walk.h"

#include <algorithm>
#include <charconv>

namespace shardscope {

namespace {

/// Removes "dp3" from the front of `text`. Empty when the text does not begin with `name` and a number.
std::optional<uint32_t> takeCoordinate(std::string_view& text, std::string_view name)
{
    if (!text.starts_with(name))
        return std::nullopt;
    uint32_t value = 0;
    const char* const begin = text.data() + name.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc() || end == begin)
        return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
}

void visitParam(const Checkpoint& checkpoint, const LayoutQuestion& question,
    const std::function<void(const Fragment&)>& visit)
{
    const ParamId asked = *question.param;
    for (const std::string& state : statesOf(checkpoint, asked)) {
        const auto fragments = storedFragmentsOf(checkpoint, asked, state);
        if (!fragments)
            continue; // a state that this parameter does not have
        for (const Fragment& fragment : *fragments) {
            const bool flat = fragment.unit != kNoUnit;
            if (!question.rank || (flat && fragment.rank == *question.rank))
                visit(fragment);
        }
    }
}

} // namespace

Result<RankCoordinate> parseRank(std::string_view text, const Checkpoint& checkpoint)
{
    std::string_view rest = text;
    RankCoordinate rank;
    const auto dp = takeCoordinate(rest, "dp");
    bool good = dp.has_value();
    rank.dp = dp.value_or(0);
    if (good && !rest.empty()) {
        const auto tp = takeCoordinate(rest, ".tp");
        const auto pp = takeCoordinate(rest, ".pp");
        good = tp && pp && rest.empty();
        rank.tp = tp.value_or(0);
        rank.pp = pp.value_or(0);
    }
    if (!good)
        return fail(
            ErrorCode::Usage, "`" + std::string(text) + "` is not a rank", {}, "use dp3 or dp3.tp0.pp0");
    const ParallelDegrees& world = checkpoint.parallel;
    if (rank.dp >= world.dp || rank.tp >= world.tp || rank.pp >= world.pp)
        return fail(ErrorCode::NotFound, "the checkpoint has no rank " + rankText(rank),
            checkpoint.tagFolder.string(),
            "its last rank is " + rankText({world.dp - 1, world.tp - 1, world.pp - 1}));
    return rank;
}

std::vector<UnitId> unitsAsked(const Checkpoint& checkpoint, const LayoutQuestion& question)
{
    std::vector<UnitId> out;
    UnitId only = kNoUnit;
    if (question.param) {
        const Parameter& parameter = checkpoint.params[index(*question.param)];
        only = parameter.sharedWith == kNoParam ? parameter.unit
                                                : checkpoint.params[index(parameter.sharedWith)].unit;
    }
    for (uint32_t i = 0; i < checkpoint.units.size(); ++i) {
        if (!question.param || UnitId{i} == only)
            out.push_back(UnitId{i});
    }
    return out;
}

std::pair<uint32_t, uint32_t> ranksAsked(
    const Checkpoint& checkpoint, const FlatUnit& unit, const LayoutQuestion& question)
{
    if (!question.rank)
        return {0, unit.partition.ranks()};
    const auto share = checkpoint.shareOf(unit, *question.rank);
    return share ? std::pair(*share, *share + 1) : std::pair(0u, 0u);
}

void forEachFragmentAsked(const Checkpoint& checkpoint, const LayoutQuestion& question,
    const std::function<void(const Fragment&)>& visit)
{
    if (question.param)
        return visitParam(checkpoint, question, visit);
    if (!question.rank)
        return;
    for (uint32_t u = 0; u < checkpoint.units.size(); ++u) {
        const FlatUnit& unit = checkpoint.units[u];
        const auto share = checkpoint.shareOf(unit, *question.rank);
        if (!share)
            continue;
        for (uint32_t state = 0; state < unit.states.size(); ++state) {
            forEachFragmentOnRank(checkpoint, UnitId{u}, state, *share, [&](const Fragment& fragment) {
                visit(fragment);
                return true;
            });
        }
    }
}

} // namespace shardscope
