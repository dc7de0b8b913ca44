// SPDX-License-Identifier: Apache-2.0
#include "core/compare/health/health_row.h"

#include "core/checkpoint/model/layer_names.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

double StateHealth::rms() const
{
    return std::sqrt(squares / count);
}

double StateHealth::l2() const
{
    return count > 0 ? std::sqrt(squares) : std::numeric_limits<double>::quiet_NaN();
}

StateHealth& StateHealth::operator+=(const StateHealth& further)
{
    read += further.read;
    missing += further.missing;
    zeros += further.zeros;
    nans += further.nans;
    infinities += further.infinities;
    min = std::min(min, further.min);
    max = std::max(max, further.max);
    count += further.count;
    squares += further.squares;
    magnitudes += further.magnitudes;
    return *this;
}

std::string_view noUpdateText(NoUpdate why)
{
    switch (why) {
    case NoUpdate::Known:
        break;
    case NoUpdate::Frozen:
        return "frozen: no optimizer has its parameters";
    case NoUpdate::UnknownRule:
        return "the rule of this optimizer is not known";
    case NoUpdate::NotKept:
        return "this optimizer's states do not keep its updates";
    case NoUpdate::NoMoments:
        return "there are no moments that can be read";
    }
    return {};
}

const StateHealth* HealthRow::find(std::string_view state) const
{
    const auto found = std::ranges::find(states, state, &StateHealth::state);
    return found == states.end() ? nullptr : &*found;
}

StateHealth HealthRow::weights() const
{
    StateHealth out;
    for (const StateHealth& each : states) {
        if (isWeightState(each.state))
            out += each;
    }
    return out;
}

double HealthRow::updateRms() const
{
    return std::sqrt(updateSquares / updated);
}

double HealthRow::updateRatio() const
{
    return std::sqrt(updateSquares / weightSquares);
}

uint64_t HealthRow::missing() const
{
    uint64_t out = 0;
    for (const StateHealth& each : states)
        out += each.missing;
    return out;
}

HealthRow& HealthRow::operator+=(const HealthRow& further)
{
    parameters += further.parameters;
    elements += further.elements;
    exact = exact && further.exact;
    for (const StateHealth& each : further.states) {
        const auto mine = std::ranges::find(states, each.state, &StateHealth::state);
        if (mine != states.end())
            *mine += each;
        else
            states.push_back(each);
    }
    const bool known = updated > 0 || further.updated > 0;
    updated += further.updated;
    updateSquares += further.updateSquares;
    weightSquares += further.weightSquares;
    noUpdate = known ? NoUpdate::Known : std::max(noUpdate, further.noUpdate);
    if (rule.kind == UpdateKind::Unknown || further.rule.learningRate > rule.learningRate)
        rule = further.rule;
    if (further.firstStep) {
        firstStep = std::min(firstStep.value_or(*further.firstStep), *further.firstStep);
        lastStep = std::max(lastStep.value_or(*further.lastStep), *further.lastStep);
    }
    shape = shape * 31 + further.shape;
    return *this;
}

std::string healthLayerOf(std::string_view param)
{
    if (const auto numbered = numberedName(param))
        return std::string(numbered->layer);
    const size_t dot = param.rfind('.');
    return std::string(dot == std::string_view::npos ? param : param.substr(0, dot));
}

void HealthLayers::add(const HealthRow& param)
{
    std::string name = healthLayerOf(param.name);
    const auto [at, isNew] = m_byName.try_emplace(name, m_rows.size());
    if (!isNew) {
        m_rows[at->second] += param;
        return;
    }
    m_rows.push_back(param);
    m_rows.back().name = std::move(name);
}

} // namespace shardscope
