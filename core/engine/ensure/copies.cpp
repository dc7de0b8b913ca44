// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ensure/copies.h"

#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify_others.h"
#include "core/io/published_file.h"
#include "core/io/sha256.h"
#include "core/torchfile/zip/zip_directory.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace shardscope {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kManifestLimit = uint64_t{1} << 32;
constexpr uint64_t kPointerLimit = 4096;
constexpr uint64_t kScriptLimit = uint64_t{4} << 20;

/// A tag with a manifest of this program.
struct MadeTag {
    io::Path folder;
    std::string verb;
    std::string id; ///< of the plan
    std::string run; ///< identityOfRun(); empty where a copy was not made by `ensure`
    Manifest manifest;
    int64_t writtenNs = 0; ///< the manifest, which is the last file of a tag
};

std::string textAt(const Json& object, const char* key)
{
    const Json value = object.is_object() ? object.value(key, Json()) : Json();
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// Whether the manifest's name is that of a file in the tag folder or next to it.
bool isHarmless(const std::string& name)
{
    const std::string plain = isNextToTag(name) ? name.substr(kNextToTag.size()) : name;
    return !plain.empty() && plain != "." && plain != ".." && plain.find('/') == std::string::npos;
}

/// Nothing if the folder has no manifest of a plan. A link is no manifest: it may lead anywhere.
Result<std::optional<MadeTag>> madeTag(io::FileSystem& files, const io::Path& folder)
{
    const std::optional<MadeTag> none;
    const auto type = io::entryType(files, folder / kManifestName);
    if (!type && type.error().code == ErrorCode::NotFound)
        return none;
    SHARDSCOPE_CHECK(type);
    if (*type != io::FileType::Regular)
        return none;
    SHARDSCOPE_TRY(const std::string text, files.readSmall(folder / kManifestName, kManifestLimit));
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(folder / kManifestName));
    const Json json = Json::parse(text, nullptr, false);
    auto manifest = parseManifest(text);
    const Json plan = json.is_object() ? json.value("plan", Json()) : Json();
    if (!manifest || !plan.is_object())
        return none;
    for (const auto& [name, file] : manifest->files) {
        if (!isHarmless(name))
            return none;
    }
    return MadeTag{folder, textAt(plan, "verb"), textAt(plan, "id"),
        textAt(plan.value("source", Json()), "run"), std::move(*manifest), info.identity.modifiedNs};
}

/// What became of the files of a tag since its manifest was written.
struct Changes {
    bool isWhole = true; ///< no file is missing or truncated
    std::string changed; ///< a file that somebody else has written; empty if there is none
};
enum class Of { Tag, TagAndNextToIt };

tl::unexpected<Error> inTheWay(const std::string& why, const io::Path& tag)
{
    return fail(ErrorCode::TargetExists, "the folder for copies has a tag that is no copy: " + why,
        tag.string(), "give this folder as RUN to go on from it, or name another one with --into");
}

std::string changedText(const Changes& changes)
{
    return "a file was changed after the copy was made: " + toValidUtf8(changes.changed);
}

std::string foreignText(const std::string& name)
{
    return "it has something that is not part of the copy: " + toValidUtf8(name);
}

/// Looks at copies of one run.
class Copies
{
public:
    Copies(io::FileSystem& files, const std::string& run, JobContext& job)
        : m_files(files)
        , m_run(run)
        , m_job(job)
    {
    }

    [[nodiscard]] Result<Changes> changesOf(const MadeTag& tag, Of which) const
    {
        Changes out;
        std::vector<io::Path> paths;
        std::vector<const std::pair<const std::string, ManifestFile>*> listed;
        for (const auto& entry : tag.manifest.files) {
            if (which == Of::Tag && isNextToTag(entry.first))
                continue;
            paths.push_back(tag.folder / entry.first);
            listed.push_back(&entry);
        }
        const auto found = m_files.statAll(paths);
        for (size_t i = 0; i < found.size(); ++i) {
            if (!found[i] && found[i].error().code != ErrorCode::NotFound)
                return forward(found[i].error());
            FileState state = FileState::Lost;
            if (found[i]) {
                const bool isLater = found[i]->identity.modifiedNs > tag.writtenNs;
                SHARDSCOPE_TRY(state, stateOfFile(paths[i], listed[i]->second, *found[i], isLater));
            }
            out.isWhole = out.isWhole && state != FileState::Lost;
            if (state == FileState::Changed && out.changed.empty())
                out.changed = listed[i]->first;
        }
        return out;
    }

    /// Why the tag must stay as it is. Empty if it is nothing but a copy of the run.
    [[nodiscard]] Result<std::string> whyKept(const MadeTag& tag, Of which) const
    {
        if (tag.verb != "reshard" || tag.run.empty())
            return std::string("its manifest does not say of which run it is a copy");
        if (tag.run != m_run)
            return std::string("it is a copy of another run");
        SHARDSCOPE_TRY(const auto entries, m_files.list(tag.folder));
        for (const io::DirectoryEntry& entry : entries) {
            const bool isListed = entry.name == kManifestName || tag.manifest.files.contains(entry.name);
            if (!isListed || entry.type != io::FileType::Regular)
                return foreignText(entry.name);
        }
        SHARDSCOPE_TRY(const Changes changes, changesOf(tag, which));
        return changes.changed.empty() ? std::string() : changedText(changes);
    }

    /// Of the tag that the pointer file names, which a new copy would lead away from.
    [[nodiscard]] Status checkPointed(const io::Path& tag) const
    {
        const auto there = m_files.stat(tag);
        if (!there && there.error().code == ErrorCode::NotFound)
            return {};
        SHARDSCOPE_CHECK(there);
        SHARDSCOPE_TRY(const auto made, madeTag(m_files, tag));
        if (!made || made->verb != "reshard")
            return inTheWay("it has no manifest of one", tag);
        if (!made->run.empty() && made->run != m_run)
            return inTheWay("it is a copy of another run", tag);
        SHARDSCOPE_TRY(const Changes changes, changesOf(*made, Of::Tag));
        if (!changes.changed.empty())
            return inTheWay(changedText(changes), tag);
        return {};
    }

private:
    enum class FileState { Intact, Lost, Changed };

    /// Of a file that was found. `isLater`: it was written after the manifest.
    [[nodiscard]] Result<FileState> stateOfFile(
        const io::Path& path, const ManifestFile& listed, const io::FileInfo& info, bool isLater) const
    {
        const uint64_t bytes = info.identity.bytes;
        if (info.type != io::FileType::Regular || bytes > listed.bytes)
            return FileState::Changed;
        if (bytes == listed.bytes && !isLater)
            return FileState::Intact;
        if (bytes == listed.bytes) { // such as by `cp -r`
            const io::DigestKind kind = io::digestKindOf(listed.digest);
            SHARDSCOPE_TRY(const ManifestFile found, readManifestFile(m_files, path, kind, m_job));
            return found.digest == listed.digest ? FileState::Intact : FileState::Changed;
        }
        bool isLost = !isLater;
        if (isLater) {
            SHARDSCOPE_TRY(isLost, isTruncated(path));
        }
        return isLost ? FileState::Lost : FileState::Changed;
    }

    /// Whether a shorter file than was written is only its beginning: an archive without its end, or nothing.
    [[nodiscard]] Result<bool> isTruncated(const io::Path& path) const
    {
        SHARDSCOPE_TRY(const auto file, m_files.openRead(path));
        std::array<uint8_t, 2> head{};
        if (file->size() < head.size())
            return file->size() == 0;
        SHARDSCOPE_CHECK(file->readAt(0, head));
        const auto end = ZipDirectory::readEnd(*file);
        if (!end && end.error().code == ErrorCode::Unreadable)
            return forward(end.error());
        return head[0] == 'P' && head[1] == 'K' && !end;
    }

    io::FileSystem& m_files;
    const std::string& m_run;
    JobContext& m_job;
};

/// What the pointer file of the destination says; empty without one.
Result<std::string> pointerIn(io::FileSystem& files, const WantedCopy& copy)
{
    if (copy.plan.pointerName().empty())
        return std::string();
    auto text = files.readSmall(copy.destination / copy.plan.pointerName(), kPointerLimit);
    if (!text && text.error().code == ErrorCode::Unreadable)
        return forward(text.error());
    return text ? std::move(*text) : std::string();
}

bool isPlainName(const std::string& name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

/// Whether the manifest lists exactly the plan's files.
bool listsFilesOf(const Manifest& manifest, const WritePlan& plan)
{
    return manifest.files.size() == plan.files().size()
        && std::ranges::all_of(plan.files(), [&](const PlannedFile& file) {
               const auto found = manifest.files.find(file.path);
               return found != manifest.files.end() && found->second.bytes == file.bytes;
           });
}

/// What removing a copy removes.
struct CopyContent {
    bool isReshard = false; ///< of any run
    /// In this order: each is a file, or a folder that is empty by then. The manifest of a tag is the last of
    /// its files, so that what an interruption leaves is still a copy.
    std::vector<io::Path> paths;
    std::string whyKept; ///< why it must stay; empty if it may be removed
};

/// Folders with names that are not hidden.
Result<std::vector<io::Path>> foldersIn(io::FileSystem& files, const io::Path& folder)
{
    std::vector<io::Path> out;
    SHARDSCOPE_TRY(const auto entries, files.list(folder));
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.type == io::FileType::Directory && !entry.name.starts_with('.'))
            out.push_back(folder / entry.name);
    }
    return out;
}

/// Older copies in a folder of copies.
class OldCopies
{
public:
    OldCopies(io::FileSystem& files, const WantedCopy& current, JobContext& job)
        : m_files(files)
        , m_plan(current.plan)
        , m_copies(files, current.run, job)
    {
    }

    [[nodiscard]] Result<CopyContent> ofTag(const io::Path& folder, Of which = Of::Tag) const
    {
        CopyContent out;
        SHARDSCOPE_TRY(const auto tag, madeTag(m_files, folder));
        if (!tag)
            return out;
        out.isReshard = tag->verb == "reshard";
        SHARDSCOPE_TRY(out.whyKept, m_copies.whyKept(*tag, which));
        for (const auto& [name, file] : tag->manifest.files) {
            if (!isNextToTag(name))
                out.paths.push_back(folder / name);
        }
        out.paths.push_back(folder / kManifestName);
        out.paths.push_back(folder);
        return out;
    }

    /// Of a numbered checkpoint of a framework: one tag and the files next to it.
    [[nodiscard]] Result<CopyContent> ofNumbered(const io::Path& folder) const
    {
        CopyContent out;
        io::Path tag;
        std::vector<io::Path> next;
        SHARDSCOPE_TRY(const auto entries, m_files.list(folder));
        for (const io::DirectoryEntry& entry : entries) {
            if (entry.type != io::FileType::Directory)
                continue;
            SHARDSCOPE_TRY(CopyContent inside, ofTag(folder / entry.name, Of::TagAndNextToIt));
            if (inside.isReshard && tag.empty()) {
                out = std::move(inside);
                tag = folder / entry.name;
            }
        }
        for (const io::DirectoryEntry& entry : entries) {
            const io::Path path = folder / entry.name;
            if (!out.isReshard || !out.whyKept.empty() || path == tag)
                continue;
            bool isKnown = entry.type == io::FileType::Regular;
            if (isKnown) {
                SHARDSCOPE_TRY(isKnown, isNextTo(path, tag));
            }
            if (!isKnown)
                out.whyKept = foreignText(entry.name);
            next.push_back(path);
        }
        out.paths.insert(out.paths.begin(), next.begin(), next.end());
        out.paths.push_back(folder);
        return out;
    }

    [[nodiscard]] Status remove(const CopyContent& content) const
    {
        for (const io::Path& path : content.paths) {
            const Status removed = m_files.removeFile(path);
            if (!removed && m_files.stat(path)) // a file may be missing
                return removed;
        }
        return {};
    }

private:
    /// Whether this program wrote the file next to the tag: one of the framework, the pointer, or a script.
    [[nodiscard]] Result<bool> isNextTo(const io::Path& file, const io::Path& tag) const
    {
        const std::string name = file.filename().string();
        SHARDSCOPE_TRY(const auto made, madeTag(m_files, tag));
        if (made && made->manifest.files.contains(std::string(kNextToTag) + name))
            return true; // whyKept() has compared it
        const auto scripts = m_plan.runFolderFiles();
        const auto script = std::ranges::find(scripts, name, &OutputFile::path);
        const bool isPointer = name == m_plan.pointerName();
        if (!isPointer && script == scripts.end())
            return false;
        SHARDSCOPE_TRY(const std::string text, m_files.readSmall(file, kScriptLimit));
        return text == (isPointer ? tag.filename().string() : script->records.front().literal);
    }

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    Copies m_copies;
};

} // namespace

Result<std::string> identityOfRun(io::FileSystem& files, const io::Path& run)
{
    SHARDSCOPE_TRY(const io::Path path, files.canonical(run));
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(path));
    const std::string text = path.string() + '\n' + std::to_string(info.identity.inode);
    io::Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return sha.finishHex().substr(0, 16);
}

Result<CopyState> stateOf(io::FileSystem& files, const WantedCopy& copy, JobContext& job)
{
    const Copies copies(files, copy.run, job);
    const io::Path target = copy.destination / copy.plan.targetName();
    SHARDSCOPE_TRY(const std::string pointer, pointerIn(files, copy));
    const bool isNamed = copy.plan.pointerName().empty() || pointer == copy.plan.targetName();
    if (!isNamed && isPlainName(pointer))
        SHARDSCOPE_CHECK(copies.checkPointed(copy.destination / pointer));
    const auto there = files.stat(target);
    if (!there && there.error().code == ErrorCode::NotFound)
        return CopyState::Absent;
    SHARDSCOPE_CHECK(there);
    SHARDSCOPE_TRY(const auto made, madeTag(files, target));
    if (made && made->id == copy.plan.id() && listsFilesOf(made->manifest, copy.plan) && isNamed) {
        SHARDSCOPE_TRY(const Changes changes, copies.changesOf(*made, Of::TagAndNextToIt));
        if (changes.isWhole && changes.changed.empty())
            return CopyState::Whole;
    }
    SHARDSCOPE_CHECK(checkOwned(files, copy, job));
    return CopyState::Outdated;
}

Status checkOwned(io::FileSystem& files, const WantedCopy& copy, JobContext& job)
{
    const io::Path target = copy.destination / copy.plan.targetName();
    SHARDSCOPE_TRY(auto made, madeTag(files, target));
    if (!made)
        return inTheWay("it has no manifest of one", target);
    if (made->verb == "reshard" && made->id == copy.plan.id())
        made->run = copy.run; // the plan of just these files
    SHARDSCOPE_TRY(const std::string why, Copies(files, copy.run, job).whyKept(*made, Of::TagAndNextToIt));
    if (!why.empty())
        return inTheWay(why, target);
    return {};
}

Result<RemovedCopies> removeOldCopies(io::FileSystem& files, const CopiesFolder& copies,
    const WantedCopy& current, size_t keep, JobContext& job)
{
    const auto nameOf = [](const io::Path& path) { return path.filename().native(); };
    const OldCopies old(files, current, job);
    RemovedCopies out;
    std::vector<CopyContent> older;
    SHARDSCOPE_TRY(std::vector<io::Path> folders, foldersIn(files, copies.folder));
    std::erase_if(folders,
        [&](const io::Path& path) { return compareNaturally(nameOf(path), nameOf(copies.current)) >= 0; });
    std::ranges::sort(folders,
        [&](const io::Path& a, const io::Path& b) { return compareNaturally(nameOf(a), nameOf(b)) < 0; });
    for (const io::Path& path : folders) {
        auto content = copies.numbered ? old.ofNumbered(path) : old.ofTag(path);
        if (!content && content.error().code == ErrorCode::Cancelled)
            return forward(content.error());
        if (!content)
            out.kept.emplace_back(path, describe(content.error()));
        else if (content->isReshard && !content->whyKept.empty())
            out.kept.emplace_back(path, content->whyKept);
        else if (content->isReshard)
            older.push_back(std::move(*content));
    }
    const size_t others = keep - std::min<size_t>(keep, 1);
    for (size_t i = 0; i + others < older.size(); ++i) {
        SHARDSCOPE_CHECK(old.remove(older[i]));
        out.removed.push_back(older[i].paths.back());
    }
    if (!out.removed.empty())
        SHARDSCOPE_CHECK(files.syncDirectory(copies.folder));
    return out;
}

} // namespace shardscope
