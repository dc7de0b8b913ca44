// SPDX-License-Identifier: Apache-2.0
#include "ui/models/difference_marks.h"

#include "core/layout/fragments.h"
#include "core/layout/slices/merged_slices.h"

#include <algorithm>
#include <array>
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

ParamId sideOf(const StateRegions& regions, bool isRight)
{
    return isRight ? regions.right : regions.left;
}

/// The marks of each parameter on one side of the comparison, by its id there.
class SideMarks
{
public:
    SideMarks(const JudgedDiff& judged, bool isRight)
        : m_isRight(isRight)
        , m_of((isRight ? judged.right : judged.left)->params.size())
        , m_all(judged.diff.regions)
        , m_states(m_all.states())
        , m_regions(m_of.size(), DifferenceMarks::kNoRegions)
    {
        for (const ParamDifference& difference : judged.diff.params) {
            const ParamId id = isRight ? difference.param.right : difference.param.left;
            if (id != kNoParam)
                m_of[index(id)] = &difference;
        }
        for (size_t i = m_states.size(); i-- > 0;)
            m_regions[index(sideOf(m_states[i], isRight))] = static_cast<uint32_t>(i);
    }

    [[nodiscard]] const ParamDifference* of(ParamId param) const { return m_of[index(param)]; }
    /// As DifferenceMarks::regions.
    [[nodiscard]] uint32_t regionsOf(ParamId param) const { return m_regions[index(param)]; }
    [[nodiscard]] DifferenceMark markOf(ParamId param, const std::string& state) const
    {
        const ParamDifference* difference = m_of[index(param)];
        if (difference == nullptr)
            return lacks(param, state) ? DifferenceMark::NotCompared : DifferenceMark::Equal;
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
        if (lacks(param, state))
            return DifferenceMark::NotCompared;
        return otherDiffers ? DifferenceMark::OtherState : DifferenceMark::Equal;
    }

private:
    [[nodiscard]] bool lacks(ParamId param, const std::string& state) const
    {
        for (size_t i = regionsOf(param); i < m_states.size() && sideOf(m_states[i], m_isRight) == param;
             ++i) {
            const StateRegions& found = m_states[i];
            if (m_all.stateName(found, m_isRight ? 1 : 0) == state
                && !(found.lacking[0].isEmpty() && found.lacking[1].isEmpty()))
                return true;
        }
        return false;
    }

    bool m_isRight;
    std::vector<const ParamDifference*> m_of;
    const DiffRegions& m_all;
    const std::vector<StateRegions>& m_states;
    std::vector<uint32_t> m_regions;
};

/// Null if `compared` is not merged from the slices of `drawn`, or in several steps.
std::shared_ptr<const MergedSlices> slicesOf(const Checkpoint& compared, const Checkpoint& drawn)
{
    const bool isMerged
        = compared.merged && compared.merged->of.get() == &drawn && !compared.merged->pieces.empty();
    return isMerged ? compared.merged : nullptr;
}

/// Visits the elements of the merged parameter that are elements [begin, end) of a slice. Returns whether
/// others may be among them.
template <class Visit>
bool forEachMergedRun(
    const std::vector<SlicePiece>& pieces, ParamId slice, uint64_t begin, uint64_t end, const Visit& visit)
{
    constexpr uint64_t kMostRuns = 4096;
    bool isExact = true;
    for (const SlicePiece& piece : pieces) {
        const uint64_t apart = std::max<uint64_t>(piece.sliceStride, 1);
        if (piece.slice != slice || piece.run == 0 || piece.count == 0 || end <= piece.sliceFirst)
            continue;
        const uint64_t before = begin > piece.sliceFirst ? begin - piece.sliceFirst : 0;
        const uint64_t from = before < piece.run ? 0 : (before - piece.run) / apart + 1;
        const uint64_t to = std::min(piece.count, (end - piece.sliceFirst - 1) / apart + 1);
        if (from >= to)
            continue;
        if (to - from > kMostRuns) {
            visit(piece.first + from * piece.stride, piece.first + (to - 1) * piece.stride + piece.run);
            isExact = false;
            continue;
        }
        for (uint64_t i = from; i < to; ++i) {
            const uint64_t here = piece.sliceFirst + i * piece.sliceStride;
            const uint64_t first = std::max(begin, here);
            const uint64_t last = std::min(end, here + piece.run);
            const uint64_t whole = piece.first + i * piece.stride;
            if (first < last)
                visit(whole + (first - here), whole + (last - here));
        }
    }
    return isExact;
}

/// Whether stored elements of a parameter are those that were compared, or can be found among them.
bool hasPlaces(const Checkpoint& drawn, ParamId param, const Checkpoint& compared, ParamId same)
{
    if (drawn.transposedOrder(param))
        return false;
    const auto slices = slicesOf(compared, drawn);
    return &drawn == &compared || (slices && !slices->pieces[index(same)].empty())
        || drawn.params[index(param)].elements == compared.params[index(same)].elements;
}

void add(ElementRuns::Part& sum, const ElementRuns::Part& further)
{
    sum.elements += further.elements;
    sum.count += further.count;
    sum.isExact = sum.isExact && further.isExact;
}

} // namespace

const std::vector<DifferenceMark>* DifferenceMarks::ofState(std::string_view state) const
{
    for (const auto& [name, marks] : states) {
        if (name == state)
            return &marks;
    }
    return nullptr;
}

MarkedPiece DifferenceMarks::ofPiece(
    ParamId param, std::string_view state, uint64_t begin, uint64_t end) const
{
    MarkedPiece out;
    const std::vector<DifferenceMark>* marks = ofState(state);
    if (marks == nullptr || index(param) >= marks->size())
        return out;
    out.mark = (*marks)[index(param)];
    if (isUniform(param) || out.mark == DifferenceMark::OneSide)
        return out;
    out.isWhole = false;
    const size_t side = isRight ? 1 : 0;
    const ParamId same = compared[index(param)];
    const std::vector<StateRegions>& all = judged->diff.regions.states();
    bool otherDiffers = false;
    const auto look = [&](uint64_t from, uint64_t to) {
        for (size_t i = regions[index(param)]; i < all.size() && sideOf(all[i], isRight) == same; ++i) {
            const ElementRuns::Part different = all[i].different.in(from, to);
            if (judged->diff.regions.stateName(all[i], side) != state) {
                otherDiffers = otherDiffers || different.elements > 0;
                continue;
            }
            add(out.different, different);
            out.lackingHere += all[i].lacking[side].in(from, to).count;
            out.lackingThere += all[i].lacking[1 - side].in(from, to).count;
        }
    };
    if (slices && !slices->pieces[index(same)].empty()) {
        const bool isExact = forEachMergedRun(slices->pieces[index(same)], param, begin, end, look);
        out.different.isExact = out.different.isExact && isExact;
    } else {
        look(begin, end);
    }
    if (out.different.elements > 0)
        out.mark = out.mark == DifferenceMark::LastBit ? out.mark : DifferenceMark::Values;
    else if (out.lackingHere + out.lackingThere > 0)
        out.mark = DifferenceMark::NotCompared;
    else
        out.mark = otherDiffers ? DifferenceMark::OtherState : DifferenceMark::Equal;
    return out;
}

DifferenceMark worseMark(DifferenceMark one, DifferenceMark other)
{
    using enum DifferenceMark;
    constexpr std::array kWorstFirst{Values, LastBit, OneSide, NotCompared, OtherState, Equal};
    return *std::ranges::find_if(
        kWorstFirst, [&](DifferenceMark mark) { return mark == one || mark == other; });
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

std::vector<std::string> DifferenceMarks::differentStates(ParamId param, uint64_t begin, uint64_t end) const
{
    std::vector<std::string> found;
    for (const auto& [state, marks] : states) {
        const MarkedPiece piece = ofPiece(param, state, begin, end);
        if (valuesOf(param, state) != nullptr && (piece.isWhole || piece.different.elements > 0))
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

namespace {

/// The marks of the fragments of one state of a parameter that files of the drawn checkpoint hold.
uint32_t marksOfPieces(const Checkpoint& drawn, const DifferenceMarks& marks, ParamId param,
    const std::string& state, size_t& room)
{
    uint32_t out = 0;
    const auto source = findState(drawn, param, state);
    if (!source || source->param != param)
        return out;
    forEachStoredFragmentOf(drawn, *source, 0, source->elements, [&](const Fragment& piece) {
        if (piece.file == kNoFile)
            return true;
        const MarkedPiece found
            = marks.ofPiece(param, state, piece.paramOffset, piece.paramOffset + piece.elements);
        out |= 1u << static_cast<unsigned>(found.mark);
        return room > 0 && --room > 0;
    });
    return out;
}

/// Which marks are on the map. With very many fragments the rest count as marked like their whole states.
void findPresent(const Checkpoint& drawn, DifferenceMarks& marks)
{
    size_t room = size_t{1} << 20; // fragments
    for (const auto& [state, ofState] : marks.states) {
        for (uint32_t i = 0; i < ofState.size(); ++i) {
            if (drawn.params[i].unit == kNoUnit) // a parameter without a unit is on no map
                continue;
            marks.present |= marks.isUniform(ParamId{i}) || room == 0
                ? 1u << static_cast<unsigned>(ofState[i])
                : marksOfPieces(drawn, marks, ParamId{i}, state, room);
        }
    }
}

} // namespace

std::shared_ptr<DifferenceMarks> differenceMarks(std::shared_ptr<const JudgedDiff> judged, bool isRight,
    const Checkpoint& drawn, const std::vector<std::string>& states)
{
    const Checkpoint& compared = isRight ? *judged->right : *judged->left;
    const SideMarks known(*judged, isRight);
    auto out = std::make_shared<DifferenceMarks>();
    out->isRight = isRight;
    out->padding = judged->paddingDiffers;
    out->slices = slicesOf(compared, drawn);
    const size_t count = drawn.params.size();
    out->compared.assign(count, kNoParam);
    out->params.assign(count, nullptr);
    out->regions.assign(count, DifferenceMarks::kNoRegions);
    for (size_t i = 0; i < count; ++i) {
        const auto id = ParamId{static_cast<uint32_t>(i)};
        const ParamId same = &drawn == &compared ? id : sameParameter(drawn, id, compared);
        out->compared[i] = same;
        if (same == kNoParam)
            continue;
        out->params[i] = known.of(same);
        if (hasPlaces(drawn, id, compared, same))
            out->regions[i] = known.regionsOf(same);
    }
    for (const std::string& state : drawn.stateNames()) {
        if (!states.empty() && std::find(states.begin(), states.end(), state) == states.end())
            continue;
        std::vector<DifferenceMark> marks(count, DifferenceMark::NotCompared);
        for (size_t i = 0; i < count; ++i) {
            if (out->compared[i] != kNoParam)
                marks[i] = known.markOf(out->compared[i], state);
        }
        out->states.emplace_back(state, std::move(marks));
    }
    out->judged = std::move(judged);
    findPresent(drawn, *out);
    return out;
}

} // namespace shardscope::ui
