// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/parameter_words.h"

#include "core/base/nearest_word.h"
#include "core/layout/fragments.h"

#include <algorithm>
#include <iterator>

namespace shardscope::cli {

namespace {

Status checkStateName(const Checkpoint& checkpoint, const std::string& state,
    const std::vector<std::string>& known, const std::string& owner)
{
    if (std::find(known.begin(), known.end(), state) != known.end())
        return {};
    std::string list;
    for (const std::string& name : known)
        list += (list.empty() ? "it has " : ", ") + name;
    return fail(ErrorCode::Usage, owner + " has no state `" + state + "`", checkpoint.tagFolder.string(),
        nearestHint(state, known, list.empty() ? "it has no states here" : list));
}

/// True for a plain name, without the characters of the other address forms.
bool isBareName(const std::string& text)
{
    return text.find_first_of("#!+") == std::string::npos;
}

} // namespace

std::vector<std::string> parameterNames(const Checkpoint& checkpoint)
{
    std::vector<std::string> out;
    std::transform(checkpoint.params.begin(), checkpoint.params.end(), std::back_inserter(out),
        [](const Parameter& parameter) { return parameter.name; });
    return out;
}

Result<ParamId> paramAsked(const Checkpoint& checkpoint, const std::string& name)
{
    if (const auto found = checkpoint.findParam(name))
        return *found;
    return fail(ErrorCode::Usage, "the checkpoint has no parameter `" + name + "`",
        checkpoint.tagFolder.string(),
        nearestHint(name, parameterNames(checkpoint), Hint::command("params") + " lists them"));
}

Status checkState(const Checkpoint& checkpoint, ParamId param, const std::string& state)
{
    return checkStateName(
        checkpoint, state, statesOf(checkpoint, param), "`" + checkpoint.params[index(param)].name + "`");
}

Result<Address> addressAsked(const Checkpoint& checkpoint, const std::string& text)
{
    auto address = parseAddress(text, checkpoint);
    if (!address) {
        if (!isBareName(text))
            return forward(std::move(address).error());
        return fail(ErrorCode::Usage, "the checkpoint has no parameter `" + text + "`",
            checkpoint.tagFolder.string(),
            nearestHint(text, parameterNames(checkpoint),
                Hint::command("params")
                    + " lists them; other positions look like dp0.tp0.pp0/group0+42 or "
                      "FILE!data/7+512"));
    }
    if (const auto* named = std::get_if<ParamAddress>(&*address)) {
        SHARDSCOPE_TRY(const ParamId param, paramAsked(checkpoint, named->name));
        SHARDSCOPE_CHECK(checkState(checkpoint, param, named->state));
    }
    if (const auto* flat = std::get_if<FlatAddress>(&*address); flat != nullptr && !flat->state.empty())
        SHARDSCOPE_CHECK(checkStateName(checkpoint, flat->state, checkpoint.stateNames(), "the checkpoint"));
    return address;
}

} // namespace shardscope::cli
