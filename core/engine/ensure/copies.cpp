// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ensure/copies.h"

#include "core/base/sha256.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/model/file_names.h"
#include "core/engine/verify/made_target.h"

#include <algorithm>
#include <string>
#include <utility>

namespace shardscope {

namespace {

constexpr uint64_t kScriptLimit = uint64_t{4} << 20;

tl::unexpected<Error> inTheWay(const std::string& why, const io::Path& tag)
{
    return fail(ErrorCode::TargetExists, "the folder for copies has a tag that is no copy: " + why,
        tag.string(), "give this folder as RUN to go on from it, or name another one with --into");
}

std::string changedText(const TargetChanges& changes)
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

    /// Why the tag must stay as it is. Empty if it is nothing but a copy of the run.
    [[nodiscard]] Result<std::string> whyKept(const MadeTarget& tag, ChangesOf which) const
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
        SHARDSCOPE_TRY(const TargetChanges changes, changesOf(m_files, tag, which, m_job));
        return changes.changed.empty() ? std::string() : changedText(changes);
    }

    /// Of the tag that the pointer file names, which a new copy would lead away from.
    [[nodiscard]] Status checkPointed(const io::Path& tag) const
    {
        const auto there = m_files.stat(tag);
        if (!there && there.error().code == ErrorCode::NotFound)
            return {};
        SHARDSCOPE_CHECK(there);
        SHARDSCOPE_TRY(const auto made, madeTarget(m_files, tag));
        if (!made || made->verb != "reshard")
            return inTheWay("it has no manifest of one", tag);
        if (!made->run.empty() && made->run != m_run)
            return inTheWay("it is a copy of another run", tag);
        SHARDSCOPE_TRY(const TargetChanges changes, changesOf(m_files, *made, ChangesOf::Target, m_job));
        if (!changes.changed.empty())
            return inTheWay(changedText(changes), tag);
        return {};
    }

private:
    io::FileSystem& m_files;
    const std::string& m_run;
    JobContext& m_job;
};

bool isPlainName(const std::string& name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
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

    [[nodiscard]] Result<CopyContent> ofTag(const io::Path& folder, ChangesOf which = ChangesOf::Target) const
    {
        CopyContent out;
        SHARDSCOPE_TRY(const auto tag, madeTarget(m_files, folder));
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
            SHARDSCOPE_TRY(CopyContent inside, ofTag(folder / entry.name, ChangesOf::TargetAndNextToIt));
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
        SHARDSCOPE_TRY(const auto made, madeTarget(m_files, tag));
        if (made && made->manifest.files.contains(std::string(kNextToTag) + name))
            return true; // whyKept() has compared it
        const auto scripts = m_plan.runFolderFiles;
        const auto script = std::ranges::find(scripts, name, &OutputFile::path);
        const bool isPointer = name == m_plan.pointerName;
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
    Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return sha.finishHex().substr(0, 16);
}

Result<CopyState> stateOf(io::FileSystem& files, const WantedCopy& copy, JobContext& job)
{
    const io::Path target = copy.destination / copy.plan.targetName;
    SHARDSCOPE_TRY(const std::string pointer, pointerText(files, copy.plan, copy.destination));
    const bool isNamed = copy.plan.pointerName.empty() || pointer == copy.plan.targetName;
    if (!isNamed && isPlainName(pointer))
        SHARDSCOPE_CHECK(Copies(files, copy.run, job).checkPointed(copy.destination / pointer));
    const auto there = files.stat(target);
    if (!there && there.error().code == ErrorCode::NotFound)
        return CopyState::Absent;
    SHARDSCOPE_CHECK(there);
    SHARDSCOPE_TRY(const bool done, isDone(files, copy.plan, copy.destination, job));
    if (done)
        return CopyState::Whole;
    SHARDSCOPE_CHECK(checkOwned(files, copy, job));
    return CopyState::Outdated;
}

Status checkOwned(io::FileSystem& files, const WantedCopy& copy, JobContext& job)
{
    const io::Path target = copy.destination / copy.plan.targetName;
    SHARDSCOPE_TRY(auto made, madeTarget(files, target));
    if (!made)
        return inTheWay("it has no manifest of one", target);
    if (made->verb == "reshard" && made->id == copy.plan.id)
        made->run = copy.run; // the plan of just these files
    SHARDSCOPE_TRY(
        const std::string why, Copies(files, copy.run, job).whyKept(*made, ChangesOf::TargetAndNextToIt));
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
