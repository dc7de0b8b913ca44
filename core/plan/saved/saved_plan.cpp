// SPDX-License-Identifier: Apache-2.0
#include "core/plan/saved/saved_plan.h"

#include "core/plan/model/saved_text.h"
#include "core/plan/saved/saved_options.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "shardscope/saved-plan/1";
constexpr std::string_view kSchemaFamily = "shardscope/saved-plan/";

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
    if (out.verb == "repair")
        out.options = readRepairOptions(object.at("options").dump());
    else if (object.at("options").contains("format")) // also a conversion to a form that no run reads
        out.options = readExportOptions(object.at("options").dump());
    else
        out.options = readReshardOptions(object.at("options").dump());
    out.id = object.at("id").get<std::string>();
    for (const Json& source : object.at("sources"))
        out.sources.push_back(readSource(source));
    for (const Json& file : object.at("files"))
        out.files.push_back({getText(file, "path"), file.at("bytes").get<uint64_t>()});
    return out;
}

/// Describes the first source file that changed. Empty if none did.
std::string firstChange(const SavedPlan& saved, const WritePlan& plan)
{
    for (const SavedPlan::Source& was : saved.sources) {
        const auto now = std::find_if(plan.sources().begin(), plan.sources().end(),
            [&](const PlanSource& source) { return source.name == was.name; });
        if (now == plan.sources().end())
            return "`" + was.name + "` was removed";
        if (now->identity.bytes != was.identity.bytes)
            return "`" + was.name + "` has another size";
        // Device and inode are not compared: another machine sees the same files with other numbers.
        if (now->identity.modifiedNs != was.identity.modifiedNs)
            return "`" + was.name + "` was rewritten";
    }
    if (plan.sources().size() != saved.sources.size())
        return "there are new files";
    return {};
}

SavedPlan withoutOptions(
    const WritePlan& plan, const Checkpoint& source, std::vector<io::Path> roots, io::Path destination)
{
    SavedPlan out;
    out.verb = plan.verb();
    out.source = source.runFolder;
    if (hasNoRunFolder(source.kind))
        out.source = isWeights(source.kind) && source.files.size() == 1 ? source.files.front().path
                                                                        : source.tagFolder;
    out.tag = source.tag;
    out.roots = std::move(roots);
    out.destination = std::move(destination);
    out.id = plan.id();
    for (const PlanSource& file : plan.sources())
        out.sources.push_back({file.name, file.identity});
    out.files = plan.files();
    return out;
}

} // namespace

SavedPlan savePlan(
    const ReshardPlan& plan, const Checkpoint& source, std::vector<io::Path> roots, io::Path destination)
{
    SavedPlan out = withoutOptions(plan, source, std::move(roots), std::move(destination));
    out.options = plan.options();
    return out;
}

SavedPlan savePlan(
    const ExportPlan& plan, const Checkpoint& source, std::vector<io::Path> roots, io::Path destination)
{
    SavedPlan out = withoutOptions(plan, source, std::move(roots), std::move(destination));
    out.options = plan.options();
    return out;
}

SavedPlan savePlan(const RepairPlan& plan, io::Path destination)
{
    const RepairInput& input = plan.input();
    SavedPlan out = withoutOptions(plan, *plan.source(), input.open.roots, std::move(destination));
    out.source = input.path;
    out.tag = input.open.tag;
    out.salvage = input.open.salvage;
    out.options = input.options;
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
    out["options"]
        = Json::parse(std::visit([](const auto& options) { return optionsText(options); }, saved.options));
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
            "run it with the version that saved it");
    if (schema != kSchema)
        return notOne();
    try {
        SavedPlan out = readPlan(object);
        if (out.verb != "reshard" && out.verb != "convert" && out.verb != "export" && out.verb != "repair")
            return fail(ErrorCode::Unsupported, "this build cannot run a plan of `" + out.verb + "`", path);
        return out;
    } catch (const Json::exception& error) {
        return fail(ErrorCode::Usage, std::string("the saved plan is incomplete or damaged: ") + error.what(),
            path, "make it again with `shardscope plan … -o FILE`");
    }
}

namespace {

tl::unexpected<Error> sourceChanged(const SavedPlan& saved, const std::string& how)
{
    return fail(ErrorCode::SourceChanged, "the source has changed since the plan was made: " + how,
        (saved.source / saved.tag).string(), "make the plan again with `shardscope plan … -o FILE`");
}

} // namespace

Status checkSavedPlan(const SavedPlan& saved, const WritePlan& plan)
{
    const bool sameFiles = std::equal(saved.files.begin(), saved.files.end(), plan.files().begin(),
        plan.files().end(),
        [](const PlannedFile& a, const PlannedFile& b) { return a.path == b.path && a.bytes == b.bytes; });
    if (saved.id == plan.id() && sameFiles)
        return {};
    const std::string change = firstChange(saved, plan);
    return sourceChanged(saved, change.empty() ? "a new plan gives another result" : change);
}

OpenOptions openOptionsOf(const SavedPlan& saved)
{
    OpenOptions open;
    open.tag = saved.tag;
    open.roots = saved.roots;
    open.salvage = saved.salvage;
    return open;
}

Result<std::shared_ptr<const RepairPlan>> planSavedRepair(
    io::FileSystem& files, const SavedPlan& saved, JobContext& job)
{
    auto plan
        = planRepair(files, saved.source, openOptionsOf(saved), std::get<RepairOptions>(saved.options), job);
    if (!plan && plan.error().code == ErrorCode::NotFound)
        return sourceChanged(saved, plan.error().message);
    if (plan)
        SHARDSCOPE_CHECK(checkSavedPlan(saved, **plan));
    return plan;
}

} // namespace shardscope
