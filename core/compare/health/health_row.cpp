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

void write(WireWriter& out, const HealthRow& row)
{
    out.text(row.name);
    out.number(row.parameters);
    out.number(row.elements);
    out.number(row.exact ? 1 : 0);
    out.number(row.states.size());
    for (const StateHealth& state : row.states) {
        out.text(state.state);
        for (const uint64_t count : {state.read, state.missing, state.zeros, state.nans, state.infinities})
            out.number(count);
        for (const double value : {state.min, state.max, state.count, state.squares, state.magnitudes})
            out.plain(value);
    }
    for (const double value : {row.updated, row.updateSquares, row.weightSquares})
        out.plain(value);
    out.number(static_cast<uint64_t>(row.noUpdate));
    out.plain(row.rule);
    out.plain(row.firstStep);
    out.plain(row.lastStep);
    out.number(row.shape);
}

void read(WireReader& in, HealthRow& out)
{
    out.name = in.text();
    out.parameters = in.number();
    out.elements = in.number();
    out.exact = in.number() != 0;
    const uint64_t states = in.count();
    for (uint64_t i = 0; i < states && in.isGood(); ++i) {
        StateHealth& state = out.states.emplace_back();
        state.state = in.text();
        for (uint64_t* count : {&state.read, &state.missing, &state.zeros, &state.nans, &state.infinities})
            *count = in.number();
        for (double* value : {&state.min, &state.max, &state.count, &state.squares, &state.magnitudes})
            *value = in.plain<double>();
    }
    for (double* value : {&out.updated, &out.updateSquares, &out.weightSquares})
        *value = in.plain<double>();
    const uint64_t why = in.number();
    if (why > static_cast<uint64_t>(NoUpdate::NoMoments))
        in.fail();
    out.noUpdate = static_cast<NoUpdate>(why);
    out.rule = in.plain<UpdateRule>();
    out.firstStep = in.plain<std::optional<double>>();
    out.lastStep = in.plain<std::optional<double>>();
    out.shape = in.number();
}

} // namespace shardscope
