// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/work_folder.h"

#include "core/base/build_info.h"
#include "core/base/sha256.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/work_folders.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/engine/write/work_content.h"
#include "core/plan/model/source_list.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <unordered_set>
#include <utility>

namespace shardscope {

namespace {

constexpr const char* kSchema = "shardscope/work/2";
constexpr uint64_t kPlanLimit = uint64_t{1} << 30;
constexpr uint64_t kJournalLimit = uint64_t{1} << 30;

std::span<const uint8_t> bytesOf(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Why a folder's plan differs from the wanted one.
std::string differenceOf(const std::string& foundText, const std::string& wantedText)
{
    using Json = nlohmann::ordered_json;
    const Json found = Json::parse(foundText, nullptr, false);
    const Json wanted = Json::parse(wantedText, nullptr, false);
    if (!found.is_object())
        return "its plan is damaged";
    for (const char* key : {"schema", "version"}) {
        if (!found.contains(key) || found[key] != wanted[key])
            return "another version of this program started it";
    }
    const Json& sources = wanted["sources"];
    if (!found.contains("sources") || found["sources"].size() != sources.size())
        return "it reads other source files";
    for (size_t i = 0; i < sources.size(); ++i) {
        const Json& before = found["sources"][i];
        const std::string file = "the source file " + sources[i]["name"].get<std::string>();
        if (!before.is_object() || before.value("name", Json()) != sources[i]["name"])
            return file + " is not one of its source files";
        if (before.value("bytes", Json()) != sources[i]["bytes"])
            return file + " now has another size";
        if (before.value("modified_ns", Json()) != sources[i]["modified_ns"])
            return file + " was modified";
        if (before.value("records_sha256", Json()) != sources[i]["records_sha256"])
            return file + " now has other records or checksums";
    }
    return "it has other options, or writes other files";
}

/// The name that a folder has while it is removed: that of a work folder, too.
io::Path asideOf(const io::Path& folder)
{
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string name = folder.filename().native();
    char& last = name.back(); // of the plan's ID
    last = kDigits[(kDigits.find(last) + 1) % kDigits.size()];
    return folder.parent_path() / name;
}

Result<std::string> readIfThere(io::FileSystem& files, const io::Path& path, uint64_t limit)
{
    auto text = files.readSmall(path, limit);
    if (!text && text.error().code == ErrorCode::NotFound)
        return std::string();
    return text;
}

/// Removes what an interrupted removal left: a folder of this user with nothing but a lock and leases.
/// Anything else of that name stays.
Status removeAside(io::FileSystem& files, const io::Path& aside)
{
    const auto there = files.stat(aside);
    if (!there && there.error().code == ErrorCode::NotFound)
        return {};
    const auto hold = io::holdFolder(aside, io::HoldKind::Own);
    if (!hold)
        return {};
    SHARDSCOPE_TRY(const auto entries, files.list(aside));
    const auto isRest = [](const io::DirectoryEntry& entry) {
        return isWorkFolderEntry(entry) && (entry.name == "lock" || entry.name == kLeaseFolder);
    };
    return std::ranges::all_of(entries, isRest) ? removeWorkTree(files, aside) : Status();
}

} // namespace

WorkFolder::WorkFolder(io::FileSystem& files, const WritePlan& plan, io::Path path)
    : m_files(files)
    , m_plan(plan)
    , m_path(std::move(path))
{
}

io::Path WorkFolder::pathFor(const WritePlan& plan, const io::Path& destination)
{
    return destination / ("." + plan.targetName + ".partial-" + plan.id);
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::open(io::FileSystem& files, const WritePlan& plan,
    const io::Path& destination, const LeaseOptions& lease, JobContext& job)
{
    return openHeld(
        files, plan, destination, [&](WorkFolder& folder) { return folder.hold(destination, lease, job); });
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::openPart(io::FileSystem& files, const WritePlan& plan,
    const io::Path& destination, Part part, const LeaseOptions& lease, JobContext& job)
{
    SHARDSCOPE_TRY(auto folder, openHeld(files, plan, destination, [&](WorkFolder& folder) {
        return folder.holdPart(destination, part, lease, job);
    }));
    SHARDSCOPE_CHECK(folder->prepareForParts());
    return folder;
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::openHeld(io::FileSystem& files, const WritePlan& plan,
    const io::Path& destination, const std::function<Status(WorkFolder&)>& hold)
{
    std::unique_ptr<WorkFolder> folder(new WorkFolder(files, plan, pathFor(plan, destination)));
    const io::Path& path = folder->m_path;
    constexpr int kMostTries = 20;
    for (int tries = 1;; ++tries) {
        const Status held = hold(*folder);
        if (held)
            break;
        // The previous holder may have removed the folder since it was found.
        const auto ours = folder->m_folder ? files.stat(path) : forward(held.error());
        folder->m_folder.reset();
        const auto there = files.stat(path);
        const bool isOther = ours && there && ours->identity.inode != there->identity.inode;
        const bool isGone = !there && there.error().code == ErrorCode::NotFound;
        if ((!isGone && !isOther) || tries == kMostTries)
            return forward(held.error());
    }
    SHARDSCOPE_CHECK(folder->readJournal());
    return folder;
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::look(
    io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    std::unique_ptr<WorkFolder> folder(new WorkFolder(files, plan, pathFor(plan, destination)));
    const auto there = files.stat(folder->m_path);
    if (!there && there.error().code == ErrorCode::NotFound)
        return nullptr;
    SHARDSCOPE_TRY(folder->m_folder, io::holdFolder(folder->m_path, io::HoldKind::Own));
    SHARDSCOPE_CHECK(folder->checkContent());
    SHARDSCOPE_CHECK(folder->readJournal());
    return folder;
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::join(
    io::FileSystem& files, const WritePlan& plan, io::Path workFolder, JobContext& job)
{
    // A client of a network file system may remember for a while that a new folder was absent.
    constexpr int kMostTries = 60;
    for (int tries = 1; tries < kMostTries; ++tries) {
        const auto there = files.stat(workFolder);
        if (there || there.error().code != ErrorCode::NotFound)
            break;
        SHARDSCOPE_CHECK(job.poll());
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    std::unique_ptr<WorkFolder> folder(new WorkFolder(files, plan, std::move(workFolder)));
    SHARDSCOPE_TRY(folder->m_folder, io::holdFolder(folder->m_path, io::HoldKind::Own));
    SHARDSCOPE_CHECK(folder->readJournal());
    if (!folder->holdsThisPlan())
        return fail(ErrorCode::Refused,
            "this process planned another job than the first one: "
                + differenceOf(folder->m_planText, planText(plan)),
            folder->m_path.string(),
            "all processes must run the same version of the program and see the same files");
    return folder;
}

Status WorkFolder::readJournal()
{
    SHARDSCOPE_TRY(m_planText, readIfThere(m_files, m_path / "plan", kPlanLimit));
    SHARDSCOPE_TRY(const std::string journal, readIfThere(m_files, m_path / "journal", kJournalLimit));
    m_journal = parseJournal(journal);
    return {};
}

Status WorkFolder::removeRest(io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    return removeAside(files, asideOf(pathFor(plan, destination)));
}

Status WorkFolder::makeFolder(const io::Path& destination)
{
    auto made = m_files.makeDirectory(m_path, 0777);
    if (made)
        return m_files.syncDirectory(destination);
    return made.error().code == ErrorCode::TargetExists ? Status() : made;
}

Status WorkFolder::enter(const io::Path& destination)
{
    m_folder.reset();
    SHARDSCOPE_TRY(m_place, io::holdFolder(destination, io::HoldKind::Named));
    SHARDSCOPE_CHECK(makeFolder(destination));
    SHARDSCOPE_TRY(m_folder, io::holdFolder(m_path, io::HoldKind::Own));
    // A folder that has anything else is not a work folder, whatever its name.
    return checkWorkEntries(m_files, *m_folder, m_path);
}

Status WorkFolder::hold(const io::Path& destination, const LeaseOptions& lease, JobContext& job)
{
    SHARDSCOPE_CHECK(enter(destination));
    SHARDSCOPE_CHECK(checkPartEntries(m_files, *m_folder, partsFolder()));
    SHARDSCOPE_TRY(m_lock, m_files.lock(m_path / "lock"));
    SHARDSCOPE_TRY(m_lease, Lease::take(m_files, m_path, m_lock != nullptr, lease, job));
    SHARDSCOPE_TRY(const auto names, parts());
    for (const std::string& name : names)
        SHARDSCOPE_CHECK(Lease::waitUntilFree(m_files, partsFolder() / name, m_lock != nullptr, lease, job));
    return {};
}

/// First the part, then a look at the whole folder; hold() has the whole folder first. So of two that begin
/// at the same time, at least one sees the other.
Status WorkFolder::holdPart(
    const io::Path& destination, Part part, const LeaseOptions& lease, JobContext& job)
{
    SHARDSCOPE_CHECK(enter(destination));
    constexpr int kMostTries = 20; // `clean` and others hold it for a moment
    for (int tries = 1;; ++tries) {
        auto lock = m_files.lock(m_path / "lock", io::LockKind::Shared);
        if (lock || lock.error().code != ErrorCode::Busy || tries == kMostTries) {
            SHARDSCOPE_TRY(m_lock, std::move(lock));
            break;
        }
        SHARDSCOPE_CHECK(job.poll());
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    m_partFolder = partsFolder() / nameOf(part);
    SHARDSCOPE_CHECK(m_files.makeDirectories(m_partFolder));
    SHARDSCOPE_TRY(m_partLock, m_files.lock(m_partFolder / "lock"));
    SHARDSCOPE_TRY(m_lease, Lease::take(m_files, m_partFolder, m_partLock != nullptr, lease, job));
    return Lease::waitUntilFree(m_files, m_path, m_lock != nullptr, lease, job);
}

std::string WorkFolder::nameOf(Part part)
{
    return std::to_string(part.index) + "-of-" + std::to_string(part.count);
}

Result<std::vector<std::string>> WorkFolder::parts() const
{
    std::vector<std::string> out;
    const auto entries = m_files.list(partsFolder());
    if (!entries && entries.error().code != ErrorCode::NotFound)
        return forward(entries.error());
    for (const io::DirectoryEntry& entry : entries ? *entries : std::vector<io::DirectoryEntry>()) {
        if (entry.type == io::FileType::Directory)
            out.push_back(entry.name);
    }
    return out;
}

Result<PieceJournal> WorkFolder::partJournals() const
{
    PieceJournal out;
    SHARDSCOPE_TRY(const auto names, parts());
    for (const std::string& name : names) {
        SHARDSCOPE_TRY(const std::string text, readIfThere(m_files, partJournal(name), kJournalLimit));
        parsePieceJournal(text, out);
    }
    std::erase_if(out.pieces, [&](const PieceRecord& record) {
        return record.piece.file >= m_plan.files.size()
            || record.piece.range.end > m_plan.files[record.piece.file].bytes;
    });
    makeDisjoint(out.pieces);
    return out;
}

io::Path WorkFolder::placeIn(const io::Path& workFolder, const std::string& path)
{
    return isNextToTag(path) ? workFolder / "beside" / path.substr(kNextToTag.size())
                             : workFolder / "files" / path;
}

Status WorkFolder::checkPlan(const std::string& wanted) const
{
    if (m_planText.empty() || m_planText == wanted)
        return {};
    return fail(ErrorCode::Refused,
        "the interrupted job in this folder cannot be continued: " + differenceOf(m_planText, wanted),
        m_path.string(), "discard it with " + Hint::add("--restart"));
}

Status WorkFolder::makeOutputFolders()
{
    for (const io::Path& folder : outputFolders(m_plan, m_path))
        SHARDSCOPE_CHECK(m_files.makeDirectories(folder));
    return m_files.makeDirectories(runFilesFolder());
}

Status WorkFolder::prepare(const std::vector<std::string>& finished)
{
    const std::string wanted = planText(m_plan);
    SHARDSCOPE_CHECK(checkPlan(wanted));
    SHARDSCOPE_CHECK(removeUnknown(finished));
    SHARDSCOPE_CHECK(makeOutputFolders());
    SHARDSCOPE_CHECK(writeDurably(m_path / "journal", {}));
    if (m_planText.empty()) {
        SHARDSCOPE_CHECK(writeDurably(m_path / "plan", wanted));
        m_planText = wanted;
    }
    return {};
}

Status WorkFolder::prepareForParts()
{
    const std::string wanted = planText(m_plan);
    SHARDSCOPE_CHECK(checkPlan(wanted));
    SHARDSCOPE_CHECK(workOutputs(m_files, m_plan, m_path, OutputNames::AlsoUnfinished));
    SHARDSCOPE_CHECK(makeOutputFolders());
    if (m_planText.empty()) {
        // First: `clean` knows a work folder by a journal, also where the disk has no room for the plan.
        if (m_partFolder.empty())
            SHARDSCOPE_CHECK(writeDurably(m_path / "journal", {}));
        SHARDSCOPE_CHECK(writeDurably(m_path / "plan", wanted));
        m_planText = wanted;
    }
    return {};
}

/// Of the folder and its parts, before any of it is removed.
Status WorkFolder::checkContent() const
{
    SHARDSCOPE_CHECK(checkWorkEntries(m_files, *m_folder, m_path));
    return checkPartEntries(m_files, *m_folder, partsFolder());
}

Status WorkFolder::clear()
{
    SHARDSCOPE_CHECK(checkHeld());
    SHARDSCOPE_CHECK(checkContent());
    SHARDSCOPE_TRY(const auto entries, m_files.list(m_path));
    // The plan first: without it the rest is ignored.
    SHARDSCOPE_CHECK(m_files.removeTree(m_path / "plan"));
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.name != "lock" && entry.name != kLeaseFolder && entry.name != "replaced")
            SHARDSCOPE_CHECK(m_files.removeTree(m_path / entry.name));
    }
    m_planText.clear();
    m_journal = {};
    return {};
}

Status WorkFolder::removeUnknown(const std::vector<std::string>& finished)
{
    static const std::unordered_set<std::string> kKept{
        "lock", kLeaseFolder, "plan", "journal", "parts", "files", "beside", "replaced"};
    SHARDSCOPE_CHECK(checkWorkEntries(m_files, *m_folder, m_path));
    SHARDSCOPE_TRY(const auto entries, m_files.list(m_path));
    for (const io::DirectoryEntry& entry : entries) {
        if (isWorkFolderEntry(entry) && !kKept.contains(entry.name))
            SHARDSCOPE_CHECK(m_files.removeTree(m_path / entry.name));
    }
    std::unordered_set<std::string> keep;
    for (const std::string& path : finished)
        keep.insert(placeOf(path).string());
    SHARDSCOPE_TRY(
        std::vector<io::Path> found, workOutputs(m_files, m_plan, m_path, OutputNames::AlsoUnfinished));
    const auto unknown = std::partition(
        found.begin(), found.end(), [&](const io::Path& path) { return keep.contains(path.string()); });
    for (auto path = unknown; path != found.end(); ++path)
        SHARDSCOPE_CHECK(m_files.removeFile(*path));
    found.erase(unknown, found.end());
    return checkFinishedFiles(*m_folder, found);
}

Status WorkFolder::seal(JournalSeal seal)
{
    SHARDSCOPE_CHECK(checkHeld());
    SHARDSCOPE_CHECK(workOutputs(m_files, m_plan, m_path, OutputNames::Finished));
    const auto folders = outputFolders(m_plan, m_path);
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
        SHARDSCOPE_CHECK(m_files.syncDirectory(*folder));
    SHARDSCOPE_CHECK(m_files.syncDirectory(runFilesFolder()));
    SHARDSCOPE_CHECK(m_files.syncDirectory(m_path));
    SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(filesFolder()));
    seal.inode = info.identity.inode;
    SHARDSCOPE_CHECK(m_files.appendSynced(m_path / "journal", journalLine(seal)));
    m_journal.seal = std::move(seal);
    return {};
}

Status WorkFolder::markPublishing()
{
    SHARDSCOPE_TRY(const auto entries, m_files.list(m_path));
    for (const io::DirectoryEntry& entry : entries) {
        if (m_path / entry.name == publishingMark())
            return {};
    }
    return writeDurably(publishingMark(), {});
}

Status WorkFolder::remove()
{
    SHARDSCOPE_CHECK(checkHeld());
    SHARDSCOPE_CHECK(checkContent());
    SHARDSCOPE_TRY(const auto entries, m_files.list(m_path));
    for (const io::DirectoryEntry& entry : entries) {
        if (entry.name != "lock" && entry.name != kLeaseFolder && entry.name != "journal"
            && entry.name != "plan")
            SHARDSCOPE_CHECK(m_files.removeTree(m_path / entry.name));
    }
    m_lease->forget();
    // From here on the folder is treated as blank.
    SHARDSCOPE_CHECK(m_files.removeTree(m_path / "plan"));
    SHARDSCOPE_CHECK(m_files.removeTree(m_path / "journal"));
    // Under another name, so that nobody finds it half removed.
    const io::Path aside = asideOf(m_path);
    SHARDSCOPE_CHECK(removeAside(m_files, aside));
    const Status moved = m_files.renameNoReplace(m_path, aside);
    SHARDSCOPE_CHECK(removeWorkTree(m_files, moved ? aside : m_path)); // by its handle
    m_folder.reset();
    return {};
}

Status WorkFolder::writeDurably(const io::Path& path, const std::string& text)
{
    // Processes with different parts may write the plan at the same time.
    io::Path unfinished = m_partFolder.empty() ? path : m_partFolder / path.filename();
    unfinished += ".tmp";
    SHARDSCOPE_CHECK(m_files.removeTree(unfinished));
    {
        SHARDSCOPE_TRY(const auto file, m_files.create(unfinished, 0666));
        SHARDSCOPE_CHECK(file->writeAt(0, bytesOf(text)));
        SHARDSCOPE_CHECK(file->sync());
        SHARDSCOPE_CHECK(file->close());
    }
    SHARDSCOPE_CHECK(m_files.rename(unfinished, path));
    return m_files.syncDirectory(path.parent_path());
}

std::string WorkFolder::planText(const WritePlan& plan)
{
    Sha256 layout;
    for (const PlannedFile& file : plan.files)
        layout.update(bytesOf(percentEncode(file.path) + ' ' + std::to_string(file.bytes) + '\n'));
    nlohmann::ordered_json out;
    out["schema"] = kSchema;
    out["version"] = std::string(buildInfo().version);
    out["id"] = plan.id;
    out["verb"] = plan.verb;
    out["files"] = plan.files.size();
    out["layout_sha256"] = layout.finishHex();
    out["plan"] = nlohmann::ordered_json::parse(plan.description, nullptr, false);
    auto& sources = out["sources"] = nlohmann::ordered_json::array();
    // No device, inode or time of change: after chmod, a hard link, or on another mount it is the same file.
    for (const PlanSource& source : plan.sources)
        sources.push_back({{"name", toValidUtf8(source.name)}, {"bytes", source.identity.bytes},
            {"modified_ns", source.identity.modifiedNs}, {"records_sha256", recordsDigest(source)}});
    return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace shardscope
