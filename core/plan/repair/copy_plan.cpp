// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/copy_plan.h"

#include "core/base/sha256.h"
#include "core/checkpoint/model/file_names.h"
#include "core/plan/compose/wrapper_carry.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>

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

} // namespace

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

} // namespace shardscope
