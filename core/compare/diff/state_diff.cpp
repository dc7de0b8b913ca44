// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/state_diff.h"

#include "core/base/finding_codes.h"
#include "core/base/ordered_results.h"
#include "core/checkpoint/model/require.h"
#include "core/compare/diff/diff_piece.h"
#include "core/io/outage_watch.h"
#include "core/layout/counts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace shardscope {

namespace {

struct Sides {
    const Checkpoint& left;
    const Checkpoint& right;
};

struct NotComparedSides : Sides {
    const std::vector<StateScalar>& leftScalars;
    const std::vector<StateScalar>& rightScalars;
};

/// Of a kind: there may be one for every parameter.
constexpr size_t kMaxOfCode = 16;

void add(NotCompared& out, NotComparedWhy why)
{
    size_t ofCode = 0;
    for (NotComparedWhy& known : out.why) {
        ofCode += known.code == why.code ? 1 : 0;
        if (known.code == why.code && known.message == why.message && known.where == why.where
            && known.side != why.side) {
            known.side = DiffSide::Both;
            return;
        }
    }
    if (ofCode < kMaxOfCode)
        out.why.push_back(std::move(why));
}

/// Whether a finding is about something that was asked for. Those about options always are.
bool isAsked(const Finding& finding, const std::vector<std::string>& states)
{
    const ParamAddress* param = finding.where.param();
    return states.empty() || finding.code == code::kOptionMismatch
        || std::any_of(states.begin(), states.end(), [&](const std::string& state) {
               return param != nullptr ? param->state == state
                                       : finding.message.find("`" + state + "`") != std::string::npos;
           });
}

void addUnread(
    const Checkpoint& checkpoint, DiffSide side, const std::vector<std::string>& states, NotCompared& out)
{
    for (const Finding* finding : findUnreadStates(checkpoint)) {
        if (isAsked(*finding, states))
            add(out, {std::string(finding->code), side, finding->message, finding->where});
    }
}

void addErrors(const Checkpoint& checkpoint, DiffSide side, NotCompared& out)
{
    for (const Finding& finding : checkpoint.findings) {
        if (finding.severity == Severity::Error)
            add(out, {std::string(finding.code), side, finding.message, finding.where});
    }
}

/// Equal texts do not show that the values are equal where they leave something out.
void addScalars(const std::vector<StateScalar>& scalars, DiffSide side, NotCompared& out)
{
    for (const StateScalar& scalar : scalars) {
        if (!scalar.lacks.empty())
            add(out,
                {std::string(code::kNotSupported), side,
                    "`" + scalar.name + "` has " + std::string(scalar.lacks), {}});
    }
}

/// Adds what the model of a side does not have (findUnreadStates()), scalars that texts do not show, and the
/// reasons why the parameters and tensors that `out` counts were not compared: the errors that were found in
/// the two. `states`: only these were asked for; empty: all.
void explainNotCompared(
    const NotComparedSides& sides, const std::vector<std::string>& states, NotCompared& out)
{
    if (out.parameters > out.ofOneSide) {
        addErrors(sides.left, DiffSide::Left, out);
        addErrors(sides.right, DiffSide::Right, out);
        if (out.isEmpty())
            add(out, {std::string(code::kStateMissing), DiffSide::Both, "neither side has the elements", {}});
    }
    const size_t before = out.why.size();
    addUnread(sides.left, DiffSide::Left, states, out);
    addUnread(sides.right, DiffSide::Right, states, out);
    out.tensors += static_cast<uint64_t>(std::count_if(out.why.begin() + static_cast<std::ptrdiff_t>(before),
        out.why.end(), [](const NotComparedWhy& why) { return why.code == code::kNotSupported; }));
    addScalars(sides.leftScalars, DiffSide::Left, out);
    addScalars(sides.rightScalars, DiffSide::Right, out);
}

struct Item {
    size_t param = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool last = true;
};

bool isAsked(const DiffOptions& options, const PairedState& state)
{
    return options.states.empty()
        || std::find(options.states.begin(), options.states.end(), state.left) != options.states.end();
}

bool isAsked(const DiffOptions& options, ParamId param)
{
    return options.params.empty() || std::binary_search(options.params.begin(), options.params.end(), param);
}

std::vector<ScalarDifference> differencesOf(
    const std::vector<StateScalar>& left, const std::vector<StateScalar>& right, uint64_t& compared)
{
    using Key = std::tuple<ScalarKind, int32_t, std::string>;
    std::map<Key, ScalarDifference> byKey;
    for (const StateScalar& scalar : left) {
        ScalarDifference& pair = byKey[{scalar.kind, scalar.group, scalar.name}];
        pair.left = scalar;
        pair.right = scalar;
        pair.right.value.clear();
    }
    for (const StateScalar& scalar : right) {
        ScalarDifference& pair = byKey[{scalar.kind, scalar.group, scalar.name}];
        if (pair.left.name.empty()) {
            pair.left = scalar;
            pair.left.value.clear();
        }
        pair.right = scalar;
    }
    compared = byKey.size();
    std::vector<ScalarDifference> out;
    for (auto& [key, pair] : byKey) {
        if (pair.left.value != pair.right.value)
            out.push_back(std::move(pair));
    }
    return out;
}

/// Whether both sides list a parameter without any of its values.
bool isUnheld(const PairedParam& param)
{
    return param.isPaired() && param.sameShape && param.elements > 0 && param.states.empty()
        && param.onlyLeft.empty() && param.onlyRight.empty();
}

void keepAsked(PairedParam& param, const DiffOptions& options)
{
    const auto notAsked = [&](const std::string& state) { return !isAsked(options, {state, state}); };
    std::erase_if(param.states, [&](const PairedState& state) { return !isAsked(options, state); });
    std::erase_if(param.onlyLeft, notAsked);
    std::erase_if(param.onlyRight, notAsked);
}

/// At least one of every parameter; of one without states, all elements.
std::vector<Item> piecesOf(const std::vector<PairedParam>& params, uint64_t pieceElements)
{
    std::vector<Item> out;
    for (size_t i = 0; i < params.size(); ++i) {
        const PairedParam& param = params[i];
        uint64_t at = 0;
        do {
            const uint64_t end
                = param.states.empty() ? param.elements : std::min(param.elements, at + pieceElements);
            out.push_back({i, at, end, end == param.elements});
            at = end;
        } while (at < param.elements);
    }
    return out;
}

/// What both sides read for these pieces.
uint64_t bytesOf(const std::vector<PairedParam>& params, const std::vector<Item>& pieces)
{
    uint64_t out = 0;
    for (const Item& piece : pieces) {
        for (const PairedState& state : params[piece.param].states)
            out += (piece.end - piece.begin) * (itemSize(state.leftType) + itemSize(state.rightType));
    }
    return out;
}

/// First parameters that could not be compared, then those that change the next step most.
std::tuple<int, double, double> weightOf(const ParamDifference& difference)
{
    const PairedParam& param = difference.param;
    const bool structural = !param.isPaired() || !param.sameShape;
    double apart = 0;
    for (const StateDifference& state : difference.states)
        apart = std::max(apart, state.values.notFinite > 0 ? 1e300 : state.values.relativeL2());
    const double step = difference.update
        ? std::max(difference.update->withoutGradient, difference.update->withUnitGradient)
        : apart;
    const bool lacks = !param.onlyLeft.empty() || !param.onlyRight.empty() || !difference.partial.empty();
    return {structural || lacks ? 1 : 0, step, apart};
}

UpdateDifference updateOf(const DiffPiece& sum)
{
    UpdateDifference out;
    out.withoutGradient = sum.steps->withoutGradient.relativeL2();
    out.withUnitGradient = sum.steps->withUnitGradient.relativeL2();
    const Comparison& step = sum.steps->withUnitGradient;
    const double length = std::max(step.squaredLeft, step.squaredRight);
    if (sum.weights.squaredDifference > 0 && length > 0)
        out.weightsApart = std::sqrt(sum.weights.squaredDifference / length);
    return out;
}

/// A difference, relative to the length of the whole step, whose equal pieces are still to be measured.
struct UnmeasuredSteps {
    size_t difference = 0; ///< in StateDiff::params
    DiffPiece sum;
    std::vector<Item> equal;
};

/// Merges the pieces of one parameter.
class Joiner
{
public:
    Joiner(const Sides& sides, const PairedParam& param, StateDiff& out)
        : m_sides(sides)
        , m_param(param)
        , m_out(out)
    {
    }

    void add(const Item& item, const DiffPiece& piece)
    {
        if (piece.steps && piece.steps->withoutGradient.elements == 0)
            m_equalSteps.push_back(item);
        if (!m_any) {
            m_sum = piece;
            m_any = true;
            return;
        }
        m_sum += piece;
    }

    /// Adds the difference, if there is one.
    std::optional<UnmeasuredSteps> finish()
    {
        ParamDifference difference;
        difference.param = m_param;
        addStates(difference);
        const bool paired = m_param.isPaired() && m_param.sameShape;
        m_out.parameters += paired ? 1 : 0;
        difference.staleLeft = m_sum.stale[0];
        difference.staleRight = m_sum.stale[1];
        if (m_sum.stale[0] > 0)
            m_out.staleCopiesLeft.push_back(m_param.name);
        if (m_sum.stale[1] > 0)
            m_out.staleCopiesRight.push_back(m_param.name);
        const bool mastersDiffer = m_any && !m_sum.weights.areEqual();
        difference.roundedLeft = mastersDiffer && m_sum.rounded[0];
        difference.roundedRight = mastersDiffer && m_sum.rounded[1];
        if (m_any && m_sum.steps)
            difference.update = updateOf(m_sum);
        const bool steps = difference.update
            && (difference.update->withoutGradient > 0 || difference.update->withUnitGradient > 0);
        const bool isRelative = steps || (difference.update && difference.update->weightsApart > 0);
        const PairedParam& param = difference.param;
        if (!paired || !difference.states.empty() || !param.onlyLeft.empty() || !param.onlyRight.empty()
            || !difference.partial.empty() || steps)
            m_out.params.push_back(std::move(difference));
        if (!isRelative || m_equalSteps.empty())
            return std::nullopt;
        return UnmeasuredSteps{m_out.params.size() - 1, std::move(m_sum), std::move(m_equalSteps)};
    }

private:
    void addStates(ParamDifference& difference)
    {
        bool lostOnBoth = false;
        for (size_t i = 0; m_any && i < m_param.states.size(); ++i) {
            DiffPiece::Runs& runs = m_sum.runs[i];
            m_out.regions.add(
                {m_param.left, m_param.right, 0, std::move(runs.different), std::move(runs.lacking)},
                {m_param.states[i].left, m_param.states[i].right});
            const Comparison& values = m_sum.states[i];
            const PairedState& state = m_param.states[i];
            const auto [left, right] = m_sum.missing[i];
            if (!state.isCopy && (left || right)) {
                addLost(difference, state, m_param.elements - values.elements, {left, right});
                lostOnBoth = lostOnBoth || (left && right);
            }
            if (values.elements == 0)
                continue;
            ++m_out.tensors;
            m_out.elements += values.elements;
            if (!values.areEqual())
                difference.states.push_back({state, values});
        }
        m_out.notCompared.parameters += lostOnBoth || !difference.partial.empty() ? 1 : 0;
        m_out.notCompared.ofOneSide += !lostOnBoth && !difference.partial.empty() ? 1 : 0;
    }

    /// A tensor that is stored whole and that a side does not have is only on the other side.
    void addLost(
        ParamDifference& difference, const PairedState& state, uint64_t elements, std::array<bool, 2> missing)
    {
        if (missing[0] != missing[1]) {
            const bool isLeft = missing[0]; // lacks elements
            if (!holdsAny(isLeft ? m_sides.left : m_sides.right, isLeft ? m_param.left : m_param.right,
                    isLeft ? state.left : state.right)) {
                (isLeft ? difference.param.onlyRight : difference.param.onlyLeft)
                    .push_back(isLeft ? state.right : state.left);
                return;
            }
            difference.partial.push_back({state, isLeft ? DiffSide::Left : DiffSide::Right, elements});
        }
        ++m_out.notCompared.tensors;
        m_out.notCompared.elements += elements;
    }

    static bool holdsAny(const Checkpoint& checkpoint, ParamId param, const std::string& state)
    {
        const auto source = findState(checkpoint, param, state);
        if (source && source->unit != kNoUnit
            && checkpoint.units[index(source->unit)].kind != UnitKind::Whole)
            return true; // ranks hold shares of it, and some rank is lost
        bool any = false;
        if (source)
            forEachStoredFragmentOf(checkpoint, *source, 0, source->elements, [&](const Fragment& fragment) {
                any = fragment.file != kNoFile;
                return !any;
            });
        return any;
    }

    const Sides& m_sides;
    const PairedParam& m_param;
    StateDiff& m_out;
    DiffPiece m_sum;
    std::vector<Item> m_equalSteps;
    bool m_any = false;
};

/// Reads once more the pieces of these differences whose steps are equal.
Status measureSteps(const std::vector<PairedParam>& params,
    const std::function<Result<DiffPiece>(const Item&)>& read, const Workers& workers, JobContext& job,
    std::vector<UnmeasuredSteps>& unmeasured, StateDiff& out)
{
    std::vector<Item> items;
    std::vector<UnmeasuredSteps*> owners; // of the items
    for (UnmeasuredSteps& steps : unmeasured) {
        items.insert(items.end(), steps.equal.begin(), steps.equal.end());
        owners.resize(items.size(), &steps);
    }
    if (items.empty())
        return {};
    job.beginPhase("comparing", workers.shareOf(bytesOf(params, items)));
    const auto take = [&](size_t i, const DiffPiece& piece) -> Status {
        UnmeasuredSteps& steps = *owners[i];
        if (steps.sum.steps && piece.steps)
            *steps.sum.steps += *piece.steps;
        else
            steps.sum.steps.reset(); // it could be read before
        std::optional<UpdateDifference>& update = out.params[steps.difference].update;
        update = steps.sum.steps ? std::optional(updateOf(steps.sum)) : std::nullopt;
        return {};
    };
    return parallelInOrder<DiffPiece>(
        {items.size(), workers.jobs, workers.shared}, job, [&](size_t i) { return read(items[i]); }, take);
}

bool isBeyond(const StateDifference& state)
{
    return !state.state.isCopy && (state.values.beyond > 0);
}

} // namespace

std::vector<std::string> NotCompared::codes() const
{
    std::set<std::string> out;
    for (const NotComparedWhy& one : why)
        out.insert(one.code);
    return {out.begin(), out.end()};
}

bool StateDiff::matches() const
{
    return tensors > 0 && scalarDifferences.empty()
        && std::all_of(params.begin(), params.end(), [](const ParamDifference& one) {
               return one.param.isPaired() && one.param.sameShape && one.param.onlyLeft.empty()
                   && one.param.onlyRight.empty() && one.partial.empty()
                   && std::none_of(one.states.begin(), one.states.end(), isBeyond);
           });
}

Result<StateDiff> diffStates(io::FileSystem& files, const Checkpoint& left, const Checkpoint& right,
    const DiffOptions& options, JobContext& job)
{
    StateDiff out;
    std::vector<PairedParam> params = pairedParams(left, right);
    std::erase_if(params, [&](const PairedParam& param) { return !isAsked(options, param.left); });
    out.notCompared.parameters = static_cast<uint64_t>(std::ranges::count_if(params, isUnheld));
    for (PairedParam& param : params)
        keepAsked(param, options);
    out.buffers = static_cast<uint64_t>(std::ranges::count_if(params, [&](const PairedParam& param) {
        return param.isPaired() && param.sameShape
            && left.params[index(param.left)].role == ParamRole::Buffer;
    }));
    const std::vector<Item> items = piecesOf(params, options.pieceElements);
    job.beginPhase("comparing", options.workers.shareOf(bytesOf(params, items)));
    const DiffReader reader({files, left, right, job}, options.tolerance, *options.workers.backend);
    const Sides sides{left, right};
    std::optional<Joiner> joiner;
    std::vector<UnmeasuredSteps> unmeasured;
    std::vector<io::Path> places = pathsOf(left);
    const std::vector<io::Path> others = pathsOf(right);
    places.insert(places.end(), others.begin(), others.end());
    const io::OutageWatch watch(std::move(places));
    const auto read = [&](const Item& item, bool measuresSteps) {
        return watch.judged(reader.read(params[item.param], item.begin, item.end, measuresSteps));
    };
    const auto take = [&](size_t i, const DiffPiece& piece) -> Status {
        if (!joiner)
            joiner.emplace(sides, params[items[i].param], out);
        joiner->add(items[i], piece);
        if (items[i].last) {
            if (auto steps = joiner->finish())
                unmeasured.push_back(std::move(*steps));
            joiner.reset();
        }
        return {};
    };
    const OrderedLoop loop{items.size(), options.workers.jobs, options.workers.shared};
    SHARDSCOPE_CHECK(parallelInOrder<DiffPiece>(
        loop, job, [&](size_t i) { return read(items[i], false); }, take));
    SHARDSCOPE_CHECK(measureSteps(
        params, [&](const Item& item) { return read(item, true); }, options.workers, job, unmeasured, out));
    std::stable_sort(
        out.params.begin(), out.params.end(), [](const ParamDifference& one, const ParamDifference& other) {
            return weightOf(one) > weightOf(other);
        });
    std::vector<StateScalar> scalars[] = {stateScalars(left), stateScalars(right)};
    if (!left.wrapper.empty() && !right.wrapper.empty()) { // else one is a copy of the tag alone
        for (const auto& [checkpoint, of] : {std::pair(&left, &scalars[0]), std::pair(&right, &scalars[1])}) {
            SHARDSCOPE_TRY(auto more, frameworkScalars(files, *checkpoint, job));
            std::ranges::move(more, std::back_inserter(*of));
        }
        SHARDSCOPE_CHECK(watch.status());
    }
    out.scalarDifferences = differencesOf(scalars[0], scalars[1], out.scalars);
    explainNotCompared({{left, right}, scalars[0], scalars[1]}, options.states, out.notCompared);
    return out;
}

} // namespace shardscope
