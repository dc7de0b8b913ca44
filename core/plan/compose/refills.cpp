// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/refills.h"

#include "core/base/text.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <iterator>

namespace shardscope {

namespace {

/// Its name in the base model of an adapter (peft, LoraModel).
std::string baseName(std::string name)
{
    for (const std::string_view prefix : {"module.", "base_model.model."}) {
        if (name.starts_with(prefix))
            name.erase(0, prefix.size());
    }
    constexpr std::string_view inside = ".base_layer";
    const size_t at = name.rfind(inside);
    if (at != std::string::npos)
        name.erase(at, inside.size());
    return name;
}

bool holdsAll(const Checkpoint& donor, const StateSource& state)
{
    bool all = true;
    forEachStoredFragmentOf(donor, state, 0, state.elements, [&](const Fragment& fragment) {
        return all = fragment.file != kNoFile && donor.isReadable(fragment.file);
    });
    return all;
}

} // namespace

std::optional<ParamId> Refills::paramOf(const Checkpoint& donor, const std::string& name)
{
    auto found = donor.findParam(name);
    if (!found)
        found = donor.findParam(baseName(name));
    if (!found)
        return std::nullopt;
    const ParamId owner = donor.params[index(*found)].sharedWith;
    return owner == kNoParam ? *found : owner;
}

Status Refills::requireAllOf(
    const std::string& state, const Choice& choice, const std::vector<ParamId>& params) const
{
    const CheckpointPtr& donor = choice.donor;
    const std::string& donorState = choice.state;
    for (const ParamId id : params) {
        const Parameter& param = m_source->params[index(id)];
        const auto refuse = [&](const std::string& why) {
            return fail(ErrorCode::Refused, "`" + toValidUtf8(param.name) + "` cannot be refilled: " + why,
                donor->tagFolder.string(), "name another checkpoint with --from");
        };
        const auto other = paramOf(*donor, param.name);
        if (!other)
            return refuse("the other checkpoint does not have it");
        if (donor->params[index(*other)].shape != param.shape)
            return refuse("it has a different shape there");
        if (m_source->transposedOrder(id) || donor->transposedOrder(*other))
            return fail(
                ErrorCode::Unsupported, "ZenFlow's columns are not refilled", donor->tagFolder.string());
        const auto from = findState(*donor, *other, donorState);
        if (!from)
            return refuse("it has no `" + donorState + "` there");
        const auto to = findState(*m_source, id, state);
        if (to && to->dtype != from->dtype && !canConvert(from->dtype, to->dtype))
            return refuse("its dtype there cannot be converted");
        if (!holdsAll(*donor, *from))
            return refuse("a part of it is lost there, too");
    }
    return {};
}

Status Refills::fill(const std::string& state, CheckpointPtr donor, const std::string& donorState,
    const std::vector<ParamId>& params)
{
    Choice choice{std::move(donor), donorState};
    SHARDSCOPE_CHECK(requireAllOf(state, choice, params));
    m_byState[state] = std::move(choice);
    return {};
}

Status Refills::fillOne(
    ParamId param, const std::string& state, CheckpointPtr donor, const std::string& donorState)
{
    Choice choice{std::move(donor), donorState};
    SHARDSCOPE_CHECK(requireAllOf(state, choice, {param}));
    m_ofParam[state][param] = std::move(choice);
    return {};
}

const Refills::Choice* Refills::choiceFor(ParamId param, std::string_view state) const
{
    const auto ofParams = m_ofParam.find(state);
    if (ofParams != m_ofParam.end() && ofParams->second.contains(param))
        return &ofParams->second.at(param);
    const auto choice = m_byState.find(state);
    return choice == m_byState.end() ? nullptr : &choice->second;
}

Status Refills::lose(const std::string& state, ParamId param, uint64_t begin, uint64_t end)
{
    if (m_source->transposedOrder(param))
        return fail(
            ErrorCode::Unsupported, "ZenFlow's columns are not refilled", m_source->tagFolder.string());
    Runs& runs = m_lost[state][param];
    auto at = runs.upper_bound(begin);
    if (at != runs.begin() && std::prev(at)->second >= begin)
        --at;
    while (at != runs.end() && at->first <= end) {
        begin = std::min(begin, at->first);
        end = std::max(end, at->second);
        at = runs.erase(at);
    }
    if (begin < end)
        runs.emplace(begin, end);
    return {};
}

const Refills::Runs* Refills::lostRunsOf(ParamId param, std::string_view state) const
{
    const auto ofState = m_lost.find(state);
    if (ofState == m_lost.end())
        return nullptr;
    const auto ofParam = ofState->second.find(param);
    return ofParam == ofState->second.end() ? nullptr : &ofParam->second;
}

uint64_t Refills::lostAt(ParamId param, std::string_view state, uint64_t element, uint64_t most) const
{
    const Runs* runs = lostRunsOf(param, state);
    if (runs == nullptr)
        return 0;
    const auto next = runs->upper_bound(element);
    if (next == runs->begin() || std::prev(next)->second <= element)
        return 0;
    return std::min(most, std::prev(next)->second - element);
}

uint64_t Refills::keptAt(ParamId param, std::string_view state, uint64_t element, uint64_t most) const
{
    const Runs* runs = lostRunsOf(param, state);
    if (runs == nullptr)
        return most;
    const auto next = runs->upper_bound(element);
    return next == runs->end() ? most : std::min(most, next->first - element);
}

std::vector<CheckpointPtr> Refills::donors() const
{
    std::vector<CheckpointPtr> out;
    const auto add = [&](const Choice& choice) {
        if (choice.donor && std::find(out.begin(), out.end(), choice.donor) == out.end())
            out.push_back(choice.donor);
    };
    for (const auto& [state, choice] : m_byState)
        add(choice);
    for (const auto& [state, ofParams] : m_ofParam) {
        for (const auto& [param, choice] : ofParams)
            add(choice);
    }
    return out;
}

void Refills::setSources(const Checkpoint* donor, std::shared_ptr<const std::vector<uint32_t>> sourceOfFile)
{
    m_sources[donor] = std::move(sourceOfFile);
}

Refills::Run Refills::runAt(ParamId param, std::string_view state, uint64_t element) const
{
    Run out;
    const Choice* choice = choiceFor(param, state);
    if (choice == nullptr || !choice->donor)
        return out;
    const Checkpoint& donor = *choice->donor;
    const auto other = paramOf(donor, m_source->params[index(param)].name);
    const auto found = other ? findState(donor, *other, choice->state) : Result<StateSource>(StateSource{});
    if (!other || !found)
        return out; // fill() has checked this
    forEachStoredFragmentOf(donor, *found, element, found->elements, [&](const Fragment& fragment) {
        out.fragment = fragment;
        return false;
    });
    out.source = (*m_sources.at(&donor))[index(out.fragment.file)];
    return out;
}

uint64_t Refills::bytesReadFor(ParamId param, std::string_view state) const
{
    const auto whole = findState(*m_source, param, state);
    if (!whole)
        return 0;
    uint64_t out = 0;
    forEachStoredFragmentOf(*m_source, *whole, 0, whole->elements, [&](const Fragment& stored) {
        const uint64_t end = stored.paramOffset + stored.elements;
        for (uint64_t at = stored.paramOffset; at < end;) {
            const uint64_t left = end - at;
            const uint64_t lost = stored.file == kNoFile ? left : lostAt(param, state, at, left);
            const Fragment from = lost == 0 ? stored : runAt(param, state, at).fragment;
            const uint64_t elements = lost == 0 ? keptAt(param, state, at, left)
                : from.elements == 0            ? lost
                                                : std::min(lost, from.elements);
            out += from.elements == 0 ? 0 : elements * itemSize(from.dtype);
            at += elements;
        }
        return true;
    });
    return out;
}

} // namespace shardscope
