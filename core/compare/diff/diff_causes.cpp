// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_causes.h"

#include "core/base/text.h"
#include "core/compare/diff/diff_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr size_t kEvidenceLimit = 8;

void addEvidence(DiffCause& cause, std::string line)
{
    if (cause.evidence.size() < kEvidenceLimit)
        cause.evidence.push_back(std::move(line));
    else if (cause.evidence.size() == kEvidenceLimit)
        cause.evidence.emplace_back("…");
}

std::string sideText(DiffSide side)
{
    return side == DiffSide::Left ? "the left" : side == DiffSide::Right ? "the right" : "either";
}

std::string parametersText(uint64_t count)
{
    return formatCount(count) + (count == 1 ? " parameter" : " parameters");
}

bool isMoment(const StateDifference& state)
{
    return !state.state.isCopy && state.state.left != "fp32" && state.state.left != "weight";
}

/// Optimizer states that are all zero on one side.
void findZeroed(const StateDiff& diff, std::vector<DiffCause>& out)
{
    for (const DiffSide side : {DiffSide::Left, DiffSide::Right}) {
        DiffCause cause{"moments-zeroed", side, "", {}};
        std::set<std::string> params;
        for (const ParamDifference& param : diff.params) {
            for (const StateDifference& state : param.states) {
                const Comparison& values = state.values;
                const bool zero = side == DiffSide::Left ? values.squaredLeft == 0 && values.squaredRight > 0
                                                         : values.squaredRight == 0 && values.squaredLeft > 0;
                if (isMoment(state) && zero && values.notFinite == 0) {
                    params.insert(param.param.name);
                    addEvidence(cause, param.param.name + "#" + state.state.left);
                }
            }
        }
        if (params.empty())
            continue;
        cause.message
            = fmt::format("optimizer states of {} of {} parameters are zero in {} checkpoint: it started "
                          "new, or was refilled without its optimizer",
                params.size(), diff.parameters - diff.buffers, sideText(side));
        out.push_back(std::move(cause));
    }
}

void findNotFinite(const StateDiff& diff, std::vector<DiffCause>& out)
{
    for (const DiffSide side : {DiffSide::Left, DiffSide::Right, DiffSide::Both}) {
        DiffCause cause{"not-finite", side, "", {}};
        cause.message = side == DiffSide::Both
            ? "values that differ are NaN or infinite in both checkpoints"
            : fmt::format(
                "values are NaN or infinite in {} checkpoint and finite in the other one", sideText(side));
        for (const ParamDifference& param : diff.params) {
            for (const StateDifference& state : param.states) {
                const Comparison& values = state.values;
                if (values.notFinite == 0 || notFiniteSide(values) != side)
                    continue;
                const std::string count = side == DiffSide::Both
                    ? fmt::format("{} left, {} right", values.notFiniteLeft, values.notFiniteRight)
                    : fmt::format("{} {}", values.notFinite, values.notFinite == 1 ? "element" : "elements");
                addEvidence(cause, fmt::format("{}#{}: {}", param.param.name, state.state.left, count));
            }
        }
        if (!cause.evidence.empty())
            out.push_back(std::move(cause));
    }
}

/// Masters with only 16 significant bits, where the other side has 32.
void findRounded(const StateDiff& diff, std::vector<DiffCause>& out)
{
    for (const DiffSide side : {DiffSide::Left, DiffSide::Right}) {
        DiffCause cause{"masters-rounded", side, "", {}};
        size_t count = 0;
        for (const ParamDifference& param : diff.params) {
            const bool here = side == DiffSide::Left ? param.roundedLeft : param.roundedRight;
            const bool there = side == DiffSide::Left ? param.roundedRight : param.roundedLeft;
            if (here && !there) {
                ++count;
                addEvidence(cause, param.param.name);
            }
        }
        if (count == 0)
            continue;
        cause.message = fmt::format("masters of {} parameters in {} checkpoint have values of 16 bits: "
                                    "refilled from the 16-bit weights",
            count, sideText(side));
        out.push_back(std::move(cause));
    }
}

void findStaleCopies(const StateDiff& diff, std::vector<DiffCause>& out)
{
    for (const DiffSide side : {DiffSide::Left, DiffSide::Right}) {
        const auto& names = side == DiffSide::Left ? diff.staleCopiesLeft : diff.staleCopiesRight;
        if (names.empty())
            continue;
        DiffCause cause{"copies-disagree", side,
            fmt::format(
                "masters and 16-bit weights in {} checkpoint disagree for {} parameters: one of them is "
                "stale or in the wrong place",
                sideText(side), names.size()),
            {}};
        for (const std::string& name : names)
            addEvidence(cause, name);
        out.push_back(std::move(cause));
    }
}

std::string scalarName(const StateScalar& scalar)
{
    switch (scalar.kind) {
    case ScalarKind::Step:
    case ScalarKind::Option:
        return fmt::format("group {} {}", scalar.group, scalar.name);
    case ScalarKind::Scaler:
        return "loss scaler " + scalar.name;
    case ScalarKind::Scheduler:
        return "lr scheduler " + scalar.name;
    case ScalarKind::Counter:
        return scalar.name;
    case ScalarKind::ClientState:
        break;
    }
    return "client state " + scalar.name;
}

std::string bothValues(const ScalarDifference& scalar)
{
    const auto text
        = [](const StateScalar& one) { return one.value.empty() ? "absent" : one.value.substr(0, 60); };
    return fmt::format("{}: {} | {}", scalarName(scalar.left), text(scalar.left), text(scalar.right));
}

DiffCause scalarCause(const StateDiff& diff, ScalarKind kind, std::string code, std::string message)
{
    DiffCause cause{std::move(code), DiffSide::Both, std::move(message), {}};
    for (const ScalarDifference& scalar : diff.scalarDifferences) {
        if (scalar.left.kind == kind)
            addEvidence(cause, bothValues(scalar));
    }
    return cause;
}

/// A step of 0 on one side and a later step on the other is a restart. Other pairs are two steps of a run.
DiffCause stepCause(const StateDiff& diff)
{
    DiffCause cause = scalarCause(diff, ScalarKind::Step, "step-differs", "the optimizer's steps differ");
    bool left = true;
    bool right = true;
    for (const ScalarDifference& scalar : diff.scalarDifferences) {
        if (scalar.left.kind != ScalarKind::Step)
            continue;
        left = left && (scalar.left.value == "0" || scalar.left.value == "1");
        right = right && (scalar.right.value == "0" || scalar.right.value == "1");
    }
    if (!cause.evidence.empty() && left != right) {
        cause.code = "step-restarted";
        cause.side = left ? DiffSide::Left : DiffSide::Right;
        cause.message = fmt::format("the optimizer's step was reset in {} checkpoint, so that its bias "
                                    "correction is that of a new run",
            sideText(cause.side));
    }
    return cause;
}

bool groupsAlike(const Checkpoint& checkpoint)
{
    std::map<std::string, std::string> first;
    bool more = false;
    for (const StateScalar& scalar : stateScalars(checkpoint)) {
        if (scalar.kind != ScalarKind::Option || scalar.name == "name" || scalar.name == "param_group_name")
            continue;
        const auto [at, isNew] = first.emplace(scalar.name, scalar.value);
        if (!isNew && at->second != scalar.value)
            return false;
        more = more || scalar.group > 0;
    }
    return more;
}

DiffCause optionCause(const Checkpoint& left, const Checkpoint& right, const StateDiff& diff)
{
    DiffCause cause
        = scalarCause(diff, ScalarKind::Option, "options-differ", "options of param groups differ");
    const bool leftAlike = groupsAlike(left);
    const bool rightAlike = groupsAlike(right);
    if (!cause.evidence.empty() && leftAlike != rightAlike) {
        cause.code = "options-of-first-group";
        cause.side = leftAlike ? DiffSide::Left : DiffSide::Right;
        cause.message = fmt::format("all param groups of {} checkpoint have the same options, as DeepSpeed's "
                                    "universal load gives all of them the first group's in stage 3",
            sideText(cause.side));
    }
    return cause;
}

void findScalars(
    const Checkpoint& left, const Checkpoint& right, const StateDiff& diff, std::vector<DiffCause>& out)
{
    for (DiffCause& cause : std::vector<DiffCause>{stepCause(diff), optionCause(left, right, diff),
             scalarCause(diff, ScalarKind::Scaler, "scaler-differs", "the loss scaler's state differs"),
             scalarCause(diff, ScalarKind::Scheduler, "scheduler-differs",
                 "the learning-rate scheduler's state differs"),
             scalarCause(diff, ScalarKind::Counter, "counters-differ", "the engine's counters differ"),
             scalarCause(diff, ScalarKind::ClientState, "client-state-differs",
                 "the client state of the training script differs")}) {
        if (!cause.evidence.empty())
            out.push_back(std::move(cause));
    }
}

/// "Only on one side" is not said of a checkpoint that lost files.
DiffCause statesCause(const Checkpoint& left, const Checkpoint& right, const StateDiff& diff)
{
    DiffCause cause{"states-missing", DiffSide::Both, "optimizer states are only on one side", {}};
    if (left.complete == right.complete)
        return cause;
    cause.side = left.complete ? DiffSide::Right : DiffSide::Left;
    const auto lost = std::ranges::count_if(diff.params, [&](const ParamDifference& param) {
        return !(left.complete ? param.param.onlyLeft : param.param.onlyRight).empty();
    });
    cause.message = fmt::format("{} checkpoint is not complete: optimizer states of {} are missing",
        sideText(cause.side), parametersText(static_cast<uint64_t>(lost)));
    return cause;
}

/// States that are not complete on a side, as after the loss of a rank.
void findPartial(const StateDiff& diff, std::vector<DiffCause>& out)
{
    for (const DiffSide side : {DiffSide::Left, DiffSide::Right}) {
        DiffCause cause{"states-missing", side, "", {}};
        uint64_t params = 0;
        uint64_t elements = 0;
        for (const ParamDifference& param : diff.params) {
            const uint64_t before = elements;
            for (const PartialState& state : param.partial) {
                if (state.side != side)
                    continue;
                elements += state.notCompared;
                addEvidence(cause,
                    fmt::format("{}#{}: {} of {} elements were not compared", param.param.name,
                        side == DiffSide::Left ? state.state.left : state.state.right,
                        formatCount(state.notCompared), formatCount(param.param.elements)));
            }
            params += elements > before ? 1 : 0;
        }
        if (params == 0)
            continue;
        cause.message = fmt::format(
            "{} checkpoint is not complete: states of {} lack {} elements there, which were not "
            "compared",
            sideText(side), parametersText(params), formatCount(elements));
        out.push_back(std::move(cause));
    }
}

void findMissing(
    const Checkpoint& left, const Checkpoint& right, const StateDiff& diff, std::vector<DiffCause>& out)
{
    DiffCause params{
        "parameters-differ", DiffSide::Both, "parameters are only on one side, or have another shape", {}};
    DiffCause states = statesCause(left, right, diff);
    for (const ParamDifference& param : diff.params) {
        const PairedParam& pair = param.param;
        if (!pair.isPaired())
            addEvidence(params, pair.name + (pair.left == kNoParam ? ": only right" : ": only left"));
        else if (!pair.sameShape)
            addEvidence(params, pair.name + ": another shape");
        for (const std::string& state : pair.onlyLeft)
            addEvidence(states, pair.isPaired() ? pair.name + "#" + state + ": only left" : "");
        for (const std::string& state : pair.onlyRight)
            addEvidence(states, pair.isPaired() ? pair.name + "#" + state + ": only right" : "");
    }
    for (DiffCause* cause : {&params, &states}) {
        if (!cause->evidence.empty())
            out.push_back(std::move(*cause));
    }
    findPartial(diff, out);
}

/// Two runs, or two steps of one run: determined from the similarity of weights if nearly all differ.
void findRuns(const StateDiff& diff, std::vector<DiffCause>& out)
{
    Comparison weights;
    uint64_t differing = 0;
    for (const ParamDifference& param : diff.params) {
        for (const StateDifference& state : param.states) {
            if (state.state.isCopy || isMoment(state))
                continue;
            weights += state.values;
            ++differing;
        }
    }
    if (differing * 10 < diff.parameters * 7 || weights.different * 2 < weights.elements)
        return;
    const auto cosine = weights.cosine();
    if (!cosine)
        return;
    const std::string evidence = fmt::format("cosine of all weights that differ: {:.6f}", *cosine);
    const bool steps = std::any_of(diff.scalarDifferences.begin(), diff.scalarDifferences.end(),
        [](const ScalarDifference& scalar) { return scalar.left.kind == ScalarKind::Step; });
    if (*cosine < 0.5)
        out.push_back({"other-run", DiffSide::Both,
            "nearly all weights differ and are not similar: another run, or scrambled", {evidence}});
    else if (steps)
        out.push_back({"other-step", DiffSide::Both,
            "nearly all weights differ a little and steps differ: two steps of one run", {evidence}});
}

/// Finds the causes from both sides. If both have the same cause, the side with stale copies is wrong.
Status addRanks(const DiffInput& input, const StateDiff& diff, std::vector<DiffCause>& out)
{
    std::vector<DiffCause> found;
    for (const DiffSide side : {DiffSide::Left, DiffSide::Right})
        SHARDSCOPE_CHECK(findRanks(input, side, diff, found));
    if (found.size() == 2 && found[0].code == found[1].code && found[0].evidence == found[1].evidence) {
        const bool staleLeft = !diff.staleCopiesLeft.empty();
        const bool staleRight = !diff.staleCopiesRight.empty();
        DiffCause one = staleLeft && !staleRight ? found[0] : found[1];
        if (staleLeft == staleRight) {
            one.side = DiffSide::Both;
            one.message.replace(
                one.message.find("the right"), std::string_view("the right").size(), "either");
        }
        found = {std::move(one)};
    }
    out.insert(out.end(), found.begin(), found.end());
    return {};
}

} // namespace

Result<std::vector<DiffCause>> explainDiff(io::FileSystem& files, const Checkpoint& left,
    const Checkpoint& right, const StateDiff& diff, JobContext& job)
{
    const DiffInput input{files, left, right, job};
    std::vector<DiffCause> out;
    findMissing(left, right, diff, out);
    findZeroed(diff, out);
    findNotFinite(diff, out);
    findRounded(diff, out);
    SHARDSCOPE_TRY(const bool ordered, findFlatOrder(input, diff, out));
    if (!ordered) // which also explains exchanged tensors of one size
        SHARDSCOPE_CHECK(findSwappedTensors(input, diff, out));
    SHARDSCOPE_CHECK(addRanks(input, diff, out));
    findStaleCopies(diff, out);
    findScalars(left, right, diff, out);
    findRuns(diff, out);
    return out;
}

} // namespace shardscope
