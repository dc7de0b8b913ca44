// SPDX-License-Identifier: Apache-2.0
#include "core/compare/health/health_alarms.h"

#include "core/base/text.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/compare/diff/state_scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace shardscope {

namespace {

constexpr size_t kMinFamily = 5; ///< layers built alike; fewer have no usual value
constexpr size_t kMinGrowing = 3; ///< the same, of what changed from tag to tag
/// Where this share of the layers has the same alarm, it is one of the tag.
constexpr double kMostLayers = 0.6;

struct Outliers {
    std::string_view code;
    const char* what;
    double minFactor; ///< between a value and those of the other layers
    double (*value)(const HealthRow& row);
};

double gradientRms(const HealthRow& row)
{
    const MomentNames names = momentNames(row.rule.kind);
    const StateHealth* squares = names.second.empty() ? nullptr : row.find(names.second);
    return squares != nullptr && squares->count > 0 ? std::sqrt(squares->magnitudes / squares->count) : 0;
}

constexpr std::array<Outliers, 3> kOutliers{{
    {kUpdateOutlier, "update", 16,
        [](const HealthRow& row) { return row.updateRms() / row.rule.learningRate; }},
    {kWeightsOutlier, "rms of the weights", 3, [](const HealthRow& row) { return row.weights().rms(); }},
    {kGradientOutlier, "rms of the gradients", 20, gradientRms},
}};

double medianOf(std::vector<double> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// How far value `i` is from the median of the others, and how far the others are from it, in the middle.
std::pair<double, double> deviation(const std::vector<double>& values, size_t i)
{
    std::vector<double> others = values;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const double median = medianOf(others);
    for (double& other : others)
        other = std::abs(other - median);
    return {values[i] - median, medianOf(others)};
}

/// Layers that are built alike: "model.layers.0" to "model.layers.31".
using Family = std::vector<const HealthRow*>;
std::vector<Family> familiesOf(const TagHealth& tag)
{
    std::map<std::pair<std::string_view, uint64_t>, Family> found;
    for (const HealthRow& row : tag.layers) {
        const auto numbered = numberedName(row.name);
        if (numbered && row.missing() == 0)
            found[{numbered->stem, row.shape}].push_back(&row);
    }
    std::vector<Family> out;
    for (auto& [key, family] : found) {
        if (family.size() >= kMinFamily)
            out.push_back(std::move(family));
    }
    return out;
}

std::string factorText(double factor)
{
    return fmt::format("{:.3g} ×", factor);
}

void findNotRead(const TagHealth& tag, std::vector<HealthAlarm>& out)
{
    for (const HealthRow& row : tag.layers) {
        if (row.missing() > 0)
            out.push_back({kNotRead, Severity::Info, tag.tag, row.name, {},
                fmt::format("{}: {} values of weights and moments cannot be read, and are not judged",
                    row.name, formatCount(row.missing()))});
    }
}

void findNotFinite(const TagHealth& tag, std::vector<HealthAlarm>& out)
{
    for (const HealthRow& row : tag.layers) {
        for (const StateHealth& state : row.states) {
            if (state.isFinite())
                continue;
            out.push_back({kNotFinite, Severity::Error, tag.tag, row.name, {},
                fmt::format("{}: {} has {} NaN and {} infinite values{}", row.name, state.state,
                    formatCount(state.nans), formatCount(state.infinities),
                    row.exact ? "" : " among those read")});
        }
    }
}

void findOutliers(const TagHealth& tag, std::vector<HealthAlarm>& out)
{
    constexpr double kMinSpreads = 8;
    constexpr double kMinSpread = 0.05; // layers right after their initialization are nearly equal
    for (const Family& family : familiesOf(tag)) {
        for (const Outliers& kind : kOutliers) {
            std::vector<double> values;
            for (const HealthRow* row : family)
                values.push_back(std::log(kind.value(*row)));
            if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
                continue; // of a layer it is not known, or zero
            for (size_t i = 0; i < values.size(); ++i) {
                const auto [distance, spread] = deviation(values, i);
                if (std::abs(distance) < std::log(kind.minFactor)
                    || std::abs(distance) < kMinSpreads * std::max(spread, kMinSpread))
                    continue;
                out.push_back({kind.code, Severity::Warning, tag.tag, family[i]->name, {},
                    fmt::format("{}: {} {} that of its neighbours", family[i]->name, kind.what,
                        factorText(std::exp(distance)))});
            }
        }
    }
}

double stepsMade(const TagHealth& tag)
{
    return static_cast<double>(tag.step.value_or(0) - tag.skipped.value_or(0));
}

/// Moments that are younger than the run, unless they already were in the tag `before`.
void findAges(const TagHealth* before, const TagHealth& tag, std::vector<HealthAlarm>& out)
{
    if (!tag.step)
        return;
    const double made = stepsMade(tag);
    const auto wasYoung = [&](const HealthRow& row) {
        const HealthRow* old = before == nullptr ? nullptr : before->find(row.name);
        return old != nullptr && old->firstStep
            && stepsMade(*before) - *old->firstStep >= made - *row.firstStep;
    };
    constexpr double kShare = 0.9;
    std::vector<const HealthRow*> young;
    size_t known = 0;
    for (const HealthRow& row : tag.layers) {
        known += row.firstStep ? 1 : 0;
        if (row.firstStep && *row.firstStep < made * kShare - 1 && !wasYoung(row))
            young.push_back(&row);
    }
    if (young.empty())
        return;
    const bool isTag = static_cast<double>(young.size()) >= kMostLayers * static_cast<double>(known);
    for (const HealthRow* row : young) {
        out.push_back({kMomentsReset, Severity::Warning, tag.tag, isTag ? std::string() : row->name, {},
            fmt::format("{}: the moments are {:.0f} steps old, the run made {:.0f}",
                isTag ? "all layers" : row->name, *row->firstStep, made)});
        if (isTag)
            return;
    }
}

/// Two tags of a run, `before` the older one.
struct Interval {
    const TagHealth& before;
    const TagHealth& after;
    double maxRate = 0; ///< of all tags
    [[nodiscard]] std::string words() const { return "between " + before.tag + " and " + after.tag; }
};

/// Whether sums of both rows are of the same elements.
bool areComparable(const HealthRow& before, const HealthRow& after)
{
    return before.elements == after.elements && before.exact == after.exact && before.shape == after.shape
        && before.missing() == 0 && after.missing() == 0;
}

/// Two rows of the same parameter, or layer, in two tags.
struct RowPair {
    const HealthRow& before;
    const HealthRow& after;
    double steps = 0; ///< between them
};

/// Moments that became smaller than any gradients could make them; empty if they did not.
std::string_view resetText(const RowPair& pair)
{
    const UpdateRule& rule = pair.after.rule;
    const MomentNames names = momentNames(rule.kind);
    const bool squares = !names.second.empty();
    const std::string_view state = squares ? names.second : names.first;
    const StateHealth* old = state.empty() ? nullptr : pair.before.find(state);
    const StateHealth* now = state.empty() ? nullptr : pair.after.find(state);
    if (old == nullptr || now == nullptr || !old->isFinite() || !now->isFinite() || pair.steps < 0)
        return {};
    constexpr double kUnderflow = 1e-30; // zero may be what is left of small values
    const bool decays = rule.kind != UpdateKind::Adagrad; // which adds squares up
    const double factor = !decays ? 1 : rule.kind == UpdateKind::Sgd ? rule.beta1 : rule.beta2;
    const double kept = std::pow(factor, pair.steps);
    const bool hasValues = old->magnitudes > kUnderflow * old->count;
    if (hasValues && now->read > 0 && now->zeros == now->read
        && kept * old->magnitudes > kUnderflow * old->count)
        return "the moments became zero";
    // Adam's Σv shrinks at most by β₂ in a step, Adagrad's never.
    constexpr double kRounding = 0.95; // of states with 16 or 8 bits, too
    if (hasValues && squares && pair.before.rule.beta2 == rule.beta2
        && now->magnitudes < kept * old->magnitudes * kRounding)
        return "the second moments shrank more than the optimizer's rule allows: they were reset or replaced";
    return {};
}

/// The length of an update by the learning rate that made it; nothing where either is not known.
std::optional<double> updateByRate(const HealthRow& row)
{
    if (row.rule.kind == UpdateKind::Adagrad) // |g| ≤ √Σg²
        return std::sqrt(row.weights().count);
    if (row.updated == 0 || row.rule.learningRate <= 0)
        return std::nullopt;
    return std::sqrt(row.updateSquares) / row.rule.learningRate;
}

/// How far the norm of the weights moved, as a multiple of what updates as long as those of both tags could
/// move it: |‖w‖ − ‖w'‖| ≤ ‖w − w'‖. `rate`: the learning rate in between. Nothing for updates that are not
/// known.
std::optional<double> movedBy(const RowPair& pair, double rate)
{
    const auto first = updateByRate(pair.before);
    const auto last = updateByRate(pair.after);
    const StateHealth old = pair.before.weights();
    const StateHealth now = pair.after.weights();
    if ((!first && !last) || pair.steps < 0 || !old.isFinite() || !now.isFinite())
        return std::nullopt;
    const double length = std::max(old.l2(), now.l2());
    constexpr double kRounding = 1e-3; // of 16-bit weights
    const double update
        = std::max(first.value_or(0), last.value_or(0)) + pair.after.rule.weightDecay * length;
    return std::abs(now.l2() - old.l2()) / (pair.steps * rate * update + kRounding * length);
}

/// Rows that are built alike, of the tag after, and how the weights of each grew: the logarithm.
using Growths = std::map<const HealthRow*, double>;
Growths unusualGrowths(const TagHealth& tag, const std::vector<RowPair>& pairs)
{
    constexpr double kMinGrowth = 0.3; // × 1.35
    constexpr double kMinStart = 0.01; // of the layer's rms: what begins at zero grows without limit
    constexpr double kMinSpreads = 12;
    constexpr double kMinSpread = 0.01;
    struct Key {
        std::string_view stem;
        std::string_view rest;
        uint64_t shape = 0;
        auto operator<=>(const Key&) const = default;
    };
    std::map<Key, std::vector<std::pair<const HealthRow*, double>>> families;
    for (const RowPair& pair : pairs) {
        const double growth = std::log(pair.after.weights().rms() / pair.before.weights().rms());
        const auto numbered = numberedName(pair.after.name);
        const HealthRow* layer = tag.find(healthLayerOf(pair.after.name));
        const bool isSmall
            = layer != nullptr && pair.before.weights().rms() < kMinStart * layer->weights().rms();
        if (numbered && std::isfinite(growth) && !isSmall)
            families[{numbered->stem, numbered->rest, pair.after.shape}].emplace_back(&pair.after, growth);
    }
    Growths out;
    for (const auto& [key, family] : families) {
        std::vector<double> values;
        for (const auto& [row, growth] : family)
            values.push_back(growth);
        for (size_t i = 0; values.size() >= kMinGrowing && i < values.size(); ++i) {
            const auto [distance, spread] = deviation(values, i);
            if (std::abs(distance) > kMinGrowth
                && std::abs(distance) > kMinSpreads * std::max(spread, kMinSpread))
                out[family[i].first] = distance;
        }
    }
    return out;
}

/// What is wrong with rows of one layer.
struct Wrong {
    std::vector<std::string> params;
    std::string text; ///< of the first
};
using WrongLayers = std::map<std::string, Wrong>;

/// One alarm a layer, or one of the tag if it is the same for most.
void addByLayer(
    const Interval& interval, std::string_view code, const WrongLayers& wrong, std::vector<HealthAlarm>& out)
{
    const size_t all = interval.after.layers.size();
    const bool isTag
        = wrong.size() > 1 && static_cast<double>(wrong.size()) >= kMostLayers * static_cast<double>(all);
    for (const auto& [layer, what] : wrong) {
        const HealthRow* row = interval.after.find(layer);
        std::string subject = layer;
        if (isTag)
            subject = fmt::format("{} of {} layers, such as {}", wrong.size(), all, layer);
        else if (row != nullptr && what.params.size() < row->parameters && what.params.front() != layer)
            subject = what.params.size() == 1
                ? what.params.front()
                : fmt::format("{} and {} more", what.params.front(), what.params.size() - 1);
        out.push_back({code, Severity::Warning, interval.after.tag, isTag ? std::string() : layer, {},
            fmt::format("{}: {} {}", subject, what.text, interval.words())});
        if (isTag)
            return;
    }
}

std::vector<RowPair> pairsOf(const Interval& interval)
{
    const bool byParam = !interval.before.params.empty() && !interval.after.params.empty();
    const std::vector<HealthRow>& old = byParam ? interval.before.params : interval.before.layers;
    std::map<std::string_view, const HealthRow*> byName;
    for (const HealthRow& row : old)
        byName[row.name] = &row;
    std::vector<RowPair> out;
    for (const HealthRow& row : byParam ? interval.after.params : interval.after.layers) {
        const auto before = byName.find(row.name);
        if (before == byName.end() || !areComparable(*before->second, row)
            || row.noUpdate == NoUpdate::Frozen)
            continue;
        double steps = stepsMade(interval.after) - stepsMade(interval.before);
        if (before->second->lastStep && row.lastStep && *row.lastStep >= *before->second->lastStep)
            steps = *row.lastStep - *before->second->lastStep;
        out.push_back({*before->second, row, steps});
    }
    return out;
}

void compareTags(const Interval& interval, std::vector<HealthAlarm>& out)
{
    constexpr double kMaxMove = 3;
    constexpr double kMaxMoveUnlikeOthers
        = 1.5; // and the weights of layers that are built alike did not move so
    constexpr double kMinGrowthAlone = 0.7; // × 2, where the updates are not known
    constexpr double kMaxMoveAtHighestRate = 0.5; // the rate may have been higher between the tags
    const std::vector<RowPair> pairs = pairsOf(interval);
    const Growths unusual = unusualGrowths(interval.after, pairs);
    WrongLayers reset;
    WrongLayers moved;
    const auto add = [](WrongLayers& to, const HealthRow& row, const std::string& text) {
        Wrong& wrong = to[healthLayerOf(row.name)];
        if (wrong.params.empty())
            wrong.text = text;
        wrong.params.push_back(row.name);
    };
    for (const RowPair& pair : pairs) {
        if (const std::string_view text = resetText(pair); !text.empty())
            add(reset, pair.after, std::string(text));
        const double rate = std::max(pair.before.rule.learningRate, pair.after.rule.learningRate);
        const auto by = movedBy(pair, rate);
        if (by && *movedBy(pair, interval.maxRate) < kMaxMoveAtHighestRate)
            continue;
        const auto growth = unusual.find(&pair.after);
        const bool isUnlikeOthers = growth != unusual.end()
            && (by ? *by > kMaxMoveUnlikeOthers : std::abs(growth->second) > kMinGrowthAlone);
        if (isUnlikeOthers)
            add(moved, pair.after,
                "the weights became " + factorText(std::exp(growth->second)) + " those of the other layers");
        else if (by && *by > kMaxMove)
            add(moved, pair.after, "the weights moved " + factorText(*by) + " what the last updates explain");
    }
    addByLayer(interval, kMomentsReset, reset, out);
    addByLayer(interval, kWeightsMoved, moved, out);
}

/// A rank whose state is that of an older tag, while those of other ranks are not.
void findStaleRanks(const std::vector<TagHealth>& tags, size_t at, std::vector<HealthAlarm>& out)
{
    const TagHealth& tag = tags[at];
    const auto report = [&](const RankCoordinate& rank, const std::string& words) {
        const bool isKnown = std::ranges::any_of(out, [&](const HealthAlarm& alarm) {
            return alarm.code == kRankStale && alarm.tag == tag.tag && alarm.rank == rank;
        });
        if (!isKnown)
            out.push_back({kRankStale, Severity::Error, tag.tag, {}, rank,
                "rank " + rankText(rank) + ": its optimizer state is " + words});
    };
    for (size_t before = at; before-- > 0;) {
        const TagHealth& old = tags[before];
        if (old.error || old.ranks.size() != tag.ranks.size())
            continue;
        std::vector<RankCoordinate> same;
        size_t changed = 0;
        for (size_t i = 0; i < tag.ranks.size(); ++i) {
            const RankSample& now = tag.ranks[i];
            const RankSample& then = old.ranks[i];
            if (now.digest.empty() || then.digest.empty() || !(now.rank == then.rank))
                continue;
            if (now.digest == then.digest)
                same.push_back(now.rank);
            else
                ++changed;
        }
        if (changed == 0)
            continue;
        for (const RankCoordinate& rank : same)
            report(rank, "still that of " + old.tag);
    }
    for (const RankCoordinate& rank : tag.oddRanks)
        report(rank, "of another step than the tag");
}

void findRateSpike(const std::vector<TagHealth>& tags, size_t at, std::vector<HealthAlarm>& out)
{
    constexpr double kFactor = 4;
    constexpr double kWarmUp = 1.5; // growth of the learning rate from tag to tag
    const TagHealth& tag = tags[at];
    double others = 0;
    for (size_t i = 0; i < tags.size(); ++i)
        others = i == at ? others : std::max(others, tags[i].learningRate());
    const double rate = tag.learningRate();
    if (others == 0 || rate < kFactor * others || at < 2)
        return;
    const bool isPlanned = std::ranges::all_of(tag.groups, [](const TagHealth::Group& group) {
        return group.plannedRate && group.rule.learningRate <= *group.plannedRate * (1 + 1e-9);
    });
    const bool warmsUp
        = at + 1 == tags.size() && tags[at - 1].learningRate() > kWarmUp * tags[at - 2].learningRate();
    if (isPlanned || warmsUp)
        return;
    out.push_back({kLearningRateSpike, Severity::Warning, tag.tag, {}, {},
        fmt::format("the learning rate is {:.3g}, {} the highest of the other tags", rate,
            factorText(rate / others))});
}

} // namespace

std::vector<HealthAlarm> findAlarms(const std::vector<TagHealth>& tags)
{
    std::vector<HealthAlarm> out;
    double maxRate = 0;
    for (const TagHealth& tag : tags)
        maxRate = std::max(maxRate, tag.highestRate());
    const TagHealth* before = nullptr;
    for (size_t i = 0; i < tags.size(); ++i) {
        const TagHealth& tag = tags[i];
        if (tag.error) {
            out.push_back(
                {kNotRead, Severity::Info, tag.tag, {}, {}, "the tag cannot be read: " + tag.error->message});
            continue;
        }
        std::vector<HealthAlarm> found;
        findNotRead(tag, found);
        findNotFinite(tag, found);
        findStaleRanks(tags, i, found);
        findRateSpike(tags, i, found);
        const bool isStale = std::ranges::count(found, kRankStale, &HealthAlarm::code) > 0;
        if (!isStale) { // else its layers are of two tags
            findAges(before, tag, found);
            if (before != nullptr)
                compareTags({*before, tag, maxRate}, found);
            before = &tag;
        }
        findOutliers(tag, found);
        std::ranges::move(found, std::back_inserter(out));
    }
    return out;
}

size_t countWrong(const std::vector<HealthAlarm>& alarms)
{
    return alarms.size() - static_cast<size_t>(std::ranges::count(alarms, kNotRead, &HealthAlarm::code));
}

bool wasRead(const TagHealth& tag)
{
    return std::ranges::any_of(tag.layers, [](const HealthRow& row) {
        return std::ranges::any_of(row.states, [](const StateHealth& state) { return state.read > 0; });
    });
}

std::string notJudgedText(const TagHealth& tag)
{
    bool hasStates = false;
    bool hasUpdates = false;
    NoUpdate why = NoUpdate::Known;
    for (const HealthRow& row : tag.layers) {
        for (const StateHealth& state : row.states)
            hasStates = hasStates || !isWeightState(state.state);
        hasUpdates = hasUpdates || row.updated > 0;
        if (row.noUpdate != NoUpdate::Known && row.noUpdate != NoUpdate::Frozen)
            why = row.noUpdate;
    }
    if (!wasRead(tag))
        return "weights and moments: no values can be read";
    if (!hasStates)
        return "updates and moments: there are no optimizer states";
    return hasUpdates || why == NoUpdate::Known ? std::string()
                                                : "updates: " + std::string(noUpdateText(why));
}

} // namespace shardscope
