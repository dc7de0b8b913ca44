// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/units/weight_samples.h"
#include "core/doctor/sound_values.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/plan/repair/amended.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace shardscope {

namespace {

constexpr uint64_t kWindowElements = uint64_t{1} << 18;
/// Values that match by chance between mismatches count as mismatches, too.
constexpr uint64_t kChanceElements = 64;
constexpr size_t kMaxRuns = size_t{1} << 22;

using Runs = std::vector<std::pair<uint64_t, uint64_t>>;

struct StateOfParam {
    ParamId param = kNoParam;
    std::string state;
    auto operator<=>(const StateOfParam&) const = default;
};

/// The elements that the findings name; all elements if there were too many to name.
std::set<StateOfParam> namedBy(const Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    std::set<StateOfParam> out;
    for (const Finding* finding : findings) {
        if (const auto named = amended.stateAt(finding->where)) {
            out.insert({named->param, named->state});
            continue;
        }
        for (uint32_t i = 0; i < source.params.size(); ++i) {
            for (const std::string& state : statesOf(source, ParamId{i}))
                out.insert({ParamId{i}, state});
        }
    }
    return out;
}

/// The available parts of a parameter's state: other fixes may count the rest as lost.
Runs presentRuns(const Checkpoint& checkpoint, const StateSource& state)
{
    Runs out;
    forEachFragmentOf(checkpoint, state, 0, state.elements, [&](const Fragment& fragment) {
        if (fragment.file == kNoFile || !checkpoint.isReadable(fragment.file))
            return true;
        if (!out.empty() && out.back().second == fragment.paramOffset)
            out.back().second += fragment.elements;
        else
            out.emplace_back(fragment.paramOffset, fragment.paramOffset + fragment.elements);
        return true;
    });
    return out;
}

/// Elements of the first state for which `isBad` is true. All states of the parameter are read together, in
/// windows.
Result<Runs> badRuns(const Amended& amended, ParamId param, const std::vector<std::string>& states,
    uint64_t mergeDistance, const std::function<bool(const std::vector<double>&)>& isBad)
{
    const Checkpoint& checkpoint = *amended.checkpoint;
    std::vector<std::vector<uint8_t>> windows(states.size());
    std::vector<DType> types;
    for (const std::string& state : states) {
        SHARDSCOPE_TRY(const StateSource found, findState(checkpoint, param, state));
        types.push_back(found.dtype);
    }
    SHARDSCOPE_TRY(const StateSource first, findState(checkpoint, param, states.front()));
    Runs out;
    std::vector<double> values(states.size());
    const auto look = [&](uint64_t begin, uint64_t end) -> Status {
        SHARDSCOPE_CHECK(amended.job.poll());
        for (size_t s = 0; s < states.size(); ++s) {
            windows[s].resize((end - begin) * itemSize(types[s]));
            SHARDSCOPE_CHECK(
                readElements(amended.files, checkpoint, {param, states[s], begin, end}, windows[s]));
        }
        for (uint64_t i = 0; i < end - begin; ++i) {
            for (size_t s = 0; s < states.size(); ++s)
                values[s] = elementAsDouble(types[s], windows[s].data() + i * itemSize(types[s]));
            if (!isBad(values))
                continue;
            const uint64_t at = begin + i;
            if (!out.empty() && at - out.back().second <= mergeDistance)
                out.back().second = at + 1;
            else
                out.emplace_back(at, at + 1);
        }
        if (out.size() > kMaxRuns)
            return fail(ErrorCode::LimitExceeded,
                "too many places of `" + toValidUtf8(checkpoint.params[index(param)].name) + "` are damaged",
                checkpoint.tagFolder.string(), "take it from another tag");
        return {};
    };
    for (const auto& [begin, end] : presentRuns(checkpoint, first)) {
        for (uint64_t at = begin; at < end; at += kWindowElements)
            SHARDSCOPE_CHECK(look(at, std::min(end, at + kWindowElements)));
    }
    return out;
}

/// For a slice or stage: whether its own reader reports the finding, and not the comparison with the others.
bool isReportedBy(const Checkpoint& source, const Finding& finding)
{
    return std::any_of(source.findings.begin(), source.findings.end(), [&](const Finding& own) {
        return own.code == finding.code && own.where == finding.where && own.message == finding.message;
    });
}

uint64_t countOf(const Runs& runs)
{
    uint64_t out = 0;
    for (const auto& [begin, end] : runs)
        out += end - begin;
    return out;
}

void lose(Amended& amended, const StateOfParam& of, Runs runs, std::string_view code)
{
    const std::string& name = amended.nameOf(of.param);
    LostPart part;
    part.code = code;
    part.state = of.state;
    part.params = {of.param};
    part.where = ParamAddress{name, of.state, std::pair{runs.front().first, runs.back().second}};
    part.of = std::to_string(countOf(runs)) + " of "
        + std::to_string(amended.source->params[index(of.param)].elements) + " elements of "
        + toValidUtf8(name);
    part.runs = std::move(runs);
    amended.lost.push_back(std::move(part));
}

} // namespace

Status takeSoundValues(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const StateOfParam& of : namedBy(amended, findings)) {
        SHARDSCOPE_TRY(Runs runs, badRuns(amended, of.param, {of.state}, 0, [&](const auto& values) {
            return !isSound(of.state, values.front());
        }));
        if (runs.empty())
            continue;
        if (of.state == "weight") {
            SHARDSCOPE_CHECK(loseWeightOf(amended, *findings.front(), of.param));
            continue;
        }
        lose(amended, of, std::move(runs), findings.front()->code);
    }
    for (const Finding* finding : findings)
        amended.repair(*finding, "the damaged values are rebuilt: " + finding->message);
    return {};
}

Status takeFittingMasters(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    for (const StateOfParam& of : namedBy(amended, findings)) {
        const WholeTensor* copy = source.wholeOf(of.param);
        if (of.state != "fp32" || copy == nullptr)
            continue;
        const DType type = copy->dtype;
        SHARDSCOPE_TRY(const Runs runs,
            badRuns(amended, of.param, {"fp32", "weight"}, kChanceElements, [&](const auto& values) {
                const auto rounding = roundingOf(type, values[0]);
                return rounding && std::isfinite(values[1])
                    && !(std::abs(values[0] - values[1]) <= *rounding);
            }));
        if (runs.empty())
            continue;
        // States of masters that match no copy are lost, too.
        for (const std::string& state : statesOf(source, of.param)) {
            if (state != "weight")
                lose(amended, {of.param, state}, runs, findings.front()->code);
        }
    }
    for (const Finding* finding : findings)
        amended.repair(
            *finding, "masters that do not match their copies are rebuilt, with their other states");
    // The reader noticed it at a few of the same masters, and blamed the copies.
    std::erase_if(amended.findings(), [&](const Finding& other) {
        const auto model = fileNamed(source, other.where);
        const bool isOfModel = other.code == code::kStepMismatch && model
            && source.file(*model).role == FileRole::ModelStates && isReportedBy(source, other);
        if (isOfModel)
            amended.checkpoint->files[index(*model)].status = FileStatus::Ok;
        return isOfModel;
    });
    return {};
}

Status takeOtherStatesOfParams(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    for (const StateOfParam& of : namedBy(amended, findings)) {
        const Parameter& param = source.params[index(of.param)];
        const FlatUnit* unit = source.unitOf(of.param);
        if (of.state != "fp32" || unit == nullptr)
            continue;
        for (const UnitState& state : unit->states) {
            if (state.tensorOf(param.indexInUnit) != nullptr)
                continue;
            LostPart part;
            part.code = findings.front()->code;
            part.state = state.name;
            part.params = {of.param};
            part.where = ParamAddress{param.name, state.name, std::nullopt};
            part.of = toValidUtf8(param.name);
            amended.lost.push_back(std::move(part));
        }
    }
    // The same files: the reader also reports that they are missing.
    std::erase_if(amended.findings(), [&](const Finding& other) {
        const auto named = amended.stateAt(other.where);
        return named && (other.code == code::kStateMissing || other.code == code::kUniversalSource)
            && std::any_of(amended.lost.begin(), amended.lost.end(),
                [&](const LostPart& part) { return part.params.front() == named->param; });
    });
    for (const Finding* finding : findings)
        amended.repair(
            *finding, "the states that the converter skipped are rebuilt; the master stays rounded");
    return {};
}

} // namespace shardscope
