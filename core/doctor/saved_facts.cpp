// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/saved_facts.h"

#include "core/base/shell_quote.h"
#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/open/source_arguments.h"
#include "core/layout/address.h"

#include <algorithm>

namespace shardscope {

bool isOfZenflow(const Checkpoint& checkpoint)
{
    if (checkpoint.zenflow)
        return true;
    const ModelStates model = modelStates(checkpoint);
    return model && isMapping(*model.graph, model.configValue({"zero_optimization", "zenflow"}));
}

std::optional<double> stepsAhead(const Checkpoint& checkpoint)
{
    std::optional<double> most;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.step)
            most = std::max(most.value_or(*unit.step), *unit.step);
    }
    if (!most || !checkpoint.steps.globalSteps)
        return std::nullopt;
    return *most
        - static_cast<double>(*checkpoint.steps.globalSteps - checkpoint.steps.skippedSteps.value_or(0));
}

bool hasStateNamed(const Checkpoint& checkpoint, std::string_view name)
{
    return std::any_of(checkpoint.units.begin(), checkpoint.units.end(), [&](const FlatUnit& unit) {
        return unit.isFlat()
            && std::any_of(unit.states.begin(), unit.states.end(),
                [&](const UnitState& state) { return state.name == name; });
    });
}

bool isStoredAnywhere(const Checkpoint& checkpoint, ParamId id)
{
    const Parameter& param = checkpoint.params[index(id)];
    if (checkpoint.wholeOf(id) != nullptr)
        return true;
    if (param.unit == kNoUnit)
        return false;
    const FlatUnit& unit = checkpoint.units[index(param.unit)];
    for (const UnitState& state : unit.states) {
        for (const StoredRun& run : state.perRank) {
            if (run.isPresent())
                return true;
        }
    }
    return false;
}

bool isWrittenByShardscope(const CheckContext& context)
{
    return std::any_of(context.tag.begin(), context.tag.end(),
        [](const FolderEntry& entry) { return entry.name == kManifestName; });
}

ParamAddress addressOf(const Checkpoint& checkpoint, ParamId param, std::string_view state)
{
    return {checkpoint.params[index(param)].name, std::string(state)};
}

ParamAddress addressOf(const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t element)
{
    return {checkpoint.params[index(param)].name, std::string(state), std::pair{element, element + 1}};
}

std::string commandOn(const CheckContext& context, std::string_view verb)
{
    OpenOptions open = context.open;
    if (open.tag == context.found.latest)
        open.tag.clear(); // it is read without being named
    const SourceArguments source = sourceArguments(context.asked, open);
    std::string out = std::string(verb) + " " + shellQuoted(source.path.string()) + " DST";
    for (const std::string& word : source.options)
        out += " " + shellQuoted(word);
    return out;
}

std::string convertCommand(const CheckContext& context, const Finding& /*finding*/)
{
    return commandOn(context, "convert") + " --to universal";
}

std::string reshardCommand(const CheckContext& context, const Finding& /*finding*/)
{
    const Checkpoint& checkpoint = *context.checkpoint;
    std::string out = commandOn(context, "reshard") + " --world-size "
        + std::to_string(context.target.worldSize.value_or(checkpoint.parallel.ranks()));
    if (context.target.stage)
        out += " --stage " + std::to_string(*context.target.stage);
    return out;
}

} // namespace shardscope
