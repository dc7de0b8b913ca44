// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/wrapper_carry.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/plan/compose/segment_cursors.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr uint64_t kScriptLimitBytes = uint64_t{4} << 20;

std::string baseName(const CheckpointFile& file)
{
    return file.name.substr(kNextToTag.size());
}

/// The source's framework files that can be read. Megatron's pointer is included only if it names this tag.
std::vector<FileId> frameworkFiles(const Checkpoint& source)
{
    std::vector<FileId> out;
    for (uint32_t i = 0; i < source.files.size(); ++i) {
        const CheckpointFile& file = source.files[i];
        if (isNextToTag(file.name) && file.status == FileStatus::Ok && source.wrapper != "megatron")
            out.push_back(FileId{i});
    }
    return out;
}

/// The number of processes that saved the source. 0 if it is not recorded. For a universal folder only the
/// random states show it.
uint32_t processesOf(const Checkpoint& source)
{
    if (!isConverted(source.kind))
        return source.parallel.dp * source.parallel.tp * source.parallel.pp;
    uint32_t processes = 0;
    for (const FileId id : frameworkFiles(source)) {
        if (const auto rank = randomStatesRank(source.wrapper, baseName(source.file(id))))
            processes = std::max(processes, *rank + 1);
    }
    return processes;
}

/// Random states by process. Runs of one process and of many use different names. Another run's files in the
/// folder are used only if the source's own are missing.
std::map<uint32_t, FileId> randomStates(const Checkpoint& source, const std::vector<FileId>& files)
{
    const uint32_t processes = processesOf(source);
    std::map<uint32_t, FileId> out;
    for (const FileId id : files) {
        const std::string name = baseName(source.file(id));
        const auto rank = randomStatesRank(source.wrapper, name);
        if (!rank)
            continue;
        const bool own = name == randomStatesName(source.wrapper, *rank, processes);
        if (const auto [at, inserted] = out.try_emplace(*rank, id); !inserted && own)
            at->second = id;
    }
    return out;
}

/// "process 1", "processes 1 and 2", "processes 1 to 7", "processes 1, 3 and 5"
std::string processesText(const std::vector<uint32_t>& ranks)
{
    if (ranks.size() == 1)
        return "process " + std::to_string(ranks.front());
    if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == ranks.size())
        return "processes " + std::to_string(ranks.front()) + " to " + std::to_string(ranks.back());
    std::string out = "processes ";
    for (size_t i = 0; i < ranks.size(); ++i)
        out += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
    return out;
}

void add(std::vector<Finding>& out, std::string_view code, Severity severity, std::string message,
    Place where = {})
{
    out.push_back({code, severity, std::move(message), std::move(where), {}});
}

void warnOfRandomStates(const Checkpoint& source, uint32_t ranks, std::vector<Finding>& out)
{
    const auto states = randomStates(source, frameworkFiles(source));
    std::vector<uint32_t> missing;
    std::vector<uint32_t> dropped;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (!states.contains(rank))
            missing.push_back(rank);
    }
    for (const auto& [rank, file] : states) {
        if (rank >= ranks)
            dropped.push_back(rank);
    }
    if (!missing.empty())
        add(out, code::kClientStatePerRank, Severity::Warning,
            "there are no random states for " + processesText(missing) + "; " + source.wrapper
                + " starts with new ones there",
            std::string(kNextToTag) + randomStatesName(source.wrapper, missing.front(), ranks));
    if (!dropped.empty())
        add(out, code::kClientStatePerRank, Severity::Info,
            "the random states of " + processesText(dropped)
                + " are not copied: the target has no such process");
}

void warnOfScheduler(const Checkpoint& source, uint32_t ranks, std::vector<Finding>& out)
{
    const uint32_t before = processesOf(source);
    if (ranks == before || before == 0)
        return;
    const bool scheduler = std::any_of(source.files.begin(), source.files.end(),
        [](const auto& file) { return isNextToTag(file.name) && baseName(file).starts_with("scheduler"); });
    if (scheduler)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "accelerate advances a scheduler once per process in every step, unless split_batches is on: it "
            "has the position that "
                + std::to_string(before) + " processes reached, and advances by " + std::to_string(ranks)
                + " per step",
            "../scheduler.bin");
}

void warnOfFolders(io::FileSystem& files, const Checkpoint& source, std::vector<Finding>& out)
{
    const auto entries = files.list(source.runFolder);
    std::vector<std::string> left;
    for (size_t i = 0; entries && i < entries->size(); ++i) {
        const io::DirectoryEntry& entry = (*entries)[i];
        const bool tag = std::find(source.tags.begin(), source.tags.end(), entry.name) != source.tags.end();
        if (entry.type == io::FileType::Directory && !tag && !entry.name.starts_with("."))
            left.push_back(toValidUtf8(entry.name));
    }
    if (!left.empty())
        out.push_back({code::kForeignFile, Severity::Info,
            "folders next to the tag are not copied; only " + source.wrapper + "'s plain files are", {},
            std::move(left)});
}

} // namespace

std::vector<CarriedFile> carriedFiles(const Checkpoint& source, std::optional<uint32_t> ranks)
{
    const std::vector<FileId> kept = frameworkFiles(source);
    const auto states = randomStates(source, kept);
    std::vector<CarriedFile> out;
    for (const FileId id : kept) {
        const CheckpointFile& file = source.file(id);
        std::string name = baseName(file);
        if (const auto rank = randomStatesRank(source.wrapper, name); rank && ranks) {
            if (*rank >= *ranks || states.at(*rank) != id)
                continue;
            name = randomStatesName(source.wrapper, *rank, *ranks);
        }
        out.push_back({.path = std::string(kNextToTag) + name, .file = id, .bytes = file.identity.bytes});
    }
    return out;
}

std::vector<Finding> wrapperWarnings(
    io::FileSystem& files, const Checkpoint& source, std::optional<uint32_t> ranks)
{
    std::vector<Finding> out;
    const bool perProcess = source.wrapper == "transformers" || source.wrapper == "accelerate";
    if (perProcess && ranks)
        warnOfRandomStates(source, *ranks, out);
    if (source.wrapper == "accelerate" && ranks)
        warnOfScheduler(source, *ranks, out);
    if ((source.wrapper == "accelerate" || source.wrapper == "lightning") && !ranks)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            source.wrapper + " asks for the tag `" + source.tag
                + "` by name; give the universal folder that name before it is loaded");
    if (perProcess)
        warnOfFolders(files, source, out);
    return out;
}

Result<std::vector<OutputFile>> runFolderScripts(io::FileSystem& files, const Checkpoint& source)
{
    std::vector<std::string> names{"zero_to_fp32.py", "zero_to_torch.py"};
    if (source.wrapper == "megatron" && source.tag == source.latest) // it speaks of that tag
        names.emplace_back("latest_checkpointed_iteration.txt");
    std::vector<OutputFile> out;
    for (const std::string& name : names) {
        auto text = files.readSmall(source.runFolder / name, kScriptLimitBytes);
        if (!text && text.error().code == ErrorCode::NotFound)
            continue;
        if (!text)
            return forward(std::move(text.error()));
        OutputFile script;
        script.path = name;
        script.mode = name.ends_with(".py") ? 0755 : 0644;
        script.torchArchive = false;
        script.records.push_back({name, text->size(), OutputRecord::Content::Literal, std::move(*text), {}});
        out.push_back(std::move(script));
    }
    return out;
}

Result<PlanSource> wholeFileSource(io::FileSystem& files, const io::Path& path, const std::string& name,
    const io::FileIdentity& identity, CarriedFile& carried)
{
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(path));
    if (info.identity != identity)
        return fail(ErrorCode::SourceChanged, "the file changed while the plan was made", path.string(),
            "wait until no process writes to it");
    carried.mode = (info.mode & 0777) | 0600;
    ZipRecord whole;
    whole.name = path.filename().string();
    whole.bytes = info.identity.bytes;
    whole.inflatedBytes = whole.bytes;
    whole.crcPresent = false;
    return PlanSource{path, name, info.identity, {std::move(whole)}};
}

Result<PlanSource> wholeFileSource(io::FileSystem& files, const CheckpointFile& file, CarriedFile& carried)
{
    return wholeFileSource(files, file.path, file.name, file.identity, carried);
}

OutputFile verbatimCopy(const CarriedFile& carried)
{
    OutputFile out;
    out.path = carried.path;
    out.mode = carried.mode;
    out.torchArchive = false;
    out.copyOf = carried.source;
    OutputRecord record;
    record.name = carried.path;
    record.bytes = carried.bytes;
    record.content = OutputRecord::Content::Segments;
    record.cursor = wholeRecordCursor(carried.source, 0, 0, carried.bytes);
    out.records.push_back(std::move(record));
    return out;
}

} // namespace shardscope
