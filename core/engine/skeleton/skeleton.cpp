// SPDX-License-Identifier: Apache-2.0
#include "core/engine/skeleton/skeleton.h"

#include "core/base/build_info.h"
#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/skeleton/skeleton_content.h"
#include "core/engine/skeleton/skeleton_zip.h"
#include "core/engine/write/preflight.h"
#include "core/io/outage_watch.h"
#include "core/io/published_file.h"
#include "core/torchfile/skeleton/skeleton_files.h"
#include "core/torchfile/torch_file.h"

#include <algorithm>
#include <cctype>

namespace shardscope {

namespace {

constexpr uint64_t kMaxPointerBytes = 4096;
constexpr std::string_view kEnding = ".zip";
constexpr std::string_view kAbout
    = "A checkpoint of DeepSpeed without its values, made by `shardscope skeleton` for a bug report.\n"
      "Open the zip file with Shardscope without unpacking it: `shardscope inspect FILE.zip`.\n"
      "skeleton.json lists the files and the parts kept of each, check.json the problems found in the\n"
      "checkpoint, and kept/N contains the kept bytes of file number N.\n";

/// The error on opening a file of another tag.
constexpr std::string_view kOtherTag = "the skeleton contains only the name of this tag";

/// One file for the skeleton.
struct Source {
    std::string path; ///< in the skeleton
    const CheckpointFile* file = nullptr; ///< null for pointer files of the run folder and for other tags
    io::Path from;
    bool ofOtherTag = false;
};

bool isPointer(const Source& source)
{
    return (source.file == nullptr && !source.ofOtherTag)
        || (source.file != nullptr && source.file->role == FileRole::Pointer);
}

/// Empty for files that are not state files of DeepSpeed.
std::optional<PickleForm> formOf(const CheckpointFile& file)
{
    switch (file.role) {
    case FileRole::ModelStates:
        return PickleForm::ModelStates;
    case FileRole::OptimStates:
        return PickleForm::Optimizer;
    case FileRole::LayerStates:
    case FileRole::ExpertStates:
        return PickleForm::Tensors;
    case FileRole::Pointer:
    case FileRole::Script:
    case FileRole::Manifest:
    case FileRole::Swap:
    case FileRole::Other:
        break;
    }
    // In a universal folder: "zero/NAME/fp32.pt".
    if (file.name.starts_with("zero/") && file.name.ends_with("/step.pt"))
        return PickleForm::Step;
    const bool universal = file.name.starts_with("zero/") && file.name.ends_with(".pt");
    return universal ? std::optional(PickleForm::Optimizer) : std::nullopt;
}

class SkeletonWriter
{
public:
    SkeletonWriter(
        io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request, JobContext& job)
        : m_files(files)
        , m_checkpoint(checkpoint)
        , m_request(request)
        , m_job(job)
        , m_run(skeletonRunName(checkpoint))
    {
    }

    Result<SkeletonReport> write()
    {
        collect();
        m_index.version = buildInfo().version;
        m_index.kind = kindName(m_checkpoint.kind);
        m_index.tag = m_checkpoint.tag;
        m_index.latest = m_checkpoint.latest;
        SHARDSCOPE_TRY(m_index.open, opened());
        SHARDSCOPE_TRY(const auto file, io::createForPublishing(m_files, m_request.out, m_request.force));
        SHARDSCOPE_CHECK(io::publishFile(m_files, *file, m_request.out, m_request.force, writeTo(*file)));
        m_report.files = m_index.files.size();
        m_report.redactedKeys = m_index.redactedKeys;
        m_report.keptKeys = m_index.keptKeys;
        return std::move(m_report);
    }

private:
    void collect()
    {
        std::set<std::string> seen;
        const auto add = [&](const std::string& path, const CheckpointFile* file, const io::Path& from) {
            if (path.starts_with(m_run + "/") && seen.insert(path).second)
                m_sources.push_back({path, file, from});
        };
        for (const char* pointer : {"latest", "latest_universal"}) {
            if (m_files.stat(m_checkpoint.runFolder / pointer))
                add(m_run + "/" + pointer, nullptr, m_checkpoint.runFolder / pointer);
        }
        for (const CheckpointFile& file : m_checkpoint.files) {
            const io::Path inside = io::Path(m_run) / m_checkpoint.tag / file.name;
            if (file.status != FileStatus::Missing)
                add(inside.lexically_normal().generic_string(), &file, file.path);
        }
        for (const std::string& tag : m_checkpoint.tags)
            collectTag(tag, seen);
        std::sort(m_sources.begin(), m_sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
    }

    /// Adds one file of another tag, so that it is recognised as a tag.
    void collectTag(const std::string& tag, std::set<std::string>& seen)
    {
        const io::Path folder = m_checkpoint.runFolder / tag;
        const auto entries = m_files.list(folder);
        if (tag == m_checkpoint.tag || !entries)
            return;
        for (const io::DirectoryEntry& entry : *entries) {
            const bool state = entry.type == io::FileType::Regular && parseCheckpointFileName(entry.name);
            const bool universal = entry.type == io::FileType::Directory && entry.name == "zero";
            const std::string inside
                = (io::Path(m_run) / tag / entry.name).lexically_normal().generic_string();
            if (state && seen.insert(inside).second)
                return m_sources.push_back({inside, nullptr, folder / entry.name, true});
            if (universal && seen.insert(inside).second)
                return m_sources.push_back({inside + "/parameters", nullptr, folder / entry.name, true});
        }
    }

    /// The path that opening the skeleton opens.
    [[nodiscard]] Result<std::string> opened() const
    {
        const std::string tag = m_run + "/" + m_checkpoint.tag;
        if (m_request.tagWasNamed)
            return tag;
        SHARDSCOPE_TRY(const io::Path asked, m_files.canonical(m_request.asked));
        const std::string inside = asked.lexically_relative(m_checkpoint.tagFolder).generic_string();
        if (inside == ".")
            return tag;
        const auto isIt = [&](const Source& source) { return source.path == tag + "/" + inside; };
        if (std::any_of(m_sources.begin(), m_sources.end(), isIt))
            return tag + "/" + inside;
        return m_checkpoint.latest || m_files.stat(m_checkpoint.runFolder / "latest_universal") ? m_run : tag;
    }

    Status writeTo(io::WriteFile& file)
    {
        uint64_t total = 0;
        for (const Source& source : m_sources)
            total += source.file != nullptr ? source.file->identity.bytes : 0;
        m_job.beginPhase("reading", total);
        SkeletonZip zip(file);
        SHARDSCOPE_CHECK(zip.add(name(kSkeletonAbout), kAbout));
        for (size_t i = 0; i < m_sources.size(); ++i) {
            SHARDSCOPE_CHECK(m_job.poll());
            SHARDSCOPE_TRY(SkeletonContent content, m_outages.judged(contentOf(m_sources[i])));
            if (!content.kept.bytes().empty())
                SHARDSCOPE_CHECK(zip.add(name(skeletonRecord(i)), content.kept.bytes()));
            m_index.files.back().kept = content.kept.extents();
            m_redacted.merge(content.redactedKeys);
            m_keptKeys.merge(content.keptKeys);
            m_job.advance(m_index.files.back().bytes);
        }
        m_index.redactedKeys.assign(m_redacted.begin(), m_redacted.end());
        m_index.keptKeys.assign(m_keptKeys.begin(), m_keptKeys.end());
        SHARDSCOPE_CHECK(zip.add(name(kSkeletonCheck), m_request.checkJson));
        SHARDSCOPE_CHECK(zip.add(name(kSkeletonIndex), skeletonIndexText(m_index)));
        SHARDSCOPE_CHECK(zip.finish());
        m_report.bytesAfter = zip.bytes();
        SHARDSCOPE_CHECK(file.sync());
        SHARDSCOPE_TRY(const auto written, SkeletonArchive::read(m_files, file.path()));
        return written->verify();
    }

    static std::string name(std::string_view record)
    {
        return std::string(kSkeletonPrefix) + "/" + std::string(record);
    }

    /// Appends the file to the index.
    Result<SkeletonContent> contentOf(const Source& source)
    {
        SkeletonFile& entry = m_index.files.emplace_back();
        entry.path = source.path;
        const auto info = m_files.stat(source.from);
        if (source.ofOtherTag) {
            entry.unreadable = Error{ErrorCode::Unsupported, std::string(kOtherTag), {}, {}};
            entry.modifiedNs = info ? info->identity.modifiedNs : 0;
            entry.bytes = info && info->type == io::FileType::Regular ? info->identity.bytes : 0;
            return SkeletonContent();
        }
        if (!info || info->type != io::FileType::Regular) {
            entry.unreadable = Error{ErrorCode::Unreadable, "the original is not a regular file", {}, {}};
            return SkeletonContent();
        }
        entry.bytes = info->identity.bytes;
        entry.modifiedNs = info->identity.modifiedNs;
        m_report.bytesBefore += entry.bytes;
        if (isPointer(source))
            return pointerOf(source, entry);
        const auto form = formOf(*source.file);
        if (!form) {
            m_report.sizeOnly.push_back(source.path);
            return SkeletonContent();
        }
        auto content = skeletonContent(m_files, source.from, *form, m_request.keep, m_job);
        if (content)
            return content;
        if (content.error().code == ErrorCode::Cancelled || content.error().code == ErrorCode::SourceChanged)
            return content;
        // Opening the skeleton must report the same error.
        const auto opened = TorchFile::open(m_files, source.from, ReadMode::Tolerant, m_job);
        entry.unreadable = opened ? content.error() : opened.error();
        m_report.sizeOnly.push_back(source.path);
        return SkeletonContent();
    }

    Result<SkeletonContent> pointerOf(const Source& source, const SkeletonFile& entry)
    {
        SkeletonContent out;
        if (entry.bytes > kMaxPointerBytes)
            return out;
        SHARDSCOPE_TRY(const std::string text, m_files.readSmall(source.from, kMaxPointerBytes));
        if (text.size() != entry.bytes)
            return fail(ErrorCode::SourceChanged, "the file changed while it was read", source.from.string());
        out.kept.add(0, text);
        return out;
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    const SkeletonRequest& m_request;
    JobContext& m_job;
    std::string m_run;
    io::OutageWatch m_outages;
    std::vector<Source> m_sources;
    SkeletonIndex m_index;
    std::set<std::string> m_redacted;
    std::set<std::string> m_keptKeys;
    SkeletonReport m_report;
};

Status checkKeys(const Checkpoint& checkpoint, const std::set<std::string>& keep)
{
    const std::vector<std::string>& known = checkpoint.clientStateKeys;
    for (const std::string& key : keep) {
        if (std::find(known.begin(), known.end(), key) != known.end())
            continue;
        std::string all;
        for (const std::string& other : known)
            all += (all.empty() ? "" : ", ") + toValidUtf8(other);
        return fail(ErrorCode::Usage, "the client state has no key `" + toValidUtf8(key) + "`", {},
            all.empty() ? "it has no keys" : "its keys are " + all);
    }
    return {};
}

Status checkTarget(io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request)
{
    std::string ending = request.out.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
        [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (ending != kEnding)
        return fail(ErrorCode::Usage, "a skeleton's name must end in .zip", request.out.string(),
            "Shardscope recognises a skeleton by this ending");
    const io::Path folder = request.out.parent_path();
    SHARDSCOPE_TRY(const io::Path place, files.canonical(folder.empty() ? io::Path(".") : folder));
    std::set<io::Path> readFolders{checkpoint.runFolder, checkpoint.tagFolder};
    for (const CheckpointFile& file : checkpoint.files)
        readFolders.insert(file.path.parent_path());
    for (const io::Path& folderThatIsRead : readFolders) {
        if (!files.stat(folderThatIsRead))
            continue; // a missing file
        SHARDSCOPE_TRY(const bool inside, isInFolder(files, place, folderThatIsRead));
        if (inside)
            return fail(ErrorCode::Usage,
                "the skeleton would be inside the run folder or a folder of the source checkpoint",
                request.out.string(), "choose a place outside of " + folderThatIsRead.string());
    }
    for (const CheckpointFile& file : checkpoint.files) {
        SHARDSCOPE_TRY(const bool same, isSameFile(files, request.out, file.path));
        if (same)
            return fail(ErrorCode::Usage, "the skeleton would replace a source file", request.out.string(),
                "choose another name");
    }
    return io::checkPublishable(files, request.out, request.force);
}

} // namespace

std::string skeletonRunName(const Checkpoint& checkpoint)
{
    const std::string name = checkpoint.runFolder.filename().string();
    const std::string_view digits = std::string_view(name).substr(std::min(name.size(), size_t{11}));
    const bool numbered = (name.starts_with("checkpoint-") || name.starts_with("checkpoint_"))
        && !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    return numbered ? name : name.ends_with(".ckpt") ? "run.ckpt" : "run";
}

Status requireSkeletonSource(io::FileSystem& files, const Checkpoint& checkpoint)
{
    const auto notSupported = [&](const std::string& what) {
        return fail(ErrorCode::Unsupported, what, checkpoint.tagFolder.string());
    };
    if (holdsNoValues(files, checkpoint.tagFolder))
        return notSupported("it is a skeleton already");
    if (hasNoRunFolder(checkpoint.kind) || isSwapKind(checkpoint.kind) || checkpoint.runFolder.empty())
        return notSupported("a skeleton can only be made from a DeepSpeed checkpoint, and this is "
            + (isSwapKind(checkpoint.kind)           ? std::string("a swap folder")
                    : isDistributed(checkpoint.kind) ? std::string("a distributed checkpoint of PyTorch")
                                                     : std::string("a single file")));
    return {};
}

Status checkSkeletonRequest(
    io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request)
{
    SHARDSCOPE_CHECK(requireSkeletonSource(files, checkpoint));
    SHARDSCOPE_CHECK(checkTarget(files, checkpoint, request));
    return checkKeys(checkpoint, request.keep);
}

Result<SkeletonReport> writeSkeleton(
    io::FileSystem& files, const Checkpoint& checkpoint, const SkeletonRequest& request, JobContext& job)
{
    const io::OutageWatch watch;
    SHARDSCOPE_CHECK(watch.judged(checkSkeletonRequest(files, checkpoint, request)));
    return SkeletonWriter(files, checkpoint, request, job).write();
}

} // namespace shardscope
