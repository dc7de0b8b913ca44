// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/copy_plan.h"

#include "core/checkpoint/model/file_names.h"
#include "core/io/sha256.h"
#include "core/plan/model/saved_text.h"
#include "core/plan/model/source_list.h"
#include "core/plan/model/wrapper_carry.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>

namespace shardscope {

namespace {

constexpr int kDeepest = 16; ///< nested folders

class CopyPlan final : public WritePlan
{
public:
    CopyPlan(std::string tag, std::string pointer, std::vector<OutputFile> scripts)
        : m_tag(std::move(tag))
        , m_pointer(std::move(pointer))
        , m_scripts(std::move(scripts))
    {
    }

    Status add(
        io::FileSystem& files, const io::Path& folder, const std::string& prefix, int depth, JobContext& job)
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
                SHARDSCOPE_CHECK(add(files, path, prefix + entry.name + "/", depth + 1, job));
                continue;
            }
            if (info.type == io::FileType::Regular)
                SHARDSCOPE_CHECK(addFile(files, path, prefix + entry.name, info.identity));
        }
        return {};
    }

    /// The checkpoint's files in further folders. If a name occurs twice, the tag folder's own file was read.
    Status addFromRoots(io::FileSystem& files, const Checkpoint& source)
    {
        std::set<std::string, std::less<>> known;
        for (const PlannedFile& file : m_files)
            known.insert(file.path);
        for (const CheckpointFile& file : source.files) {
            if (file.status == FileStatus::Missing || file.path == source.tagFolder / file.name
                || known.contains(file.name))
                continue;
            SHARDSCOPE_TRY(const io::FileInfo info, files.stat(file.path));
            SHARDSCOPE_CHECK(addFile(files, file.path, file.name, info.identity));
            known.insert(file.name);
        }
        return {};
    }

    [[nodiscard]] std::string verb() const override { return "repair"; }
    [[nodiscard]] std::string id() const override
    {
        const std::string text = "copy|" + m_tag + "|" + m_pointer + "\n" + identityText(m_sources);
        io::Sha256 sha;
        sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        return sha.finishHex().substr(0, 16);
    }
    [[nodiscard]] std::string targetName() const override { return m_tag; }
    [[nodiscard]] std::string pointerName() const override { return m_pointer; }
    [[nodiscard]] OutcomeKind outcome() const override { return OutcomeKind::Copy; }
    [[nodiscard]] const std::vector<PlanSource>& sources() const override { return m_sources; }
    [[nodiscard]] const std::vector<PlanTensor>& tensors() const override { return m_tensors; }
    [[nodiscard]] const std::vector<PlannedFile>& files() const override { return m_files; }
    [[nodiscard]] Result<OutputFile> recipe(size_t i) const override { return verbatimCopy(m_carried[i]); }
    [[nodiscard]] std::vector<OutputFile> runFolderFiles() const override { return m_scripts; }
    [[nodiscard]] uint64_t readsBytes() const override { return m_bytes; }
    [[nodiscard]] uint64_t writesBytes() const override { return m_bytes; }
    [[nodiscard]] std::string describeJson() const override
    {
        nlohmann::json out{{"verb", "copy"}, {"id", id()}};
        putText(out, "tag", m_tag);
        return out.dump();
    }
    [[nodiscard]] const std::vector<Finding>& warnings() const override
    {
        static const std::vector<Finding> kNone;
        return kNone;
    }

private:
    Status addFile(io::FileSystem& files, const io::Path& path, const std::string& name,
        const io::FileIdentity& identity)
    {
        CarriedFile carried{name, kNoFile, static_cast<uint32_t>(m_sources.size()), identity.bytes};
        SHARDSCOPE_TRY(PlanSource whole, wholeFileSource(files, path, name, identity, carried));
        m_sources.push_back(std::move(whole));
        m_carried.push_back(std::move(carried));
        m_files.push_back({name, identity.bytes});
        m_bytes += identity.bytes;
        return {};
    }

    std::string m_tag;
    std::string m_pointer;
    std::vector<OutputFile> m_scripts;
    std::vector<PlanSource> m_sources;
    std::vector<PlannedFile> m_files;
    std::vector<CarriedFile> m_carried; ///< one per file
    std::vector<PlanTensor> m_tensors;
    uint64_t m_bytes = 0;
};

} // namespace

Result<std::shared_ptr<const WritePlan>> planCopy(
    io::FileSystem& files, const Checkpoint& source, bool writePointer, JobContext& job)
{
    const bool universal = isUniversal(source.kind);
    SHARDSCOPE_TRY(auto scripts, runFolderScripts(files, source));
    auto plan = std::make_shared<CopyPlan>(source.tag,
        !writePointer   ? ""
            : universal ? "latest_universal"
                        : "latest",
        std::move(scripts));
    SHARDSCOPE_CHECK(plan->add(files, source.tagFolder, {}, 0, job));
    SHARDSCOPE_CHECK(plan->addFromRoots(files, source));
    return std::shared_ptr<const WritePlan>(std::move(plan));
}

} // namespace shardscope
