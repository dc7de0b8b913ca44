// SPDX-License-Identifier: Apache-2.0
#include "core/plan/saved_plan.h"

#include "core/base/text.h"
#include "core/checkpoint/stage0.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "shardscope/saved-plan/1";
constexpr std::string_view kSchemaFamily = "shardscope/saved-plan/";

/// Paths are bytes: what is not UTF-8 goes along as hex, so that it comes back exactly.
void putText(Json& object, const std::string& key, const std::string& raw)
{
    object[key] = toValidUtf8(raw);
    if (!isValidUtf8(raw))
        object[key + "_hex"] = toHex(raw);
}

std::string fromHex(const std::string& hex)
{
    std::string escaped;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        escaped += "%" + hex.substr(i, 2);
    return percentDecode(escaped).value_or(std::string());
}

/// Throws nlohmann's exception when the key is absent or no string; parseSavedPlan() turns it into an Error.
std::string getText(const Json& object, const std::string& key)
{
    if (object.contains(key + "_hex"))
        return fromHex(object.at(key + "_hex").get<std::string>());
    return object.at(key).get<std::string>();
}

Json optionsJson(const ReshardOptions& options)
{
    Json out;
    out["world_size"] = options.worldSize;
    if (options.form == TargetForm::Universal)
        out["form"] = "universal";
    if (options.stage)
        out["stage"] = *options.stage;
    if (options.stage0Form)
        out["stage0_form"] = kindName(*options.stage0Form);
    if (options.tp)
        out["tp"] = *options.tp;
    if (options.pp)
        out["pp"] = *options.pp;
    if (options.ep)
        out["ep"] = *options.ep;
    if (options.patterns)
        putText(out, "patterns", *options.patterns);
    if (options.paddedVocabulary)
        out["padded_vocab_size"] = *options.paddedVocabulary;
    if (options.rowMajor)
        out["row_major"] = true;
    out["sub_group_size"] = options.subGroupSize ? Json(*options.subGroupSize) : Json(nullptr);
    if (!options.tagOut.empty())
        putText(out, "tag_out", options.tagOut);
    if (!options.optimizerOptions.empty())
        out["optimizer_options"] = options.optimizerOptions;
    out["latest"] = options.writePointer;
    out["allow"] = options.allow;
    return out;
}

ReshardOptions readOptions(const Json& object)
{
    ReshardOptions out;
    out.worldSize = object.at("world_size").get<uint32_t>();
    if (object.contains("form") && object.at("form").get<std::string>() == "universal")
        out.form = TargetForm::Universal;
    if (object.contains("stage"))
        out.stage = object.at("stage").get<int>();
    if (object.contains("stage0_form")) {
        out.stage0Form = stage0FormOf(object.at("stage0_form").get<std::string>());
        if (!out.stage0Form) // a name that is none: fails as a missing key does
            object.at("stage0_form").at("known");
    }
    if (object.contains("tp"))
        out.tp = object.at("tp").get<uint32_t>();
    if (object.contains("pp"))
        out.pp = object.at("pp").get<uint32_t>();
    if (object.contains("ep"))
        out.ep = object.at("ep").get<uint32_t>();
    if (object.contains("patterns"))
        out.patterns = getText(object, "patterns");
    if (object.contains("padded_vocab_size"))
        out.paddedVocabulary = object.at("padded_vocab_size").get<uint64_t>();
    if (object.contains("row_major"))
        out.rowMajor = object.at("row_major").get<bool>();
    if (const Json& size = object.at("sub_group_size"); !size.is_null())
        out.subGroupSize = size.get<uint64_t>();
    if (object.contains("tag_out"))
        out.tagOut = getText(object, "tag_out");
    if (object.contains("optimizer_options"))
        out.optimizerOptions = object.at("optimizer_options").get<std::vector<std::string>>();
    out.writePointer = object.at("latest").get<bool>();
    out.allow = object.at("allow").get<std::vector<std::string>>();
    return out;
}

Json sourceJson(const SavedPlan::Source& source)
{
    Json out;
    putText(out, "path", source.name);
    out["bytes"] = source.identity.bytes;
    out["modified_ns"] = source.identity.modifiedNs;
    return out;
}

SavedPlan::Source readSource(const Json& object)
{
    SavedPlan::Source out;
    out.name = getText(object, "path");
    out.identity.bytes = object.at("bytes").get<uint64_t>();
    out.identity.modifiedNs = object.at("modified_ns").get<int64_t>();
    return out;
}

SavedPlan readPlan(const Json& object)
{
    SavedPlan out;
    out.verb = object.at("verb").get<std::string>();
    out.source = getText(object, "source");
    out.tag = getText(object, "tag");
    for (const Json& root : object.at("roots"))
        out.roots.emplace_back(getText(root, "path"));
    out.salvage = object.value("salvage", false);
    out.destination = getText(object, "destination");
    out.options = readOptions(object.at("options"));
    out.id = object.at("id").get<std::string>();
    for (const Json& source : object.at("sources"))
        out.sources.push_back(readSource(source));
    for (const Json& file : object.at("files"))
        out.files.push_back({getText(file, "path"), file.at("bytes").get<uint64_t>()});
    return out;
}

/// The first source file that is not what it was, in words; empty when all are.
std::string firstChange(const SavedPlan& saved, const ReshardPlan& plan)
{
    for (const SavedPlan::Source& was : saved.sources) {
        const auto now = std::find_if(plan.sources().begin(), plan.sources().end(),
            [&](const PlanSource& source) { return source.name == was.name; });
        if (now == plan.sources().end())
            return "`" + was.name + "` is gone";
        if (now->identity.bytes != was.identity.bytes)
            return "`" + was.name + "` has another size";
        // Not device and inode: another machine sees the same files under other numbers.
        if (now->identity.modifiedNs != was.identity.modifiedNs)
            return "`" + was.name + "` was written again";
    }
    if (plan.sources().size() != saved.sources.size())
        return "there are further files";
    return {};
}

} // namespace

SavedPlan savePlan(
    const ReshardPlan& plan, const Checkpoint& source, std::vector<io::Path> roots, io::Path destination)
{
    SavedPlan out;
    out.verb = plan.verb();
    out.source = source.runFolder;
    out.tag = source.tag;
    out.roots = std::move(roots);
    out.destination = std::move(destination);
    out.options = plan.options();
    out.id = plan.id();
    for (const PlanSource& file : plan.sources())
        out.sources.push_back({file.name, file.identity});
    out.files = plan.files();
    return out;
}

std::string savedPlanText(const SavedPlan& saved)
{
    Json out;
    out["schema"] = kSchema;
    out["verb"] = saved.verb;
    putText(out, "source", saved.source.string());
    putText(out, "tag", saved.tag);
    out["roots"] = Json::array();
    for (const io::Path& root : saved.roots) {
        Json entry;
        putText(entry, "path", root.string());
        out["roots"].push_back(std::move(entry));
    }
    if (saved.salvage)
        out["salvage"] = true;
    putText(out, "destination", saved.destination.string());
    out["options"] = optionsJson(saved.options);
    out["id"] = saved.id;
    out["sources"] = Json::array();
    for (const SavedPlan::Source& source : saved.sources)
        out["sources"].push_back(sourceJson(source));
    out["files"] = Json::array();
    for (const PlannedFile& file : saved.files) {
        Json entry;
        putText(entry, "path", file.path);
        entry["bytes"] = file.bytes;
        out["files"].push_back(std::move(entry));
    }
    return out.dump(1) + "\n";
}

Result<SavedPlan> parseSavedPlan(const std::string& text, const std::string& path)
{
    const auto notOne = [&] {
        return fail(
            ErrorCode::Usage, "this is not a saved plan", path, "make one with `shardscope plan … -o FILE`");
    };
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object() || !object.contains("schema") || !object.at("schema").is_string())
        return notOne();
    const auto schema = object.at("schema").get<std::string>();
    if (schema != kSchema && schema.starts_with(kSchemaFamily))
        return fail(ErrorCode::Unsupported,
            "the plan was saved in a form that this build does not know: " + schema, path,
            "run it with the version that made it");
    if (schema != kSchema)
        return notOne();
    try {
        SavedPlan out = readPlan(object);
        if (out.verb != "reshard" && out.verb != "convert")
            return fail(ErrorCode::Unsupported, "this build cannot run a plan of `" + out.verb + "`", path);
        return out;
    } catch (const Json::exception& error) {
        return fail(ErrorCode::Usage, std::string("the saved plan is incomplete or damaged: ") + error.what(),
            path, "make it again with `shardscope plan … -o FILE`");
    }
}

Status checkSavedPlan(const SavedPlan& saved, const ReshardPlan& plan)
{
    const bool sameFiles = std::equal(saved.files.begin(), saved.files.end(), plan.files().begin(),
        plan.files().end(),
        [](const PlannedFile& a, const PlannedFile& b) { return a.path == b.path && a.bytes == b.bytes; });
    if (saved.id == plan.id() && sameFiles)
        return {};
    const std::string change = firstChange(saved, plan);
    return fail(ErrorCode::SourceChanged,
        "the source is no longer what the plan was made for: "
            + (change.empty() ? std::string("planning again gives another outcome") : change),
        (saved.source / saved.tag).string(), "make the plan again with `shardscope plan … -o FILE`");
}

} // namespace shardscope
