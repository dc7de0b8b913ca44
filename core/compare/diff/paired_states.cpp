// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/paired_states.h"

#include "core/layout/fragments.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kMaster = "fp32";
constexpr std::string_view kWeight = "weight";

bool contains(const std::vector<std::string>& states, std::string_view state)
{
    return std::find(states.begin(), states.end(), state) != states.end();
}

DType typeOf(const Checkpoint& checkpoint, ParamId param, const std::string& state)
{
    const auto source = findState(checkpoint, param, state);
    return source ? source->dtype : DType::Unknown;
}

void pairStates(PairedParam& pair, const Checkpoint& left, const Checkpoint& right)
{
    const std::vector<std::string> here = statesOf(left, pair.left);
    const std::vector<std::string> there = statesOf(right, pair.right);
    const bool mastersHere = contains(here, kMaster);
    const bool mastersThere = contains(there, kMaster);
    const auto add = [&](const std::string& one, const std::string& other) {
        pair.states.push_back({one, other, typeOf(left, pair.left, one), typeOf(right, pair.right, other),
            one == kWeight && other == kWeight && mastersHere && mastersThere});
    };
    for (const std::string& state : here) {
        if (state == kWeight && !mastersHere && mastersThere)
            add(state, std::string(kMaster));
        else if (contains(there, state) && !(state == kWeight && mastersHere != mastersThere))
            add(state, state);
        else if (state == kMaster && contains(there, kWeight))
            add(state, std::string(kWeight));
        else if (state != kWeight || !mastersHere)
            pair.onlyLeft.push_back(state);
    }
    for (const std::string& state : there) {
        const bool paired = std::any_of(pair.states.begin(), pair.states.end(),
            [&](const PairedState& known) { return known.right == state; });
        if (!paired && (state != kWeight || !mastersThere))
            pair.onlyRight.push_back(state);
    }
}

} // namespace

std::vector<PairedParam> pairedParams(const Checkpoint& left, const Checkpoint& right)
{
    std::vector<PairedParam> out;
    for (uint32_t i = 0; i < left.params.size(); ++i) {
        const Parameter& param = left.params[i];
        if (param.sharedWith != kNoParam)
            continue;
        PairedParam pair;
        pair.name = param.name;
        pair.left = ParamId{i};
        pair.elements = param.elements;
        if (const auto other = right.findParam(param.name)) {
            const ParamId owner = right.params[index(*other)].sharedWith;
            pair.right = owner == kNoParam ? *other : owner;
            pair.sameShape = right.params[index(pair.right)].shape == param.shape;
            if (pair.sameShape)
                pairStates(pair, left, right);
        }
        out.push_back(std::move(pair));
    }
    for (uint32_t i = 0; i < right.params.size(); ++i) {
        const Parameter& param = right.params[i];
        if (param.sharedWith != kNoParam || left.findParam(param.name))
            continue;
        PairedParam pair;
        pair.name = param.name;
        pair.right = ParamId{i};
        pair.elements = param.elements;
        out.push_back(std::move(pair));
    }
    return out;
}

} // namespace shardscope
