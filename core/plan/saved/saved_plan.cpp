// SPDX-License-Identifier: Apache-2.0
#include "core/plan/saved/saved_plan.h"

#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"
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
    out["records_sha256"] = source.records;
    if (!source.hasChecksums) {
        out["inode"] = source.identity.inode;
        out["changed_ns"] = source.identity.changedNs;
    }
    return out;
}

SavedPlan::Source readSource(const Json& object)
{
    SavedPlan::Source out;
    out.name = getText(object, "path");
    out.identity.bytes = getNumber<uint64_t>(object, "bytes");
    out.identity.modifiedNs = getNumber<int64_t>(object, "modified_ns");
    if (object.contains("records_sha256"))
        out.records = getText(object, "records_sha256");
    out.hasChecksums = !object.contains("inode");
    if (!out.hasChecksums) {
        out.identity.inode = getNumber<uint64_t>(object, "inode");
        out.identity.changedNs = getNumber<int64_t>(object, "changed_ns");
    }
    return out;
}

/// Another process runs the plan, in another folder.
void putPath(Json& object, const std::string& key, const io::Path& path)
{
    std::error_code error;
    const io::Path absolute = std::filesystem::absolute(path, error);
    putText(object, key, (error ? path : absolute).string());
}

io::Path getPath(const Json& object, const std::string& key)
{
    const io::Path path = getText(object, key);
    if (!path.is_absolute())
        throw std::invalid_argument("`" + key + "` is not an absolute path");
    return path;
}

SavedPlan readPlan(const Json& object)
{
    SavedPlan out;
    out.verb = object.at("verb").get<std::string>();
    out.source = getPath(object, "source");
    out.tag = getText(object, "tag");
    for (const Json& root : object.at("roots"))
        out.roots.push_back(getPath(root, "path"));
    out.salvage = object.value("salvage", false);
    out.destination = getPath(object, "destination");
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
        out.files.push_back({getText(file, "path"), getNumber<uint64_t>(file, "bytes")});
    return out;
}

SavedPlan::Source savedSource(const PlanSource& source)
{
    return {source.name, source.identity, recordsDigest(source),
        std::ranges::any_of(source.records, &ZipRecord::crcPresent)};
}

/// Describes how a source file changed. Empty if it did not.
std::string changeOf(const SavedPlan::Source& was, const PlanSource& source)
{
    const SavedPlan::Source now = savedSource(source);
    if (now.identity.bytes != was.identity.bytes)
        return "`" + was.name + "` has another size";
    // Device and inode alone are not compared: another machine sees the same files with other numbers.
    if (now.identity.modifiedNs != was.identity.modifiedNs)
        return "`" + was.name + "` was rewritten";
    if (!was.records.empty() && now.records != was.records)
        return "`" + was.name + "` has other records or checksums";
    if (!was.hasChecksums && now.identity.inode == was.identity.inode
        && now.identity.changedNs != was.identity.changedNs)
        return "`" + was.name + "` may have been written to, and has no checksums";
    return {};
}

/// Describes the first source file that changed. Empty if none did.
std::string firstChange(const SavedPlan& saved, const WritePlan& plan)
{
    for (size_t i = 0; i < saved.sources.size(); ++i) {
        const SavedPlan::Source& was = saved.sources[i];
        const auto isIt = [&](const PlanSource& source) { return source.name == was.name; };
        // A repair may read two files of one name.
        const bool isThere = i < plan.sources.size() && isIt(plan.sources[i]);
        const auto now = isThere ? plan.sources.begin() + static_cast<std::ptrdiff_t>(i)
                                 : std::ranges::find_if(plan.sources, isIt);
        if (now == plan.sources.end())
            return "`" + was.name + "` was removed";
        if (std::string change = changeOf(was, *now); !change.empty())
            return change;
    }
    if (plan.sources.size() != saved.sources.size())
        return "there are new files";
    return {};
}

} // namespace

SavedPlan savePlan(
    const WritePlan& plan, const Checkpoint& source, std::vector<io::Path> roots, io::Path destination)
{
    SavedPlan out;
    out.verb = plan.verb;
    out.source = source.runFolder;
    if (hasNoRunFolder(source.kind))
        out.source = isWeights(source.kind) && source.files.size() == 1 ? source.files.front().path
                                                                        : source.tagFolder;
    out.tag = source.tag;
    out.roots = std::move(roots);
    if (plan.repair) {
        const RepairInput& input = plan.repair->input;
        out.source = input.path;
        out.tag = input.open.tag;
        out.roots = input.open.roots;
        out.salvage = input.open.salvage;
        out.options = input.options;
    } else if (plan.exported) {
        out.options = plan.exported->options;
    } else {
        out.options = plan.reshard->options;
    }
    out.destination = std::move(destination);
    out.id = plan.id;
    for (const PlanSource& file : plan.sources)
        out.sources.push_back(savedSource(file));
    out.files = plan.files;
    return out;
}

std::string savedPlanText(const SavedPlan& saved)
{
    Json out;
    out["schema"] = kSchema;
    out["verb"] = saved.verb;
    putPath(out, "source", saved.source);
    putText(out, "tag", saved.tag);
    out["roots"] = Json::array();
    for (const io::Path& root : saved.roots) {
        Json entry;
        putPath(entry, "path", root);
        out["roots"].push_back(std::move(entry));
    }
    if (saved.salvage)
        out["salvage"] = true;
    putPath(out, "destination", saved.destination);
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
    // What is deeper is dropped: no plan has it, and dump() below is recursive.
    constexpr int kMostDepth = 16;
    const auto isShallow = [](int depth, Json::parse_event_t, const Json&) { return depth < kMostDepth; };
    const Json object = Json::parse(text, isShallow, false);
    if (!object.is_object() || !object.contains("schema") || !object.at("schema").is_string())
        return notOne();
    const auto schema = object.at("schema").get<std::string>();
    if (schema != kSchema && schema.starts_with(kSchemaFamily))
        return fail(ErrorCode::Unsupported,
            "the plan was saved in a form that this build does not know: " + schema, path,
            "run it with the version that saved it");
    if (schema != kSchema)
        return notOne();
    const auto damaged = [&](const std::exception& error) {
        return fail(ErrorCode::Usage, std::string("the saved plan is incomplete or damaged: ") + error.what(),
            path, "make it again with `shardscope plan … -o FILE`");
    };
    try {
        SavedPlan out = readPlan(object);
        if (out.verb != "reshard" && out.verb != "convert" && out.verb != "export" && out.verb != "repair")
            return fail(ErrorCode::Unsupported, "this build cannot run a plan of `" + out.verb + "`", path);
        return out;
    } catch (const Json::exception& error) {
        return damaged(error);
    } catch (const std::invalid_argument& error) {
        return damaged(error);
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
    const bool sameFiles = std::equal(saved.files.begin(), saved.files.end(), plan.files.begin(),
        plan.files.end(),
        [](const PlannedFile& a, const PlannedFile& b) { return a.path == b.path && a.bytes == b.bytes; });
    const std::string change = firstChange(saved, plan);
    if (saved.id == plan.id && sameFiles && change.empty())
        return {};
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

Result<WritePlanPtr> planSavedRepair(io::FileSystem& files, const SavedPlan& saved, JobContext& job)
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
