// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/output_builder.h"

#include "core/base/text.h"
#include "core/engine/parts/file_runs.h"
#include "core/engine/parts/recorded_sums.h"
#include "core/engine/verify/verify_files.h"
#include "core/engine/write/peer_writers.h"
#include "core/engine/write/preflight.h"
#include "core/plan/model/output_bytes.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

namespace shardscope {

namespace {

/// What a process with the whole folder writes itself.
constexpr const char* kRest = "rest";
constexpr size_t kMostNamed = 12; ///< in a sentence

/// The part of a name that WorkFolder::nameOf() made.
std::optional<Part> partOf(const std::string& name)
{
    Part out;
    const char* const end = name.data() + name.size();
    const auto index = std::from_chars(name.data(), end, out.index);
    constexpr std::string_view kOf = "-of-";
    if (index.ec != std::errc() || !std::string_view(index.ptr, end).starts_with(kOf))
        return std::nullopt;
    const auto count = std::from_chars(index.ptr + kOf.size(), end, out.count);
    if (count.ec != std::errc() || count.ptr != end || out.index >= out.count)
        return std::nullopt;
    return out;
}

/// What a process appends to the journal of its part.
struct PartLines {
    io::FileSystem& files;
    io::Path journal;
    std::function<Status()> mayWrite;
    std::string* lines; ///< all of them; can be null
    /// That a piece was read back is stored with the next line: without it, it is read again.
    std::string checked = {};

    Status append(const std::string& line)
    {
        if (mayWrite)
            SHARDSCOPE_CHECK(mayWrite());
        note(line);
        return files.appendSynced(journal, std::exchange(checked, {}) + line);
    }
    Status addChecked(const FilePiece& piece)
    {
        const std::string line = journalLine(piece);
        note(line);
        checked += line;
        return {};
    }

private:
    void note(const std::string& line)
    {
        if (lines != nullptr)
            *lines += line;
    }
};

std::tuple<uint32_t, uint64_t, uint64_t> order(const FilePiece& piece)
{
    return {piece.file, piece.range.begin, piece.range.end};
}

} // namespace

uint64_t unreservedBytes(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    std::span<const FilePiece> pieces, bool byOneProcess)
{
    uint64_t out = 0;
    std::set<size_t> whole; // these may share the bytes of their source
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (i > 0 && pieces[i - 1].file == pieces[i].file)
            continue;
        const PlannedFile& file = plan.files[pieces[i].file];
        if (files.stat(unfinishedName(work.placeOf(file.path))))
            continue;
        out += file.bytes;
        const auto all = std::ranges::equal_range(pieces, pieces[i].file, {}, &FilePiece::file);
        if (byOneProcess && bytesOf({all.begin(), all.end()}) == file.bytes)
            whole.insert(pieces[i].file);
    }
    return out - sharedBytes(files, plan, work.path(), [&](size_t file) { return !whole.contains(file); });
}

Error withMissingBytes(io::FileSystem& files, const io::Path& folder, uint64_t needed, Error error)
{
    const auto space = files.space(folder);
    if (space && space->freeBytes < needed)
        error.message += "; " + formatCount(needed) + " more bytes are needed, "
            + formatCount(space->freeBytes) + " are free, " + formatCount(needed - space->freeBytes) + " ("
            + formatBytes(needed - space->freeBytes) + ") are missing";
    error.hint = "free some space there and run the same command again; what was written is kept";
    return error;
}

Status writeAndReadBack(io::FileSystem& files, const io::Path& path, std::string_view text, uint32_t mode)
{
    {
        SHARDSCOPE_TRY(const auto file, files.create(path, mode));
        SHARDSCOPE_CHECK(file->writeAt(0, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
        SHARDSCOPE_CHECK(file->sync());
        SHARDSCOPE_CHECK(file->close());
    }
    SHARDSCOPE_TRY(const bool isSame, holdsBytes(files, path, text));
    if (!isSame)
        return fail(ErrorCode::VerifyFailed, "the file was read back with other bytes than were written",
            path.string(), "the disk or the memory corrupted the output; no output was published");
    return {};
}

Result<bool> holdsBytes(io::FileSystem& files, const io::Path& path, std::string_view text)
{
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    if (file->size() != text.size())
        return false;
    std::string found(text.size(), '\0');
    SHARDSCOPE_CHECK(file->readFromDevice(0, {reinterpret_cast<uint8_t*>(found.data()), found.size()}));
    return found == text;
}

PartEvents journalEvents(
    io::FileSystem& files, io::Path journal, std::function<Status()> mayWrite, std::string* lines)
{
    const auto out
        = std::make_shared<PartLines>(PartLines{files, std::move(journal), std::move(mayWrite), lines});
    return {[out](const PieceRecord& record) { return out->append(journalLine(record)); },
        [out](const FilePiece& piece) { return out->addChecked(piece); },
        [out](std::span<const FileRun> runs) {
            std::string text;
            for (const FileRun& run : runs)
                text += journalLine(run);
            return out->append(text);
        }};
}

OutputBuilder::OutputBuilder(io::FileSystem& files, const WritePlan& plan, WorkFolder& work,
    const BuildResources& resources, const ExecuteOptions& options, JobContext& job)
    : m_files(files)
    , m_plan(plan)
    , m_work(work)
    , m_resources(resources)
    , m_options(options)
    , m_job(job)
    , m_partResources{resources.memory, resources.backend, resources.times,
          [this](const std::string& path) { return m_work.placeOf(path); },
          [this] { return m_work.checkHeld(); }, resources.sha256}
{
}

Status OutputBuilder::replay()
{
    SHARDSCOPE_CHECK(m_work.prepareForParts());
    SHARDSCOPE_TRY(m_journal, m_work.partJournals());
    SHARDSCOPE_TRY(const auto all, rangesOf(m_plan, {}, m_options.pieces));
    m_unwritten = without(all, rangesOf(m_journal.pieces));
    SHARDSCOPE_CHECK(dropLost());
    m_missing = without(all, rangesOf(m_journal.pieces));
    return {};
}

bool OutputBuilder::isShared() const
{
    return m_options.peers != nullptr && m_options.peers->size() > 1;
}

/// Removes pieces from the journal that are not in the files.
Status OutputBuilder::dropLost()
{
    SHARDSCOPE_TRY(const std::vector<Found> found, lookAtFiles());
    std::set<std::pair<uint32_t, uint64_t>> ended; // runs of processes that were not killed
    for (const FileRun& run : m_journal.runs)
        ended.emplace(run.file, run.run);
    const auto mayHaveChanged = [&](const PieceRecord& record) {
        return found[record.piece.file] != Found::AsLeft || !ended.contains({record.piece.file, record.run});
    };
    std::set<std::tuple<uint32_t, uint64_t, uint64_t>> checked;
    for (const FilePiece& piece : m_journal.checked)
        checked.insert(order(piece));
    m_journal.checked.clear();
    std::vector<PieceRecord> toRead;
    for (const PieceRecord& record : m_journal.pieces) {
        const bool isChecked = checked.contains(order(record.piece));
        if (found[record.piece.file] == Found::Gone)
            continue;
        if (mayHaveChanged(record) || (m_resources.readsBack && !isChecked))
            toRead.push_back(record);
        else
            m_journal.checked.push_back(record.piece);
    }
    SHARDSCOPE_CHECK(readBack(toRead));
    for (const PieceRecord& record : unchecked())
        m_lost.push_back(record.piece);
    std::erase_if(m_journal.pieces, [&](const PieceRecord& record) {
        return std::ranges::binary_search(m_lost, order(record.piece), {}, order);
    });
    for (size_t i = 0; i < m_lost.size(); ++i) {
        if (i == 0 || m_lost[i].file != m_lost[i - 1].file)
            m_job.log("a file of the job was changed or removed, and is written again: "
                + m_plan.files[m_lost[i].file].path);
    }
    return {};
}

/// One entry per file of the plan.
Result<std::vector<OutputBuilder::Found>> OutputBuilder::lookAtFiles()
{
    std::ranges::sort(m_journal.runs, {}, &FileRun::file);
    FolderEntries entries(m_files, m_work.path());
    std::vector<Found> out;
    out.reserve(m_plan.files.size());
    for (uint32_t file = 0; file < m_plan.files.size(); ++file) {
        SHARDSCOPE_TRY(out.emplace_back(), lookAtFile(file, entries));
    }
    return out;
}

/// Gives it its unfinished name. What cannot be the file is removed.
Result<OutputBuilder::Found> OutputBuilder::lookAtFile(uint32_t file, FolderEntries& entries)
{
    const io::Path place = m_work.placeOf(m_plan.files[file].path);
    const io::Path unfinished = unfinishedName(place);
    io::Path found;
    for (const io::Path& each : {unfinished, place}) {
        SHARDSCOPE_TRY(const auto type, entries.typeOf(each.lexically_relative(m_work.path())));
        if (!type)
            continue;
        bool isWhole = type == io::FileType::Regular && found.empty();
        if (isWhole) {
            SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(each));
            isWhole = info.identity.bytes == m_plan.files[file].bytes;
        }
        if (isWhole)
            found = each;
        else
            SHARDSCOPE_CHECK(m_files.removeTree(each));
    }
    if (found.empty())
        return Found::Gone;
    if (found == place) // completed by a run that was stopped
        SHARDSCOPE_CHECK(m_files.rename(place, unfinished));
    SHARDSCOPE_TRY(const io::FileIdentity now, identityAt(m_files, unfinished));
    const auto runs = std::ranges::equal_range(m_journal.runs, file, {}, &FileRun::file);
    return isAsLeft({runs.begin(), runs.end()}, now) ? Found::AsLeft : Found::Changed;
}

/// Reads pieces that others wrote; those that are as recorded are checked then.
Status OutputBuilder::readBack(const std::vector<PieceRecord>& pieces)
{
    if (pieces.empty())
        return {};
    if (isShared()) {
        PeerWriters peers(m_files, m_plan, m_work, m_partResources, *m_options.peers, m_job);
        SHARDSCOPE_CHECK(peers.check(pieces, m_journal));
        m_readDirectly = m_readDirectly && peers.readDirectly();
        return {};
    }
    PartWriter reader(m_files, m_plan, m_partResources, m_job);
    PartEvents events;
    events.checked = [&](const FilePiece& piece) -> Status {
        m_journal.checked.push_back(piece);
        return {};
    };
    SHARDSCOPE_CHECK(reader.check(pieces, events));
    m_readDirectly = m_readDirectly && reader.readDirectly();
    return {};
}

uint64_t OutputBuilder::spaceMissing() const
{
    return unreservedBytes(m_files, m_plan, m_work, m_missing, !isShared());
}

uint64_t OutputBuilder::filesMissing() const
{
    std::set<uint32_t> out;
    for (const FilePiece& piece : m_missing)
        out.insert(piece.file);
    return out.size();
}

Status OutputBuilder::write()
{
    if (!m_unwritten.empty() && m_options.finish) {
        SHARDSCOPE_TRY(const std::string parts, missingParts());
        return fail(ErrorCode::Refused,
            parts + "; " + formatBytes(bytesOf(m_unwritten)) + " were not written yet",
            m_work.path().string(),
            Hint::omit("--finish") + " to write the rest here, or write these parts with --part I/N");
    }
    m_combiner = std::make_unique<PartCombiner>(m_files, m_plan, m_partResources, m_job);
    Status written = isShared() ? writeTogether() : writeMissing();
    if (!written && written.error().code == ErrorCode::NoSpace)
        return forward(withMissingBytes(m_files, m_work.path(), spaceMissing(), std::move(written).error()));
    SHARDSCOPE_CHECK(std::move(written));
    SHARDSCOPE_CHECK(m_combiner->combine(m_journal.pieces, std::move(m_completed), m_resources.readsBack));
    std::vector<std::string> finished;
    for (const WrittenFile& file : m_combiner->files())
        finished.push_back(file.path);
    SHARDSCOPE_CHECK(m_work.prepare(finished)); // nothing else is in the folder
    return writeBeside();
}

Status OutputBuilder::writeMissing()
{
    PartWriter writer(m_files, m_plan, m_partResources, m_job);
    SHARDSCOPE_CHECK(m_files.makeDirectories(m_work.partJournal(kRest).parent_path()));
    PartEvents events = journalEvents(m_files, m_work.partJournal(kRest), m_partResources.mayWrite);
    std::vector<PieceRecord> made;
    if (!m_missing.empty()) {
        SHARDSCOPE_TRY(auto pieces, splitRanges(m_plan, m_unwritten, m_options.pieces));
        pieces.insert(pieces.end(), m_lost.begin(), m_lost.end()); // their records stay in the journals
        std::ranges::sort(pieces, {}, order);
        const PartEvents kept{[&](PieceRecord& record) -> Status {
                                  SHARDSCOPE_CHECK(events.written(record));
                                  SHARDSCOPE_CHECK(m_combiner->take(record));
                                  made.push_back(record);
                                  return {};
                              },
            [&](const FilePiece& piece) {
                m_journal.checked.push_back(piece);
                return events.checked(piece);
            },
            events.left, true};
        SHARDSCOPE_CHECK(
            writer.write(pieces, m_journal.pieces, ReadsBack{.own = m_resources.readsBack}, kept));
        m_completed = writer.takeCompleted();
    }
    m_journal.pieces.insert(
        m_journal.pieces.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    makeDisjoint(m_journal.pieces);
    m_readDirectly = m_readDirectly && writer.readDirectly();
    return {};
}

/// The same by all processes of the job.
Status OutputBuilder::writeTogether()
{
    PeerWriters peers(m_files, m_plan, m_work, m_partResources, *m_options.peers, m_job);
    SHARDSCOPE_CHECK(peers.write(m_missing, m_options.pieces, m_resources.readsBack, m_journal));
    makeDisjoint(m_journal.pieces);
    m_readDirectly = m_readDirectly && peers.readDirectly();
    if (m_resources.readsBack) {
        SHARDSCOPE_CHECK(peers.check(unchecked(), m_journal));
        if (!unchecked().empty())
            return fail(ErrorCode::VerifyFailed,
                "a piece of a file was read back with other bytes than were written", m_work.path().string(),
                "the disk or the memory corrupted the output; no output was published");
    }
    return m_work.checkHeld();
}

/// The files next to the target, which are small.
Status OutputBuilder::writeBeside()
{
    Halt halt(m_job);
    SourcePool pool(m_files, m_plan.sources, 1, static_cast<size_t>(m_resources.memory.coverBytes()));
    RecordedSources sources(m_plan.sources);
    const TensorKeys keys({});
    RecordedElements elements(keys);
    const WalkContext context{m_plan, pool, sources, elements, m_resources.backend, m_resources.times, halt};
    ChunkBuffers buffers(1, m_resources.memory.chunkBytes, m_resources.backend);
    for (const OutputFile& file : m_plan.runFolderFiles) {
        std::string text;
        ChunkSink sink(buffers, false, [&](uint64_t, std::span<const uint8_t> chunk) -> Status {
            text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
            return {};
        });
        SHARDSCOPE_TRY(const uint64_t bytes, outputBytes(file));
        SHARDSCOPE_CHECK(OutputWalk(context, file, sink).run(bytes));
        SHARDSCOPE_CHECK(m_work.checkHeld());
        SHARDSCOPE_CHECK(writeAndReadBack(m_files, m_work.runFilesFolder() / file.path, text, file.mode));
    }
    return {};
}

/// The pieces that nobody has read back.
std::vector<PieceRecord> OutputBuilder::unchecked()
{
    std::ranges::sort(m_journal.checked, {}, order);
    std::vector<PieceRecord> out;
    for (const PieceRecord& record : m_journal.pieces) {
        if (!std::ranges::binary_search(m_journal.checked, order(record.piece), {}, order))
            out.push_back(record);
    }
    return out;
}

/// "part 3 of 8 is missing".
Result<std::string> OutputBuilder::missingParts() const
{
    SHARDSCOPE_TRY(const auto names, m_work.parts());
    uint32_t count = 1;
    for (const std::string& name : names)
        count = std::max(count, partOf(name).value_or(Part{}).count);
    std::vector<std::string> missing;
    for (uint32_t i = 0; i < count; ++i) {
        SHARDSCOPE_TRY(const auto ranges, rangesOf(m_plan, {i, count}, m_options.pieces));
        if (!without(ranges, rangesOf(m_journal.pieces)).empty())
            missing.push_back(std::to_string(i));
    }
    const bool isOne = missing.size() == 1;
    std::string out = isOne ? "part " : std::to_string(missing.size()) + " parts are missing: ";
    for (size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i)
        out += (i == 0 ? "" : ", ") + missing[i];
    if (missing.size() > kMostNamed)
        out += " and others";
    return out + " of " + std::to_string(count) + (isOne ? " is missing" : "");
}

Status OutputBuilder::verify(const OutputModel* model)
{
    m_job.beginPhase("verifying", 0);
    ClaimedElements found(m_plan.tensors.size());
    Halt halt(m_job);
    const VerifyContext context{m_files, m_plan, model, found, m_job};
    SHARDSCOPE_CHECK(runWorkers(
        m_combiner->files().size(), m_resources.memory.workers, halt, [&](size_t, size_t index) -> Status {
            const WrittenFile& written = m_combiner->files()[index];
            return verifyStructure(index, m_work.placeOf(written.path), written, context);
        }));
    if (model)
        return compareElements(m_plan.tensors, m_combiner->digests().claimed(), found);
    return {};
}

} // namespace shardscope
