// SPDX-License-Identifier: Apache-2.0
#include "ui/models/difference_marks.h"

#include <algorithm>
#include <optional>

namespace shardscope::ui {

namespace {

DifferenceMark markOf(const StateDifference& difference)
{
    const Comparison& values = difference.values;
    if (values.areEqual())
        return DifferenceMark::Equal;
    return values.different == values.lastBit ? DifferenceMark::LastBit : DifferenceMark::Values;
}

/// The marks of each parameter on one side of the comparison, by its id there.
class SideMarks
{
public:
    SideMarks(const JudgedDiff& judged, bool isRight)
        : m_isRight(isRight)
        , m_of((isRight ? judged.right : judged.left)->params.size())
    {
        for (const ParamDifference& difference : judged.diff.params) {
            const ParamId id = isRight ? difference.param.right : difference.param.left;
            if (id != kNoParam)
                m_of[index(id)] = &difference;
        }
    }

    [[nodiscard]] const ParamDifference* of(ParamId param) const { return m_of[index(param)]; }
    [[nodiscard]] DifferenceMark markOf(ParamId param, const std::string& state) const
    {
        const ParamDifference* difference = m_of[index(param)];
        if (difference == nullptr)
            return DifferenceMark::Equal;
        const auto& alone = m_isRight ? difference->param.onlyRight : difference->param.onlyLeft;
        if (!difference->param.isPaired() || !difference->param.sameShape
            || std::find(alone.begin(), alone.end(), state) != alone.end())
            return DifferenceMark::OneSide;
        bool otherDiffers = false;
        for (const StateDifference& found : difference->states) {
            const DifferenceMark mark = ui::markOf(found);
            if (mark != DifferenceMark::Equal && (m_isRight ? found.state.right : found.state.left) == state)
                return mark;
            otherDiffers = otherDiffers || mark != DifferenceMark::Equal;
        }
        // What a side lacks was not compared, so that the rest alone does not make it equal.
        const bool isPartial = std::any_of(
            difference->partial.begin(), difference->partial.end(), [&](const PartialState& found) {
                return (m_isRight ? found.state.right : found.state.left) == state;
            });
        if (isPartial)
            return DifferenceMark::NotCompared;
        return otherDiffers ? DifferenceMark::OtherState : DifferenceMark::Equal;
    }

private:
    bool m_isRight;
    std::vector<const ParamDifference*> m_of;
};

} // namespace

const std::vector<DifferenceMark>* DifferenceMarks::ofState(std::string_view state) const
{
    for (const auto& [name, marks] : states) {
        if (name == state)
            return &marks;
    }
    return nullptr;
}

const StateDifference* DifferenceMarks::valuesOf(ParamId param, std::string_view state) const
{
    const ParamDifference* difference = index(param) < params.size() ? params[index(param)] : nullptr;
    if (difference == nullptr)
        return nullptr;
    const auto found = std::find_if(
        difference->states.begin(), difference->states.end(), [&](const StateDifference& candidate) {
            return (isRight ? candidate.state.right : candidate.state.left) == state
                && !candidate.values.areEqual();
        });
    return found == difference->states.end() ? nullptr : &*found;
}

std::vector<std::string> DifferenceMarks::differentStates(ParamId param) const
{
    std::vector<std::string> found;
    for (const auto& [state, marks] : states) {
        if (valuesOf(param, state) != nullptr)
            found.push_back(state);
    }
    return found;
}

std::string DifferenceMarks::firstDifferentState() const
{
    for (const auto& [state, marks] : states) {
        const bool differs = std::any_of(marks.begin(), marks.end(), [](DifferenceMark mark) {
            return mark == DifferenceMark::LastBit || mark == DifferenceMark::Values;
        });
        if (differs)
            return state;
    }
    return states.empty() ? std::string() : states.front().first;
}

ParamId sameParameter(const Checkpoint& from, ParamId param, const Checkpoint& to)
{
    if (param == kNoParam)
        return kNoParam;
    const std::string& name = from.params[index(param)].name;
    if (const auto found = to.findParam(name))
        return *found;
    const size_t colon = name.rfind(':');
    if (!from.parts.empty() && colon != std::string::npos)
        return to.findParam(std::string_view(name).substr(0, colon)).value_or(kNoParam);
    return kNoParam;
}

std::shared_ptr<DifferenceMarks> differenceMarks(std::shared_ptr<const JudgedDiff> judged, bool isRight,
    const Checkpoint& drawn, const std::vector<std::string>& states)
{
    const Checkpoint& compared = isRight ? *judged->right : *judged->left;
    const SideMarks known(*judged, isRight);
    auto out = std::make_shared<DifferenceMarks>();
    out->isRight = isRight;
    out->padding = judged->paddingDiffers;
    std::vector<ParamId> same(drawn.params.size(), kNoParam);
    for (size_t i = 0; i < same.size(); ++i) {
        const auto id = ParamId{static_cast<uint32_t>(i)};
        same[i] = &drawn == &compared ? id : sameParameter(drawn, id, compared);
    }
    out->params.assign(same.size(), nullptr);
    for (size_t i = 0; i < same.size(); ++i) {
        if (same[i] != kNoParam)
            out->params[i] = known.of(same[i]);
    }
    for (const std::string& state : drawn.stateNames()) {
        if (!states.empty() && std::find(states.begin(), states.end(), state) == states.end())
            continue;
        std::vector<DifferenceMark> marks(same.size(), DifferenceMark::NotCompared);
        for (size_t i = 0; i < same.size(); ++i) {
            if (same[i] != kNoParam)
                marks[i] = known.markOf(same[i], state);
            if (drawn.params[i].unit != kNoUnit) // a parameter without a unit is on no map
                out->present |= 1u << static_cast<unsigned>(marks[i]);
        }
        out->states.emplace_back(state, std::move(marks));
    }
    out->judged = std::move(judged);
    return out;
}

} // namespace shardscope::ui
