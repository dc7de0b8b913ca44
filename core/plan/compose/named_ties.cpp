// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/named_ties.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/plan/model/model_types.h"

#include <algorithm>

namespace shardscope {

namespace {

struct Tie {
    std::string name;
    ParamId owner = kNoParam;
};

/// Names may contain `=`. The first split into a listed name and a parameter is used.
Result<Tie> tieOf(const Checkpoint& source, const std::vector<std::string>& unheld, const std::string& text)
{
    const std::string option = "--tie " + toValidUtf8(text);
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
        return fail(
            ErrorCode::Usage, option + " is not NAME=OWNER", {}, "such as --tie lm_head.weight=embed.weight");
    bool isListed = false;
    for (; at != std::string::npos; at = text.find('=', at + 1)) {
        std::string name = text.substr(0, at);
        if (std::find(unheld.begin(), unheld.end(), name) == unheld.end())
            continue;
        isListed = true;
        if (const auto owner = source.findParam(text.substr(at + 1))) {
            const ParamId of = source.params[index(*owner)].sharedWith;
            return Tie{std::move(name), of == kNoParam ? *owner : of};
        }
    }
    if (isListed)
        return fail(ErrorCode::Usage, option + " names an owner that is not a parameter of the checkpoint",
            source.tagFolder.string(), "list the names with " + Hint::command("params"));
    const std::string name = text.substr(0, text.find('='));
    if (source.findParam(name))
        return fail(ErrorCode::Usage, option + ": the checkpoint holds `" + toValidUtf8(name) + "` itself",
            source.tagFolder.string(), "omit the option");
    std::string list;
    for (const std::string& missing : unheld)
        list += (list.empty() ? "`" : ", `") + toValidUtf8(missing) + "`";
    return fail(ErrorCode::Usage, option + " does not name a tensor that the model lists and no file holds",
        source.tagFolder.string(), list.empty() ? "there is none" : "such tensors are " + list);
}

} // namespace

Result<CheckpointPtr> withTies(CheckpointPtr source, const std::vector<std::string>& ties)
{
    if (ties.empty())
        return source;
    if (!source->parts.empty() || source->merged)
        return fail(ErrorCode::Unsupported,
            "ties of tensor slices and pipeline stages cannot be named with --tie",
            source->tagFolder.string());
    const std::vector<std::string> unheld = unheldNames(*source);
    auto out = std::make_shared<Checkpoint>(*source);
    for (const std::string& text : ties) {
        SHARDSCOPE_TRY(Tie tie, tieOf(*source, unheld, text));
        const Parameter& owner = out->params[index(tie.owner)];
        Parameter alias;
        alias.name = tie.name;
        alias.shape = owner.shape;
        alias.elements = owner.elements;
        alias.role = owner.role;
        alias.group = owner.group;
        alias.sharedWith = tie.owner;
        const ParamId id{static_cast<uint32_t>(out->params.size())};
        if (!out->paramByName.emplace(tie.name, id).second)
            return fail(ErrorCode::Usage, "--tie names `" + toValidUtf8(tie.name) + "` twice");
        out->params.push_back(std::move(alias));
        std::erase_if(out->findings, [&](const Finding& finding) {
            return finding.code == code::kAliasUnrecorded
                && finding.where == ParamAddress{tie.name, "weight"};
        });
    }
    return CheckpointPtr(std::move(out));
}

} // namespace shardscope
