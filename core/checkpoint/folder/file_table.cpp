// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/file_table.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/folder/swap_table.h"
#include "core/checkpoint/model/file_names.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

enum class Copies { Same, OtherPickle, Other, Unknown };

/// Sizes and checksums, separately for storages and for everything else. Pickles of the same state may
/// differ: each rank keeps its own client state.
struct Contents {
    std::map<std::string_view, std::pair<uint64_t, uint32_t>> storages;
    std::map<std::string_view, std::pair<uint64_t, uint32_t>> others;
};

Contents contentsOf(const ZipDirectory& zip)
{
    Contents out;
    for (const ZipRecord& record : zip.records()) {
        // A digest of the other records. It depends on names, too.
        if (record.name == ".data/serialization_id")
            continue;
        auto& into = record.name.starts_with("data/") ? out.storages : out.others;
        into.emplace(record.name, std::pair(record.bytes, record.crcPresent ? record.crc32 : 0));
    }
    return out;
}

Result<ZipDirectory> directoryOf(const Reading& reading, const io::Path& path)
{
    SHARDSCOPE_TRY(const auto file, reading.files.openRead(path));
    return ZipDirectory::read(*file, ReadMode::Strict, reading.job);
}

Copies compare(const Reading& reading, const io::Path& left, const io::Path& right)
{
    const auto first = reading.files.stat(left);
    const auto second = reading.files.stat(right);
    if (!first || !second)
        return Copies::Unknown;
    if (first->identity.device == second->identity.device && first->identity.inode == second->identity.inode)
        return Copies::Same;
    const auto a = directoryOf(reading, left);
    const auto b = directoryOf(reading, right);
    if (!a || !b)
        return Copies::Unknown;
    const Contents here = contentsOf(*a);
    const Contents there = contentsOf(*b);
    if (here.storages != there.storages)
        return Copies::Other;
    return here.others == there.others ? Copies::Same : Copies::OtherPickle;
}

/// Adds a finding if `other`, from a further root, differs from `file` in sizes or checksums.
/// With storage local to each node, ranks that share a model file write it on every node (runtime/engine.py,
/// _configure_checkpointing).
void checkCopy(const Reading& reading, const CheckpointFile& file, const io::Path& other)
{
    const std::vector<std::string> places{
        "read from " + file.path.parent_path().string(), "also in " + other.parent_path().string()};
    switch (compare(reading, file.path, other)) {
    case Copies::Same:
        return;
    case Copies::OtherPickle:
        reading.add(code::kRankForeign, Severity::Warning,
            "two roots hold this file: its tensors are equal, its other values differ; the file of the first "
            "root is used",
            file.name, places);
        return;
    case Copies::Other:
        reading.add(code::kRankForeign, Severity::Error,
            "two roots hold different files of this name; they are of different steps or runs", file.name,
            places);
        return;
    case Copies::Unknown:
        reading.add(code::kFileUnreadable, Severity::Warning,
            "two roots hold this file, and one of them cannot be read to compare them; the file of the first "
            "root is used",
            file.name, places);
        return;
    }
}

FileRole roleOf(const std::string& name)
{
    if (name == kManifestName || name == "repair.json")
        return FileRole::Manifest;
    if (name == "latest" || name == "latest_universal")
        return FileRole::Pointer;
    if (name.ends_with(".py"))
        return FileRole::Script;
    return FileRole::Other;
}

/// By name: the files of earlier roots.
using SeenFiles = std::map<std::string, FileId>;

enum class Wanted { All, ModelStates };

Status addFolder(Reading& reading, const io::Path& folder, SeenFiles& seen, Wanted wanted = Wanted::All)
{
    SHARDSCOPE_TRY(const auto entries, reading.files.list(folder));
    std::vector<io::Path> paths;
    for (const io::DirectoryEntry& entry : entries)
        paths.push_back(folder / entry.name);
    const std::vector<Result<io::FileInfo>> infos = reading.files.statAll(paths);
    bool offloaded = false;
    std::vector<uint32_t> ranks; // ranks with an optimizer file here
    for (size_t i = 0; i < entries.size(); ++i) {
        SHARDSCOPE_CHECK(reading.job.poll());
        const io::DirectoryEntry& entry = entries[i];
        CheckpointFile file;
        file.path = paths[i];
        file.name = entry.name;
        const auto parsed = parseCheckpointFileName(entry.name);
        const bool isModel = parsed && parsed->role == FileRole::ModelStates;
        if (isModel ? wanted == Wanted::All && !reading.modelsFrom.empty() : wanted == Wanted::ModelStates)
            continue;
        if (parsed) {
            file.role = parsed->role;
            if (parsed->role != FileRole::LayerStates) // layers in the names show the owner
                file.rank = RankCoordinate{parsed->dp, 0, 0};
            if (parsed->role == FileRole::OptimStates)
                ranks.push_back(parsed->dp);
        } else {
            file.role = roleOf(entry.name);
        }
        // A folder with a state file's name stays in the table. Opening it reports what is wrong.
        if (entry.type != io::FileType::Regular && entry.name == kOffloadedTensors)
            offloaded = true;
        if ((entry.type == io::FileType::Directory && !parsed)
            || (offloaded && entry.name == kOffloadedTensors))
            continue;
        const FileId id{static_cast<uint32_t>(reading.out.files.size())};
        if (const auto [earlier, isNew] = seen.emplace(entry.name, id); !isNew) {
            if (parsed)
                checkCopy(reading, reading.out.file(earlier->second), file.path);
            continue;
        }
        const Result<io::FileInfo>& info = infos[i];
        if (info) {
            file.identity = info->identity;
        } else {
            file.status = FileStatus::Damaged;
            if (!parsed) // opening a state file reports the same
                reading.add(code::kFileUnreadable, Severity::Warning, "the file cannot be looked at",
                    entry.name, {describe(info.error())});
        }
        if (file.role == FileRole::Other)
            file.status = FileStatus::Foreign;
        reading.out.files.push_back(std::move(file));
    }
    if (offloaded) {
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        addOffloadedTensors(reading, folder / kOffloadedTensors, ranks);
    }
    return {};
}

} // namespace

io::Path tagFolderIn(const Reading& reading, const io::Path& root)
{
    const io::Path inner = root / reading.out.tag;
    if (reading.out.tag.empty())
        return root;
    const auto entries = reading.files.list(inner);
    // A tag folder that cannot be listed is still the tag that was asked for.
    return entries || entries.error().code != ErrorCode::NotFound ? inner : root;
}

namespace {

/// Gives each exchanged name the file that was saved under it.
void undoExchange(Reading& reading)
{
    std::vector<CheckpointFile>& files = reading.out.files;
    const std::vector<CheckpointFile> before
        = reading.exchanged.empty() ? std::vector<CheckpointFile>() : files;
    for (CheckpointFile& file : files) {
        const auto other = reading.exchanged.find(file.name);
        if (other == reading.exchanged.end())
            continue;
        const auto content = std::find_if(before.begin(), before.end(),
            [&](const CheckpointFile& one) { return one.name == other->second; });
        if (content == before.end())
            continue;
        file.path = content->path;
        file.identity = content->identity;
        file.status = content->status;
    }
}

} // namespace

Status buildFileTable(Reading& reading)
{
    SeenFiles seen;
    SHARDSCOPE_CHECK(addFolder(reading, reading.out.tagFolder, seen));
    for (const io::Path& root : reading.roots) {
        // A root is another run folder with the same tag, or a folder that directly holds the files.
        const io::Path folder = tagFolderIn(reading, root);
        if (folder == root && isSwapFolder(reading, root))
            continue; // read together with ZeRO-3's optimizer files
        const size_t before = reading.out.files.size();
        SHARDSCOPE_CHECK(addFolder(reading, folder, seen));
        reading.out.evidence.push_back(
            std::to_string(reading.out.files.size() - before) + " further files in " + folder.string());
    }
    if (!reading.modelsFrom.empty())
        SHARDSCOPE_CHECK(addFolder(reading, reading.modelsFrom, seen, Wanted::ModelStates));
    undoExchange(reading);
    return {};
}

namespace {

/// Index of every state file by (role, dp). The one with the wanted prefix has priority.
std::map<std::pair<FileRole, uint32_t>, FileId> filesByRank(const Reading& reading, bool zero3)
{
    std::map<std::pair<FileRole, uint32_t>, FileId> out;
    for (uint32_t i = 0; i < reading.out.files.size(); ++i) {
        const CheckpointFile& file = reading.out.files[i];
        const auto parsed = reading.nameOf(file);
        if (!parsed || parsed->mp != reading.out.modelRank || parsed->fastWriterPart)
            continue;
        if (parsed->role == FileRole::ModelStates && parsed->zero3Model != zero3)
            continue;
        if (parsed->role == FileRole::OptimStates && parsed->bf16Prefix != reading.bf16Prefix)
            continue;
        out.emplace(std::pair(parsed->role, parsed->dp), FileId{i});
    }
    return out;
}

FileId addMissing(const Reading& reading, std::string name, FileRole role, uint32_t dp)
{
    CheckpointFile file;
    file.path = reading.out.tagFolder / name;
    file.name = std::move(name);
    file.role = role;
    file.rank = RankCoordinate{dp, reading.out.place.tp, reading.out.place.pp};
    file.status = FileStatus::Missing;
    reading.out.files.push_back(std::move(file));
    return FileId{static_cast<uint32_t>(reading.out.files.size() - 1)};
}

void markStale(const Reading& reading, bool zero3)
{
    for (CheckpointFile& file : reading.out.files) {
        const auto parsed = reading.nameOf(file);
        if (!parsed || parsed->mp != reading.out.modelRank)
            continue;
        if (parsed->role == FileRole::OptimStates && parsed->bf16Prefix != reading.bf16Prefix) {
            file.status = FileStatus::Stale;
            reading.add(code::kMixedPrefix, Severity::Warning,
                "the optimizer file has the other precision prefix; a run in the other precision left it "
                "here",
                file.name);
            continue;
        }
        const bool perRank = parsed->role == FileRole::OptimStates
            || (parsed->role == FileRole::ModelStates && parsed->zero3Model);
        const bool wrongStage = parsed->role == FileRole::ModelStates && parsed->zero3Model != zero3;
        if (wrongStage || (perRank && parsed->dp >= reading.worldSize)) {
            file.status = FileStatus::Stale;
            reading.add(code::kStaleFile, Severity::Warning,
                wrongStage
                    ? "the model file was written by a run of another ZeRO stage"
                    : "the rank is beyond the world size of this checkpoint; an earlier, larger save left it",
                file.name, {"world size " + std::to_string(reading.worldSize)});
        }
    }
}

using FilesByRank = std::map<std::pair<FileRole, uint32_t>, FileId>;

FileId expectFile(
    const Reading& reading, const FilesByRank& byRank, FileRole role, uint32_t dp, const std::string& name)
{
    if (const auto found = byRank.find({role, dp}); found != byRank.end())
        return found->second;
    reading.add(role == FileRole::ModelStates ? code::kModelStatesMissing : code::kRankMissing,
        Severity::Error, "the file of rank " + std::to_string(dp) + " is missing", name,
        {"the checkpoint was saved by " + std::to_string(reading.worldSize) + " ranks"});
    return addMissing(reading, name, role, dp);
}

/// Reports that the names contain sequence-parallel ranks.
void reportSequenceNames(const Reading& reading)
{
    if (reading.sequenceRanks < 2)
        return;
    size_t others = 0;
    std::string first;
    for (const CheckpointFile& file : reading.out.files) {
        const auto parsed = parseCheckpointFileName(file.name);
        if (!parsed || parsed->mp == 0 || file.status == FileStatus::Missing)
            continue;
        ++others;
        if (first.empty())
            first = file.name;
    }
    reading.add(code::kSequenceNames, Severity::Info,
        "the number after `mp_rank_` in file names is that of a sequence-parallel rank: all files belong to "
        "one model slice",
        first,
        {std::to_string(reading.sequenceRanks) + " sequence-parallel ranks; " + std::to_string(others)
            + " files do not have `mp_rank_00` in their names"});
}

} // namespace

void markExpectedFiles(Reading& reading, bool zero3)
{
    const auto byRank = filesByRank(reading, zero3);
    Checkpoint& out = reading.out;
    out.optimFiles.clear();
    out.modelFiles.clear();
    for (uint32_t dp = 0; dp < reading.worldSize; ++dp) {
        const uint32_t mp = reading.modelRankInName(dp);
        const std::string name = optimFileName(dp, mp, reading.bf16Prefix);
        out.optimFiles.push_back(expectFile(reading, byRank, FileRole::OptimStates, dp, name));
        if (zero3)
            out.modelFiles.push_back(
                expectFile(reading, byRank, FileRole::ModelStates, dp, zero3ModelFileName(dp, mp)));
    }
    if (!zero3)
        out.modelFiles.push_back(
            expectFile(reading, byRank, FileRole::ModelStates, 0, modelFileName(out.modelRank)));
    markStale(reading, zero3);
    reportSequenceNames(reading);
}

void markExpectedModelFiles(Reading& reading)
{
    const auto byRank = filesByRank(reading, true);
    reading.out.modelFiles.clear();
    for (uint32_t dp = 0; dp < reading.worldSize; ++dp)
        reading.out.modelFiles.push_back(
            expectFile(reading, byRank, FileRole::ModelStates, dp, zero3ModelFileName(dp, 0)));
}

void markUnneeded(const Reading& reading, FileId id, std::string why)
{
    CheckpointFile& file = reading.out.files[index(id)];
    file.status = FileStatus::Stale;
    reading.add(code::kStaleFile, Severity::Warning, std::move(why), file.name);
}

} // namespace shardscope
