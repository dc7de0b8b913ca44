// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/discover.h"

#include "core/base/finding_codes.h"
#include "core/base/nearest_word.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/distributed_folders.h"
#include "core/checkpoint/folder/folder_content.h"
#include "core/checkpoint/folder/run_listing.h"
#include "core/checkpoint/folder/run_search.h"
#include "core/checkpoint/folder/wrapper_files.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kPointerLimitBytes = 4096;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// MMEngine writes the path of its newest checkpoint into this file, and no `latest`
/// (hooks/checkpoint_hook.py).
constexpr std::string_view kMmenginePointer = "last_checkpoint";

bool isPlainName(std::string_view name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos
        && name.find('\0') == std::string_view::npos;
}

std::string_view strip(std::string_view text)
{
    static constexpr std::string_view kBlank = " \t\r\n\v\f";
    if (text.starts_with(kByteOrderMark))
        text.remove_prefix(kByteOrderMark.size());
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Finding unreadableFinding(const std::string& what, const std::string& where, const Error& error)
{
    return {code::kFileUnreadable, Severity::Error, what + " cannot be read: " + error.message, where,
        error.hint.text.empty() ? std::vector<std::string>() : std::vector<std::string>{error.hint.text}};
}

/// Whether a pointer file exists but cannot be read. A folder or FIFO of that name is not a pointer file.
bool isUnreadablePointer(io::FileSystem& files, const io::Path& path, const Result<std::string>& text)
{
    if (text || !isUnreadable(text.error()))
        return false;
    const auto info = files.stat(path);
    return !info || info->type == io::FileType::Regular;
}

void readPointer(io::FileSystem& files, const Folder& run, Discovery& out)
{
    if (!run.has("latest"))
        return;
    const auto text = files.readSmall(run.path / "latest", kPointerLimitBytes);
    if (isUnreadablePointer(files, run.path / "latest", text)) {
        out.findings.push_back(unreadableFinding("the pointer file `latest`", "latest", text.error()));
        return;
    }
    if (!text) {
        out.findings.push_back({code::kLatestDangling, Severity::Error,
            "the pointer file `latest` cannot be read", "latest", {describe(text.error())}});
        return;
    }
    out.latest = std::string(strip(*text));
    if (text->starts_with(kByteOrderMark))
        out.findings.push_back({code::kLatestDangling, Severity::Warning,
            "`latest` begins with a byte order mark, which stock DeepSpeed takes for part of the name",
            "latest", {"an editor added it; write the tag's name as plain text"}});
}

/// The folder that `latest_universal` names. Empty, with a finding, if it names none.
std::string universalTag(io::FileSystem& files, const Folder& run, Discovery& out)
{
    const auto text = files.readSmall(run.path / kUniversalPointer, kPointerLimitBytes);
    const std::string name = text ? std::string(strip(*text)) : std::string();
    if (isUnreadablePointer(files, run.path / kUniversalPointer, text)) {
        out.findings.push_back(unreadableFinding(
            "the pointer file `latest_universal`", std::string(kUniversalPointer), text.error()));
        return {};
    }
    if (isPlainName(name)) {
        const auto folder = files.list(run.path / name);
        if (folder || isUnreadable(folder.error()))
            return name; // chooseTag() reports why it cannot be read
    }
    out.findings.push_back({code::kLatestDangling, Severity::Error,
        "`latest_universal` does not name a folder next to it", std::string(kUniversalPointer),
        {text ? "it says `" + toValidUtf8(name.substr(0, 200)) + "`" : describe(text.error())}});
    return {};
}

/// The tag that MMEngine's pointer file names. Empty if it names no tag of this folder.
std::string mmengineTag(io::FileSystem& files, const Folder& run, const Discovery& out)
{
    const auto text = run.has(kMmenginePointer)
        ? files.readSmall(run.path / kMmenginePointer, kPointerLimitBytes)
        : Result<std::string>(std::string());
    std::string_view path = text ? strip(*text) : std::string_view();
    while (path.ends_with('/'))
        path.remove_suffix(1);
    const std::string name(path.substr(path.rfind('/') + 1)); // the folder may have been moved since
    return std::find(out.tags.begin(), out.tags.end(), name) == out.tags.end() ? std::string() : name;
}

/// The models in one folder of Accelerate, if there are several.
FoundRuns modelsIn(const io::Path& runFolder, const std::vector<std::string>& tags)
{
    FoundRuns models;
    for (const std::string& tag : tags) {
        if (isAccelerateModel(tag))
            models.paths.push_back((runFolder / tag).string());
    }
    return models.paths.size() > 1 ? models : FoundRuns();
}

/// Refuses to choose one of several models: `latest` names the last one that was saved, and the others are no
/// other steps of it.
Status requireOneModel(const Discovery& found)
{
    const FoundRuns models = modelsIn(found.runFolder, found.tags);
    if (models.paths.empty())
        return {};
    Error error = errorWithRuns(ErrorCode::NotFound,
        "Accelerate saved " + std::to_string(models.paths.size()) + " models in this folder", found.runFolder,
        models);
    error.hint = "choose a model with --tag, or give its folder";
    return forward(std::move(error));
}

/// Another number is another step, and no misspelling.
Hint tagHint(const std::string& wanted, const std::vector<std::string>& tags)
{
    const auto digitsOf = [](std::string text) {
        std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
        return text;
    };
    std::vector<std::string> alike = tags;
    std::erase_if(alike, [&](const std::string& tag) { return digitsOf(tag) != digitsOf(wanted); });
    return nearestHint(wanted, alike, "its newest tag is `" + tags.back() + "`");
}

Result<void> chooseTag(io::FileSystem& files, const std::string& wanted, Discovery& out)
{
    if (!wanted.empty()) {
        if (!isPlainName(wanted))
            return fail(ErrorCode::Usage, "a tag is a plain folder name, not `" + wanted + "`");
        const auto folder = listFolder(files, out.runFolder / wanted);
        if (!folder && isUnreadable(folder.error()))
            return forward(folder.error());
        if (!folder)
            return fail(ErrorCode::NotFound, "there is no tag `" + wanted + "` in this run folder",
                out.runFolder.string(), out.tags.empty() ? "" : tagHint(wanted, out.tags));
        out.tag = wanted;
        out.tagFolder = folder->path;
        out.foreignKind = foreignKindOf(files, *folder);
        return {};
    }
    const std::string list = !out.unreadableFolders.empty()
        ? "the newest tag is not known: `" + toValidUtf8(out.unreadableFolders.back()) + "` cannot be read"
        : out.tags.empty() ? "no tag folder holds checkpoint files"
                           : "name one with --tag; the newest is `" + out.tags.back() + "`";
    const auto isReported = [](const Finding& finding) {
        return finding.code == code::kFileUnreadable || finding.where == Place("latest");
    };
    if (!out.latest && std::ranges::any_of(out.findings, isReported))
        return {}; // a pointer file that cannot be read is not missing
    if (!out.latest) {
        out.findings.push_back({code::kLatestMissing, Severity::Error,
            "the pointer file `latest` is missing, so no tag is chosen", "latest", {list}});
        return {};
    }
    const auto dangling = [&](const std::string& why) {
        out.findings.push_back({code::kLatestDangling, Severity::Error,
            "`latest` names `" + toValidUtf8(out.latest->substr(0, 200)) + "`, and " + why, "latest",
            {list}});
    };
    if (!isPlainName(*out.latest)) {
        dangling("a tag is the plain name of a folder next to it");
        return {};
    }
    const auto folder = listFolder(files, out.runFolder / *out.latest);
    if (!folder && isUnreadable(folder.error())) {
        out.findings.push_back(
            unreadableFinding("the tag folder `" + toValidUtf8(*out.latest) + "`, which `latest` names,",
                *out.latest, folder.error()));
        return {};
    }
    if (!folder) {
        dangling("there is no such tag folder");
        return {};
    }
    const CheckpointKind foreign = foreignKindOf(files, *folder);
    if (!folder->isTagFolder() && isUnknown(foreign)) {
        dangling("that folder holds no state files of DeepSpeed");
        return {};
    }
    out.tag = *out.latest;
    out.tagFolder = folder->path;
    out.foreignKind = foreign;
    return {};
}

Result<Discovery> discoverNumbered(
    io::FileSystem& files, const Folder& output, std::vector<std::string> numbered, const std::string& tag);

/// What is known of a run folder before a tag is chosen.
Discovery withoutTag(io::FileSystem& files, const Folder& run)
{
    Discovery out;
    out.runFolder = run.path;
    readPointer(files, run, out);
    std::vector<Error> unreadable;
    out.tags = tagsIn(files, run, &unreadable);
    for (const Error& error : unreadable)
        out.unreadableFolders.push_back(io::Path(error.path).filename().string());
    return out;
}

/// `universal`: use the folder that `latest_universal` names, even if there is a `latest`.
Result<Discovery> discoverRun(
    io::FileSystem& files, const Folder& run, const std::string& tag, bool universal = false)
{
    if (isNumberedCheckpoint(tag) && isNumberedCheckpoint(run.path.filename().string()) && !run.has(tag)) {
        // Another checkpoint of the same output folder, which lists them as tags.
        if (const auto output = listFolder(files, run.path.parent_path()); output && output->hasFolder(tag))
            return discoverNumbered(files, *output, numberedCheckpoints(files, *output), tag);
    }
    Discovery out = withoutTag(files, run);
    std::string chosen = tag;
    if (chosen.empty() && run.has(kUniversalPointer) && (universal || !run.has("latest")))
        chosen = universalTag(files, run, out);
    if (chosen.empty() && !run.has("latest"))
        chosen = mmengineTag(files, run, out);
    if (chosen.empty())
        SHARDSCOPE_CHECK(requireOneModel(out));
    SHARDSCOPE_CHECK(chooseTag(files, chosen, out));
    out.wrapper = wrapperOf(run, out.tag);
    return out;
}

/// Unreadable if a checkpoint with a newer name cannot be read. An older checkpoint must not silently replace
/// it.
Status requireNewestKnown(io::FileSystem& files, const Folder& output, const std::string& newest)
{
    for (const io::DirectoryEntry& entry : output.entries) {
        if (!isFolderOrLink(entry) || !isNumberedCheckpoint(entry.name) || !tagLess(newest, entry.name))
            continue;
        const auto folder = files.list(output.path / entry.name);
        if (!folder && isUnreadable(folder.error()))
            return forward(folder.error());
    }
    return {};
}

/// A framework's output folder with its checkpoints. `tag` may name one of them; else it is a tag of the
/// newest one.
Result<Discovery> discoverNumbered(
    io::FileSystem& files, const Folder& output, std::vector<std::string> numbered, const std::string& tag)
{
    auto chosen = std::find(numbered.begin(), numbered.end(), tag);
    const std::string inner = chosen == numbered.end() ? tag : std::string();
    if (chosen == numbered.end() && isNumberedCheckpoint(tag)) {
        if (const auto folder = files.list(output.path / tag); !folder && isUnreadable(folder.error()))
            return forward(folder.error());
        return fail(ErrorCode::NotFound, "`" + toValidUtf8(tag) + "` holds no checkpoint of DeepSpeed",
            output.path.string(),
            numbered.empty() ? "" : "the newest that does is `" + numbered.back() + "`");
    }
    if (chosen == numbered.end())
        SHARDSCOPE_CHECK(requireNewestKnown(files, output, numbered.back()));
    if (chosen == numbered.end())
        chosen = std::prev(numbered.end());
    SHARDSCOPE_TRY(const Folder run, listFolder(files, output.path / *chosen));
    SHARDSCOPE_TRY(Discovery out, discoverRun(files, run, inner));
    numbered.erase(chosen);
    out.tags.insert(out.tags.begin(), numbered.begin(), numbered.end());
    return out;
}

/// PATH is a tag: Usage if `tag` names another one.
Result<Discovery> discoverTag(io::FileSystem& files, const Folder& tagFolder, const std::string& tag)
{
    if (!tag.empty() && tag != tagFolder.path.filename().string())
        return fail(ErrorCode::Usage, "this path is of a tag, and --tag names another one: `" + tag + "`",
            tagFolder.path.string(), "give the run folder, or omit --tag");
    Discovery out;
    out.foreignKind = foreignKindOf(files, tagFolder);
    out.tagFolder = tagFolder.path;
    out.tag = tagFolder.path.filename().string();
    out.runFolder = tagFolder.path.parent_path();
    if (const auto run = listFolder(files, out.runFolder)) {
        readPointer(files, *run, out);
        out.tags = tagsIn(files, *run);
        out.wrapper = wrapperOf(*run, out.tag);
    }
    if (std::find(out.tags.begin(), out.tags.end(), out.tag) == out.tags.end())
        out.tags.push_back(out.tag);
    return out;
}

/// Why a folder without a checkpoint cannot be opened. Names those below it.
Result<Discovery> failWithoutCheckpoint(io::FileSystem& files, const io::Path& folder, JobContext& job)
{
    SHARDSCOPE_TRY(const FoundRuns runs, runsBelow(files, folder, job));
    if (!runs.paths.empty())
        return forward(errorWithRuns(ErrorCode::NotACheckpoint,
            runs.paths.size() == 1
                ? std::string("this folder is no run, and one run is below it")
                : "this folder is no run, and " + std::to_string(runs.paths.size()) + " runs are below it",
            folder, runs));
    return fail(ErrorCode::NotACheckpoint,
        runs.more ? "no checkpoint was found in the first folders below this one"
                  : "nothing in this folder was written by DeepSpeed",
        folder.string(),
        "give a run folder (the one with `latest`), a tag folder, or a file of a checkpoint");
}

/// The universal folder that contains PATH, where PATH is `zero`, `zero/NAME` or a file in them.
std::optional<Folder> universalAround(io::FileSystem& files, const io::Path& path, io::FileType type)
{
    io::Path at = type == io::FileType::Directory ? path : path.parent_path();
    if (at.filename() != kUniversalFolder)
        at = at.parent_path();
    if (at.filename() != kUniversalFolder)
        return std::nullopt;
    auto folder = listFolder(files, at.parent_path());
    if (!folder || !isUniversalFolder(files, *folder))
        return std::nullopt;
    return std::move(*folder);
}

Result<Discovery> discoverFile(io::FileSystem& files, const io::Path& path, const std::string& tag)
{
    const std::string name = path.filename().string();
    if (name == "latest" || name == kUniversalPointer) {
        SHARDSCOPE_TRY(const Folder folder, listFolder(files, path.parent_path()));
        if (name == kUniversalPointer && isUniversalFolder(files, folder))
            return discoverTag(files, folder, tag); // ds_to_universal.py got a path that ends with a slash
        return discoverRun(files, folder, tag, name == kUniversalPointer);
    }
    if (parseCheckpointFileName(name)) {
        SHARDSCOPE_TRY(const Folder folder, listFolder(files, path.parent_path()));
        SHARDSCOPE_TRY(Discovery out, discoverTag(files, folder, tag));
        out.selectedFile = name;
        return out;
    }
    if (const auto parent = listFolder(files, path.parent_path());
        parent && !tagsIn(files, *parent).empty() && isWrapperFile(wrapperOf(*parent, tag), name)) {
        SHARDSCOPE_TRY(Discovery out, discoverRun(files, *parent, tag));
        out.selectedFile = std::string(kNextToTag) + name;
        if (!out.tagFolder.empty())
            return out;
    }
    Discovery single;
    single.tagFolder = path.parent_path();
    single.selectedFile = name;
    if (name.ends_with(".tensor.swp"))
        single.foreignKind = CheckpointKind::Swap;
    return single;
}

} // namespace

Result<Discovery> discover(
    io::FileSystem& files, const io::Path& given, const std::string& tag, JobContext& job)
{
    SHARDSCOPE_CHECK(job.poll());
    SHARDSCOPE_TRY(const io::Path path, files.canonical(given));
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(path));

    if (const auto universal = universalAround(files, path, info.type)) {
        SHARDSCOPE_TRY(Discovery out, discoverTag(files, *universal, tag));
        if (info.type != io::FileType::Directory)
            out.selectedFile = path.lexically_relative(universal->path).string();
        return out;
    }
    if (info.type != io::FileType::Directory)
        return discoverFile(files, path, tag);

    SHARDSCOPE_TRY(const Folder folder, listFolder(files, path));
    if (folder.entries.empty())
        return fail(ErrorCode::NotACheckpoint, "the folder is empty", path.string(),
            "give a run folder (the one with `latest`), a tag folder, or a file of a checkpoint");
    const CheckpointKind foreign = foreignKindOf(files, folder);
    if (folder.isTagFolder() || isUniversal(foreign))
        return discoverTag(files, folder, tag);
    if (folder.has("latest") || folder.has(kUniversalPointer) || !tagsIn(files, folder).empty())
        return discoverRun(files, folder, tag);
    if (!isUnknown(foreign)) {
        Discovery out;
        out.runFolder = path.parent_path();
        out.tagFolder = path;
        out.tag = path.filename().string();
        out.foreignKind = foreign;
        return out;
    }
    if (auto numbered = numberedCheckpoints(files, folder); !numbered.empty())
        return discoverNumbered(files, folder, std::move(numbered), tag);
    if (std::string weights = weightsFileIn(folder); !weights.empty()) {
        Discovery out;
        out.tagFolder = path;
        out.selectedFile = std::move(weights);
        return out;
    }
    SHARDSCOPE_TRY(auto distributed, discoverDistributed(files, path, tag));
    if (distributed)
        return std::move(*distributed);
    std::vector<Error> unreadable;
    (void)tagsIn(files, folder, &unreadable);
    if (!unreadable.empty()) // it is not known whether this folder holds a checkpoint
        return forward(std::move(unreadable.front()));
    return failWithoutCheckpoint(files, path, job);
}

Result<bool> holdsNoCheckpoint(io::FileSystem& files, const io::Path& folder, JobContext& job)
{
    SHARDSCOPE_TRY(const Folder listed, listFolder(files, folder));
    if (holdsCheckpoint(files, listed))
        return false;
    SHARDSCOPE_TRY(const FoundRuns runs, runsBelow(files, folder, job));
    return runs.paths.empty() && !runs.more;
}

std::vector<std::string> runsInstead(io::FileSystem& files, const Error& error, JobContext& job)
{
    if (error.code != ErrorCode::NotACheckpoint && error.code != ErrorCode::NotFound)
        return {};
    const auto folder = listFolder(files, error.path);
    if (!folder)
        return {};
    if (error.code == ErrorCode::NotFound)
        return modelsIn(folder->path, tagsIn(files, *folder)).paths;
    auto runs = runsBelow(files, folder->path, job);
    return runs ? std::move(runs->paths) : std::vector<std::string>();
}

Result<std::shared_ptr<const RunListing>> listRun(
    io::FileSystem& files, const io::Path& folder, bool isOutput, JobContext& job)
{
    SHARDSCOPE_CHECK(job.poll());
    SHARDSCOPE_TRY(Folder listed, listFolder(files, folder));
    RunListing out{folder, {}, isOutput ? Discovery() : withoutTag(files, listed),
        isOutput ? numberedCheckpoints(files, listed) : std::vector<std::string>()};
    out.entries = std::move(listed.entries);
    return std::make_shared<const RunListing>(std::move(out));
}

Result<Discovery> discoverIn(
    io::FileSystem& files, const RunListing& listing, const std::string& tag, JobContext& job)
{
    SHARDSCOPE_CHECK(job.poll());
    const Folder folder{listing.folder, listing.entries};
    if (!listing.numbered.empty())
        return discoverNumbered(files, folder, listing.numbered, tag);
    Discovery out = listing.run;
    SHARDSCOPE_CHECK(chooseTag(files, tag, out));
    out.wrapper = wrapperOf(folder, out.tag);
    return out;
}

} // namespace shardscope
