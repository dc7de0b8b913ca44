// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/part_writer.h"

#include "core/engine/parts/file_runs.h"
#include "core/engine/parts/piece_check.h"
#include "core/engine/parts/piece_journal.h"
#include "core/engine/parts/piece_read_back.h"
#include "core/engine/parts/piece_walk.h"
#include "core/io/file_system.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace shardscope {

namespace {

/// Smaller outputs are faster through the page cache.
inline constexpr uint64_t kDirectFrom = uint64_t{4} << 20;

/// Writes the chunks of one file in order, bounded in dirty bytes.
class ChunkWriter
{
public:
    /// Write-back is started for every window of `windowBytes`; the first chunk is at `begin`.
    ChunkWriter(io::WriteFile& file, uint64_t windowBytes, uint64_t begin = 0)
        : m_file(file)
        , m_windowBytes(windowBytes)
        , m_windowBegin(begin)
    {
    }

    Status write(uint64_t offset, std::span<const uint8_t> chunk)
    {
        SHARDSCOPE_CHECK(m_file.writeAt(offset, chunk));
        const uint64_t end = offset + chunk.size();
        if (end - m_windowBegin < m_windowBytes)
            return {};
        SHARDSCOPE_CHECK(m_file.startWriteBack(m_windowBegin, end - m_windowBegin));
        m_windowBegin = end;
        return {};
    }

private:
    io::WriteFile& m_file;
    uint64_t m_windowBytes;
    uint64_t m_windowBegin;
};

/// Those of one file.
std::span<const FilePiece> piecesOf(std::span<const FilePiece> pieces, uint32_t file)
{
    const auto found = std::ranges::equal_range(pieces, file, {}, &FilePiece::file);
    return {found.begin(), found.end()};
}

} // namespace

/// An output file while pieces of it are written.
struct PartWriter::OpenFile {
    std::mutex mutex; ///< held while it is opened
    OutputFile recipe;
    std::unique_ptr<RecordParts> parts; ///< null before it is opened
    std::unique_ptr<io::WriteFile> opened; ///< for the first piece
    bool isWhole = false; ///< the pieces of this write() are all of it
    bool isShared = false; ///< it has all bytes of its source, without taking space
    size_t piecesLeft = 0;
};

io::Path unfinishedName(io::Path place)
{
    return place += ".tmp";
}

PartWriter::PartWriter(
    io::FileSystem& files, const WritePlan& plan, const PartResources& resources, JobContext& job)
    : m_files(files)
    , m_plan(plan)
    , m_resources(resources)
    , m_job(job)
    , m_keys(plan.tensors)
    , m_sources(files, plan.sources, SourcePool::limitFor(resources.memory.workers),
          static_cast<size_t>(resources.memory.coverBytes()))
{
    for (size_t i = 0; i < resources.memory.workers; ++i)
        m_buffers.emplace_back(
            resources.memory.buffersPerWorker, resources.memory.chunkBytes, resources.backend);
}

PartWriter::~PartWriter() = default;

Status PartWriter::write(std::span<const FilePiece> pieces, std::span<const PieceRecord> known,
    const ReadsBack& readsBack, const PartEvents& events)
{
    m_pieces = pieces;
    m_known = known;
    m_open.clear();
    m_before.clear();
    m_run = newRun();
    m_job.beginPhase("writing", bytesOf(pieces) * (readsBack.own ? 2 : 1) + readsBack.otherBytes);
    Halt halt(m_job);
    const MemoryPlan& memory = m_resources.memory;
    std::optional<PieceReadBack> reader; // with buffers and threads of its own
    if (readsBack.own || readsBack.otherBytes > 0)
        reader.emplace(memory.buffersPerWorker > 1 ? memory.workers : 0, memory.chunkBytes,
            m_resources.backend, halt, [&](const PieceRecord& record, ChunkBuffers& buffers) -> Status {
                SHARDSCOPE_CHECK(checkPiece(record, buffers, halt));
                const std::lock_guard lock(m_eventMutex);
                return events.checked(record.piece);
            });
    Status written
        = runWorkers(pieces.size(), m_buffers.size(), halt, [&](size_t worker, size_t item) -> Status {
              const FilePiece& piece = pieces[item];
              SHARDSCOPE_TRY(const auto file, openFile(piece.file, halt));
              SHARDSCOPE_TRY(PieceRecord record, writePiece(piece, *file, m_buffers[worker], halt));
              SHARDSCOPE_CHECK(closeFile(piece.file, events.goesOn));
              std::vector<PieceRecord> toRead;
              {
                  const std::lock_guard lock(m_eventMutex);
                  SHARDSCOPE_CHECK(events.written(record));
                  if (readsBack.otherBytes > 0)
                      toRead = readsBack.others();
              }
              if (readsBack.own)
                  toRead.push_back(std::move(record));
              for (PieceRecord& each : toRead)
                  reader->add(std::move(each));
              return {};
          });
    if (reader)
        written = reader->endAfter(std::move(written));
    reader.reset(); // a piece that is being read after a stop has its event before `left`
    // After another failure the next run reads these files.
    if (written ? !events.goesOn : written.error().code == ErrorCode::Cancelled) {
        const Status recorded = recordLeft(events);
        if (written)
            SHARDSCOPE_CHECK(recorded);
    }
    SHARDSCOPE_CHECK(written);
    return m_sources.checkUnchanged();
}

Status PartWriter::recordLeft(const PartEvents& events)
{
    int64_t changedNs = 0;
    std::vector<io::Path> places;
    for (const auto& [file, before] : m_before)
        places.push_back(unfinishedName(m_resources.placeOf(m_plan.files[file].path)));
    for (const auto& info : m_files.statAll(places)) {
        if (info)
            changedNs = std::max(changedNs, info->identity.changedNs);
    }
    if (places.empty() || !waitForLaterTime(changedNs))
        return {};
    std::vector<FileRun> runs;
    const auto infos = m_files.statAll(places);
    auto info = infos.begin();
    for (const auto& [file, before] : m_before) {
        if (*info)
            runs.push_back({file, m_run, before, withoutDevice((*info)->identity)});
        ++info;
    }
    return events.left(runs);
}

Status PartWriter::check(std::span<const PieceRecord> pieces, const PartEvents& events)
{
    uint64_t bytes = 0;
    for (const PieceRecord& record : pieces)
        bytes += record.piece.range.end - record.piece.range.begin;
    m_job.beginPhase("verifying", bytes);
    Halt halt(m_job);
    return runWorkers(pieces.size(), m_buffers.size(), halt, [&](size_t worker, size_t item) -> Status {
        const Status checked = checkPiece(pieces[item], m_buffers[worker], halt);
        if (!checked && checked.error().code == ErrorCode::VerifyFailed)
            return {};
        SHARDSCOPE_CHECK(checked);
        const std::lock_guard lock(m_eventMutex);
        return events.checked(pieces[item].piece);
    });
}

Result<std::shared_ptr<PartWriter::OpenFile>> PartWriter::openFile(uint32_t file, const Halt& halt)
{
    std::shared_ptr<OpenFile> out;
    {
        const std::lock_guard lock(m_mutex);
        auto& entry = m_open[file];
        if (!entry) {
            entry = std::make_shared<OpenFile>();
            entry->piecesLeft = piecesOf(m_pieces, file).size();
        }
        out = entry;
    }
    const std::lock_guard lock(out->mutex);
    if (out->parts)
        return out;
    SHARDSCOPE_TRY(out->recipe, m_plan.recipe(file));
    std::vector<ByteRange> covered;
    for (const FilePiece& piece : piecesOf(m_pieces, file))
        covered.push_back(piece.range);
    for (const PieceRecord& record : recordsOf(m_known, file))
        covered.push_back(record.piece.range);
    std::ranges::sort(covered, {}, &ByteRange::begin);
    SHARDSCOPE_TRY(auto parts, RecordParts::make(out->recipe, std::move(covered), halt));
    for (const PieceRecord& record : recordsOf(m_known, file)) {
        for (const RecordPart& part : record.parts)
            parts->add(part);
        for (const ByteRange& range : record.late)
            parts->addLate(range);
    }
    const io::Path place = unfinishedName(m_resources.placeOf(out->recipe.path));
    SHARDSCOPE_TRY(const io::FileIdentity before, identityAt(m_files, place));
    {
        const std::lock_guard all(m_mutex);
        m_before[file] = before;
    }
    SHARDSCOPE_TRY(auto opened, m_files.openShared(place, out->recipe.mode));
    out->isWhole = bytesOf(piecesOf(m_pieces, file)) == m_plan.files[file].bytes;
    // The unchanged copy of a source file. It is summed and read back like any other.
    if (out->recipe.copyOf && before.inode == 0 && out->isWhole) {
        SHARDSCOPE_TRY(const auto source, m_sources.open(*out->recipe.copyOf));
        out->isShared = opened->shareBytesOf(*source);
    }
    if (!out->isShared)
        SHARDSCOPE_CHECK(opened->allocate(m_plan.files[file].bytes));
    out->opened = std::move(opened);
    out->parts = std::move(parts);
    return out;
}

/// After one of its pieces. After the last one, the file can be complete.
Status PartWriter::closeFile(uint32_t file, bool completes)
{
    std::shared_ptr<OpenFile> ended;
    {
        const std::lock_guard lock(m_mutex);
        const auto entry = m_open.find(file);
        if (--entry->second->piecesLeft > 0)
            return {};
        ended = std::move(entry->second);
        m_open.erase(entry);
    }
    if (!completes || !ended->isWhole)
        return {};
    const OutputFile& recipe = ended->recipe;
    WrittenFile out{recipe.path, m_plan.files[file].bytes, {}, {}, {}};
    for (uint32_t i = 0; recipe.torchArchive && i < recipe.records.size(); ++i) {
        SHARDSCOPE_TRY(const auto crc, ended->parts->whole(i));
        if (!crc)
            return {};
        out.records.push_back({recipe.records[i].name, recipe.records[i].bytes, *crc});
    }
    if (m_resources.mayWrite)
        SHARDSCOPE_CHECK(m_resources.mayWrite());
    const io::Path place = m_resources.placeOf(recipe.path);
    SHARDSCOPE_CHECK(m_files.rename(unfinishedName(place), place));
    SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(place));
    out.left = info.identity;
    const std::lock_guard lock(m_mutex);
    m_completed.emplace(file, std::move(out));
    return {};
}

Result<PieceRecord> PartWriter::writePiece(
    const FilePiece& piece, OpenFile& file, ChunkBuffers& buffers, const Halt& halt)
{
    if (m_resources.mayWrite)
        SHARDSCOPE_CHECK(m_resources.mayWrite());
    const uint64_t bytes = piece.range.end - piece.range.begin;
    std::unique_ptr<io::WriteFile> output;
    {
        const std::lock_guard lock(file.mutex);
        output = std::move(file.opened);
    }
    if (!output) {
        const io::Path place = unfinishedName(m_resources.placeOf(file.recipe.path));
        SHARDSCOPE_TRY(output, m_files.openShared(place, file.recipe.mode));
    }
    if (bytes >= kDirectFrom && !file.isShared)
        (void)output->writeDirectly();
    ChunkWriter writer(*output, m_resources.memory.writeBackWindow(), piece.range.begin);
    const PieceWalk walk{m_plan, m_sources, m_keys, m_resources.backend, m_resources.times, halt};
    auto record = walk.run(
        piece, file.recipe, *file.parts, buffers, [&](uint64_t at, std::span<const uint8_t> chunk) -> Status {
            // Late bytes are left alone: should this process have been stopped for so long that another one
            // finished the job, they have their values by now.
            const uint64_t end = at + chunk.size();
            m_job.advance(chunk.size());
            if (file.isShared)
                return {};
            for (const ByteRange& late : file.parts->lateIn({at, end})) {
                SHARDSCOPE_CHECK(writer.write(at, chunk.subspan(at - (end - chunk.size()), late.begin - at)));
                at = late.end;
            }
            return writer.write(at, chunk.last(end - at));
        });
    if (!record)
        return record;
    {
        const StageTimer timer(m_resources.times, Stage::Writing);
        SHARDSCOPE_CHECK(output->sync());
    }
    SHARDSCOPE_CHECK(output->close());
    record->run = m_run;
    return record;
}

Status PartWriter::checkPiece(const PieceRecord& record, ChunkBuffers& buffers, const Halt& halt)
{
    const io::Path place = m_resources.placeOf(m_plan.files[record.piece.file].path);
    auto file = m_files.openRead(unfinishedName(place));
    if (!file && file.error().code == ErrorCode::NotFound)
        file = m_files.openRead(place); // completed by a run that was stopped
    if (!file)
        return forward(file.error());
    if (record.piece.range.begin < record.piece.range.end && !(*file)->readsDirectly())
        m_readDirectly = false;
    return compareWithRecord(**file, record, buffers, m_resources.times, halt);
}

} // namespace shardscope
