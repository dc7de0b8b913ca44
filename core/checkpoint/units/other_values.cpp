// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/other_values.h"

#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/state_values.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Longer values may have something for each row or parameter.
constexpr size_t kMaxText = 256;
constexpr std::string_view kUnread = "this build does not read it";

std::string ownerText(const FlatUnit& unit)
{
    return unit.subgroup ? "of subgroup" + std::to_string(*unit.subgroup)
                         : "of group" + std::to_string(unit.group);
}

bool isOneNumber(const PickleGraph& graph, NodeId value)
{
    if (!looksLikeTensor(graph, value) || isTensorSubclass(graph, value))
        return false;
    const auto tensor = asTensor(graph, value);
    return tensor && tensor->elements() == 1;
}

bool hasEntry(const Reading& reading, const RankStates& source)
{
    return source.state != kNoNode && reading.content(source.file) != nullptr;
}

} // namespace

std::optional<std::string> plainValue(const Reading& reading, FileId file, NodeId value)
{
    const TorchFile& content = *reading.content(file);
    if (isOneNumber(content.pickle(), value)) {
        const auto number = scalarOf(reading, file, value);
        if (!number && !reading.hasNoValues())
            return std::nullopt;
        return number ? shortRealText(*number) : std::string("?"); // a skeleton has no values
    }
    ScalarSpelling spelling = spellShortly(content, value);
    if (!spelling.lacks.empty() || spelling.text.size() > kMaxText)
        return std::nullopt;
    return std::move(spelling.text);
}

void checkOtherValue(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    const RankStates& guide, const std::string& name)
{
    const auto valueOn = [&](const RankStates& source) {
        return stateValue(reading.content(source.file)->pickle(), source.state, name);
    };
    const NodeId own = valueOn(guide);
    const auto expected = plainValue(reading, guide.file, own);
    if (!expected)
        return setStateAside(reading, name,
            ownerText(unit) + " is " + classText(reading.content(guide.file)->pickle(), own), kUnread);
    for (const RankStates& source : perRank) {
        if (&source == &guide || !hasEntry(reading, source))
            continue;
        const NodeId value = valueOn(source);
        if (value == kNoNode || plainValue(reading, source.file, value) != expected)
            return setStateAside(
                reading, name, ownerText(unit) + " is not the same on all ranks", "every rank has its own");
    }
}

void checkFurtherValues(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    const std::set<std::string>& known)
{
    for (const RankStates& source : perRank) {
        if (!hasEntry(reading, source))
            continue;
        for (const StateValue& value : stateValues(reading.content(source.file)->pickle(), source.state)) {
            if (!known.contains(value.name))
                setStateAside(reading, value.name,
                    ownerText(unit) + " is only in `" + reading.out.file(source.file).name + "`",
                    "the other ranks do not have it");
        }
    }
}

void checkValuesOfGroups(const Reading& reading)
{
    const FileId file = reading.out.templateOptim;
    if (reading.content(file) == nullptr)
        return;
    const PickleGraph& graph = reading.content(file)->pickle();
    for (const ParamGroup& group : reading.out.groups) {
        const FlatUnit* first = nullptr;
        for (const UnitId id : group.units) {
            const FlatUnit& unit = reading.out.units[index(id)];
            if (unit.stateNode == kNoNode)
                continue;
            if (first == nullptr) {
                first = &unit;
                continue;
            }
            for (const StateValue& value : stateValues(graph, unit.stateNode)) {
                const bool isState = std::any_of(unit.states.begin(), unit.states.end(),
                    [&](const UnitState& state) { return state.name == value.name; });
                const NodeId other = stateValue(graph, first->stateNode, value.name);
                if (!isState && value.name != "step" && other != value.node
                    && (other == kNoNode
                        || plainValue(reading, file, other) != plainValue(reading, file, value.node)))
                    setStateAside(reading, value.name,
                        ownerText(unit) + " is another one than " + ownerText(*first).substr(3),
                        "the parts of a param group have their own");
            }
        }
    }
}

void checkOptimizerKeys(const Reading& reading, FileId file, NodeId optimizer)
{
    const PickleGraph& graph = reading.content(file)->pickle();
    const std::string where = "of the optimizer in `" + reading.out.file(file).name + "` is ";
    const auto items = mappingItems(graph, optimizer);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key != "state" && key != "param_groups" && !plainValue(reading, file, items[i + 1]))
            setStateAside(reading, key ? std::string(*key) : nodeText(graph, items[i]),
                where + classText(graph, items[i + 1]), kUnread);
    }
    std::set<int64_t> listed;
    for (const GroupEntry& group : readParamGroups(graph, optimizer))
        listed.insert(group.stateKeys.begin(), group.stateKeys.end());
    const auto states = mappingItems(graph, torchOptimizer(graph, optimizer).state);
    for (size_t i = 0; i + 1 < states.size(); i += 2) {
        const auto number = asInteger(graph, states[i]);
        const auto text = asString(graph, states[i]);
        if (!number || !listed.contains(*number))
            setStateAside(reading, text ? std::string(*text) : nodeText(graph, states[i]),
                where + classText(graph, states[i + 1]), "no param group lists it");
    }
}

} // namespace shardscope
