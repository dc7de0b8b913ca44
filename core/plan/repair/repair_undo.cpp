// SPDX-License-Identifier: Apache-2.0
#include "core/base/job_context.h"
#include "core/base/sha256.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/file_names.h"
#include "core/far/far_path.h"
#include "core/io/outage_watch.h"
#include "core/plan/compose/wrapper_carry.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"
#include "core/plan/model/write_plan.h"
#include "core/plan/repair/repair.h"
#include "core/plan/repair/repair_json.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

constexpr int kDeepest = 16; ///< nested folders

/// Collects the files of a copy.
struct Copy {
    io::FileSystem& files;
    JobContext& job;
    WritePlan plan = {};
    std::vector<CarriedFile> carried = {}; ///< one per file of the plan

    Status add(const io::Path& folder, const std::string& prefix, int depth)
    {
        SHARDSCOPE_CHECK(job.poll());
        if (depth > kDeepest)
            return fail(ErrorCode::LimitExceeded, "folders are nested too deep", folder.string());
        SHARDSCOPE_TRY(const auto entries, files.list(folder));
        for (const io::DirectoryEntry& entry : entries) {
            const io::Path path = folder / entry.name;
            if (prefix.empty() && entry.name == kManifestName)
                continue;
            SHARDSCOPE_TRY(const io::FileInfo info, files.stat(path));
            if (info.type == io::FileType::Directory) {
                SHARDSCOPE_CHECK(add(path, prefix + entry.name + "/", depth + 1));
                continue;
            }
            if (info.type == io::FileType::Regular)
                SHARDSCOPE_CHECK(addFile(path, prefix + entry.name, info.identity));
        }
        return {};
    }

    /// The checkpoint's files in further folders. If a name occurs twice, the tag folder's own file was read.
    Status addFromRoots(const Checkpoint& source)
    {
        std::set<std::string, std::less<>> known;
        for (const PlannedFile& file : plan.files)
            known.insert(file.path);
        for (const CheckpointFile& file : source.files) {
            if (file.status == FileStatus::Missing || file.path == source.tagFolder / file.name
                || known.contains(file.name))
                continue;
            SHARDSCOPE_TRY(const io::FileInfo info, files.stat(file.path));
            SHARDSCOPE_CHECK(addFile(file.path, file.name, info.identity));
            known.insert(file.name);
        }
        return {};
    }

private:
    Status addFile(const io::Path& path, const std::string& name, const io::FileIdentity& identity)
    {
        CarriedFile whole{name, kNoFile, static_cast<uint32_t>(plan.sources.size()), identity.bytes};
        SHARDSCOPE_TRY(PlanSource source, wholeFileSource(files, path, name, identity, whole));
        plan.sources.push_back(std::move(source));
        carried.push_back(std::move(whole));
        plan.files.push_back({name, identity.bytes});
        plan.readsBytes += identity.bytes;
        return {};
    }
};

/// A plan that copies a tag folder byte by byte, including any damage, and the scripts next to it. Only the
/// manifest is new. Links are
/// followed. Verifies only that the copy has the source's bytes, not their meaning. Error: Unreadable.
Result<WritePlanPtr> planCopy(
    io::FileSystem& files, const Checkpoint& source, bool writePointer, JobContext& job)
{
    Copy copy{files, job};
    WritePlan& plan = copy.plan;
    plan.verb = "repair";
    plan.targetName = source.tag;
    if (writePointer)
        plan.pointerName = isUniversal(source.kind) ? "latest_universal" : "latest";
    plan.outcome = OutcomeKind::Copy;
    SHARDSCOPE_TRY(plan.runFolderFiles, runFolderScripts(files, source));
    SHARDSCOPE_CHECK(copy.add(source.tagFolder, {}, 0));
    SHARDSCOPE_CHECK(copy.addFromRoots(source));
    plan.writesBytes = plan.readsBytes;
    plan.id = sha256Of("copy|" + plan.targetName + "|" + plan.pointerName + "\n" + identityText(plan.sources))
                  .substr(0, 16);
    nlohmann::json description{{"verb", "copy"}, {"id", plan.id}};
    putText(description, "tag", source.tag);
    plan.description = description.dump();
    plan.compose = [carried = std::move(copy.carried)](
                       const WritePlan&, size_t i) -> Result<OutputFile> { return verbatimCopy(carried[i]); };
    return std::make_shared<const WritePlan>(std::move(plan));
}

constexpr uint64_t kRecordLimitBytes = uint64_t{64} << 20;

bool isUndone(const std::string& code, const std::vector<std::string>& undone)
{
    const Diagnosis* diagnosis = findDiagnosis(code);
    return undone.empty() || std::any_of(undone.begin(), undone.end(), [&](const std::string& word) {
        return word == "all" || (diagnosis != nullptr && isNamedBy(*diagnosis, word));
    });
}

/// Reads repair.json of a repaired copy. A repair that ran on another host records paths of that host.
Result<RepairRecord> recordOf(io::FileSystem& files, const io::Path& path)
{
    const auto text = files.readSmall(path, kRecordLimitBytes);
    if (!text && text.error().code != ErrorCode::NotFound)
        return forward(text.error());
    if (!text)
        return fail(ErrorCode::NotACheckpoint,
            "this is not a repaired copy: it has no " + std::string(kRepairName), path.string(),
            "give the folder that `repair` wrote");
    SHARDSCOPE_TRY(RepairRecord record, readRepairText(*text, path));
    const auto there = far::farPathOf(path);
    const auto toHost = [&](auto& recorded) {
        if (there && io::Path(recorded).is_absolute()) // a donor can be a tag
            recorded = far::farPath(there->host, recorded).native();
    };
    toHost(record.source);
    toHost(record.options.donor);
    for (io::Path& root : record.roots)
        toHost(root);
    return record;
}

} // namespace

Result<UndoPlan> planUndo(io::FileSystem& files, const io::Path& repaired, const std::string& tag,
    const std::vector<std::string>& undone, bool writePointer, JobContext& job, SharedWork* shared)
{
    OpenOptions options;
    options.tag = tag;
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(files, repaired, options, job));
    const io::Path path = opened.checkpoint->tagFolder / kRepairName;
    SHARDSCOPE_TRY(const RepairRecord record, recordOf(files, path));
    std::vector<std::string> left = record.options.fixes;
    std::erase_if(left, [&](const std::string& code) { return isUndone(code, undone); });
    if (left.size() == record.options.fixes.size() && (!undone.empty() || record.options.values.empty()))
        return fail(ErrorCode::NotFound, "none of the findings to undo was repaired", path.string(),
            "the file lists the repaired findings under `fixed`");

    // Plan it as before, so that its sources can be compared with the recorded ones.
    RepairOptions again = record.options;
    again.writePointer = writePointer;
    OpenOptions open;
    open.tag = tagToOpen(record.options.fixes, record.tag);
    open.roots = record.roots;
    open.kind = record.kind;
    for (const io::Path& root : record.roots) {
        const auto info = files.stat(root);
        if (!info && info.error().code != ErrorCode::NotFound)
            return forward(info.error());
        if (!info)
            return fail(ErrorCode::NotFound,
                "the folder given to the repair with --root does not exist any more", root.string(),
                "undo needs the unchanged source");
    }
    const auto changed = [&](const std::string& why) {
        return fail(ErrorCode::SourceChanged, "the source has changed since the repair" + why, record.source,
            "undo needs the unchanged source");
    };
    const io::OutageWatch watch;
    auto planned = planRepair(files, record.source, open, again, job, shared);
    SHARDSCOPE_CHECK(watch.status());
    if (!planned && planned.error().code == ErrorCode::Cancelled)
        return forward(planned.error());
    if (!planned)
        return changed(": " + planned.error().message);
    if (sha256Of(identityText((*planned)->sources)) != record.identity)
        return changed({});

    UndoPlan out;
    out.source = (*planned)->repair->source;
    if (undone.empty() || (left.empty() && record.options.values.empty())) {
        SHARDSCOPE_TRY(out.plan, planCopy(files, *out.source, writePointer, job));
        return out;
    }
    again.fixes = left;
    open.tag = tagToOpen(left, record.tag);
    SHARDSCOPE_TRY(out.plan, planRepair(files, record.source, open, again, job, shared));
    return out;
}

} // namespace shardscope
