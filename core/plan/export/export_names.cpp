// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_names.h"

#include "core/base/glob.h"
#include "core/base/nearest_word.h"
#include "core/base/text.h"
#include "core/checkpoint/model/wrapped_names.h"
#include "core/plan/model/model_types.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

tl::unexpected<Error> fitsNothing(
    const Checkpoint& source, const std::string& option, const std::string& what, const std::string& word)
{
    std::vector<std::string> names;
    for (const Parameter& param : source.params)
        names.push_back(param.name);
    Hint hint = nearestHint(word, names, Hint::command("params") + " lists their names");
    if (option == "--strip-prefix") // nothing would remain of a whole name
        std::erase_if(hint.retries, [](const Retry& retry) { return retry.kind == Retry::Replace; });
    return fail(ErrorCode::Usage, option + " " + toValidUtf8(what) + " matches no exported parameter",
        source.tagFolder.string(), std::move(hint));
}

ParamId ownerOf(const Checkpoint& source, ParamId param)
{
    const ParamId owner = source.params[index(param)].sharedWith;
    return owner == kNoParam ? param : owner;
}

/// The parameters that match the patterns, one of each tied family.
Result<std::vector<ParamId>> chosen(const Checkpoint& source, const std::vector<std::string>& patterns)
{
    std::vector<bool> used(patterns.size(), false);
    std::vector<ParamId> out;
    for (const ParamId id : modelOrder(source)) {
        bool fits = patterns.empty();
        for (size_t i = 0; i < patterns.size(); ++i) {
            if (fitsGlob(patterns[i], source.params[index(id)].name)
                || fitsGlob(patterns[i], stateDictName(source, id)))
                fits = used[i] = true;
        }
        if (fits)
            out.push_back(id);
    }
    const auto unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        const std::string& pattern = patterns[static_cast<size_t>(unused - used.begin())];
        return fitsNothing(source, "--only", pattern, pattern);
    }
    std::set<ParamId> owners; // owners that match come first
    for (const ParamId id : out) {
        if (ownerOf(source, id) == id)
            owners.insert(id);
    }
    std::erase_if(out,
        [&](ParamId id) { return ownerOf(source, id) != id && !owners.insert(ownerOf(source, id)).second; });
    return out;
}

/// Replaces OLD by NEW if the name is OLD or begins with OLD and a dot.
bool rename(std::string& name, const std::pair<std::string, std::string>& change)
{
    const auto& [from, to] = change;
    if (!name.starts_with(from) || (name.size() > from.size() && name[from.size()] != '.'))
        return false;
    name.replace(0, from.size(), to);
    return true;
}

} // namespace

Result<std::vector<ExportName>> exportNames(const Checkpoint& source, const ExportOptions& options)
{
    SHARDSCOPE_TRY(const std::vector<ParamId> params, chosen(source, options.only));
    std::vector<ExportName> out;
    std::set<std::string> taken;
    std::vector<bool> used(options.renames.size(), false);
    bool stripped = options.stripPrefix.empty();
    for (const ParamId id : params) {
        ExportName entry{id, stateDictName(source, id)};
        if (!options.stripPrefix.empty() && entry.name.starts_with(options.stripPrefix)) {
            entry.name.erase(0, options.stripPrefix.size());
            stripped = true;
        }
        for (size_t i = 0; i < options.renames.size(); ++i) {
            if (rename(entry.name, options.renames[i])) {
                used[i] = true;
                break;
            }
        }
        if (entry.name.empty())
            return fail(ErrorCode::Usage,
                "nothing would remain of the name `" + toValidUtf8(source.params[index(id)].name) + "`", {},
                "use a shorter prefix, or rename this parameter");
        if (!taken.insert(entry.name).second)
            return fail(ErrorCode::Usage, "two tensors would have the name `" + toValidUtf8(entry.name) + "`",
                {}, "choose other names with --rename");
        out.push_back(std::move(entry));
    }
    if (!stripped)
        return fitsNothing(source, "--strip-prefix", options.stripPrefix, options.stripPrefix);
    const auto unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        const auto& [from, to] = options.renames[static_cast<size_t>(unused - used.begin())];
        return fitsNothing(source, "--rename", from + "=" + to, from);
    }
    return out;
}

} // namespace shardscope
