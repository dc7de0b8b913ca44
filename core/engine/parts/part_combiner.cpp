// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/part_combiner.h"

#include "core/engine/parts/piece_check.h"
#include "core/engine/parts/piece_journal.h"
#include "core/engine/parts/piece_walk.h"
#include "core/engine/stream/source_check.h"

#include <algorithm>
#include <utility>

namespace shardscope {

namespace {

std::span<const uint8_t> asBytes(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// The chunks of a file.
std::vector<ByteRange> chunksOf(uint64_t bytes)
{
    std::vector<ByteRange> out;
    for (uint64_t at = 0; at < bytes; at += io::kDigestChunkBytes)
        out.push_back({at, std::min(at + io::kDigestChunkBytes, bytes)});
    return out;
}

bool overlaps(const ByteRange& a, const ByteRange& b)
{
    return a.begin < b.end && b.begin < a.end;
}

} // namespace

struct PartCombiner::FileToCombine {
    uint32_t index = 0; ///< into WritePlan::files
    std::string path = {}; ///< as planned
    uint64_t bytes = 0;
    OutputFile recipe = {}; ///< set where the records are not known
    io::Path place = {}; ///< as it is now: unfinished, or completed by an earlier run
    std::vector<BytesDigest> digests = {}; ///< of all pieces, ascending
    std::vector<ByteRange> late = {};
};

PartCombiner::PartCombiner(
    io::FileSystem& files, const WritePlan& plan, const PartResources& resources, JobContext& job)
    : m_files(files)
    , m_plan(plan)
    , m_resources(resources)
    , m_job(job)
    , m_sources(files, plan.sources, SourcePool::limitFor(resources.memory.workers),
          static_cast<size_t>(resources.memory.coverBytes()))
    , m_crcs(plan.sources)
    , m_digests(plan.tensors)
    , m_written(plan.files.size())
{
}

Status PartCombiner::combine(
    std::span<PieceRecord> pieces, std::map<uint32_t, WrittenFile> completed, bool readsBack)
{
    m_completed = std::move(completed);
    for (size_t i = m_buffers.size(); i < m_resources.memory.workers; ++i)
        m_buffers.emplace_back(1, m_resources.memory.chunkBytes, m_resources.backend);
    for (PieceRecord& record : pieces)
        SHARDSCOPE_CHECK(take(record));
    m_job.beginPhase("combining", 0);
    Halt halt(m_job);
    SHARDSCOPE_CHECK(
        runWorkers(m_written.size(), m_buffers.size(), halt, [&](size_t worker, size_t item) -> Status {
            const auto file = static_cast<uint32_t>(item);
            SHARDSCOPE_TRY(m_written[item],
                combineFile(file, recordsOf(pieces, file), readsBack, m_buffers[worker], halt));
            return {};
        }));
    return addPartials();
}

Status PartCombiner::combineSums(std::span<PieceRecord> pieces)
{
    m_buffers.emplace_back(1, m_resources.memory.chunkBytes, m_resources.backend);
    for (PieceRecord& record : pieces)
        SHARDSCOPE_CHECK(take(record));
    SHARDSCOPE_CHECK(addPartials());
    return checkSources();
}

/// What only one of several pieces has to count, once more from the sources.
Status PartCombiner::addPartials()
{
    Halt halt(m_job);
    for (const PartialSum& partial : m_partialSums)
        SHARDSCOPE_CHECK(addPartial(partial, halt));
    return SourceCheck{m_plan, m_sources, m_crcs, m_buffers, m_job}.readClaimed(m_partialSources);
}

PieceWalk PartCombiner::walk(const Halt& halt)
{
    return {m_plan, m_sources, m_digests.keys(), m_resources.backend, m_resources.times, halt};
}

Status PartCombiner::checkSources()
{
    return SourceCheck{m_plan, m_sources, m_crcs, m_buffers, m_job}.readRest();
}

Result<WrittenFile> PartCombiner::combineFile(uint32_t file, std::span<const PieceRecord> pieces,
    bool readsBack, ChunkBuffers& buffers, const Halt& halt)
{
    FileToCombine task{.index = file, .path = m_plan.files[file].path, .bytes = m_plan.files[file].bytes};
    const io::Path place = m_resources.placeOf(task.path);
    for (const PieceRecord& record : pieces) {
        task.digests.insert(task.digests.end(), record.digests.begin(), record.digests.end());
        task.late.insert(task.late.end(), record.late.begin(), record.late.end());
    }
    WrittenFile out{task.path, task.bytes, {}, {}, {}};
    std::vector<LateBytes> late;
    const auto completed = m_completed.find(file);
    const bool isCompleted = completed != m_completed.end();
    if (isCompleted) {
        out = std::move(completed->second);
        task.place = place;
    } else {
        const auto unfinished = m_files.stat(unfinishedName(place));
        if (!unfinished && unfinished.error().code != ErrorCode::NotFound)
            return forward(unfinished.error());
        task.place = unfinished ? unfinishedName(place) : place;
        SHARDSCOPE_TRY(task.recipe, m_plan.recipe(file));
        SHARDSCOPE_CHECK(addRecords(task, pieces, buffers, halt, late, out.records));
    }
    std::vector<ByteRange> read;
    SHARDSCOPE_TRY(out.chunks, chunkDigests(task, late, buffers, read));
    if (!late.empty()) {
        SHARDSCOPE_CHECK(writeLate(task, late));
        for (const ByteRange& chunk : readsBack ? read : std::vector<ByteRange>())
            SHARDSCOPE_CHECK(readAgain(task, out, chunk, buffers));
    }
    SHARDSCOPE_TRY(out.digest,
        m_resources.sha256 ? sha256Of(task, out.chunks, buffers) : io::combinedDigest(out.chunks));
    if (isCompleted)
        return out;
    if (task.place != place)
        SHARDSCOPE_CHECK(m_files.rename(task.place, place));
    SHARDSCOPE_TRY(const io::FileInfo info, m_files.stat(place));
    out.left = info.identity;
    return out;
}

/// From the CRCs that the pieces recorded, and the bytes that depend on them.
Status PartCombiner::addRecords(FileToCombine& file, std::span<const PieceRecord> pieces,
    ChunkBuffers& buffers, const Halt& halt, std::vector<LateBytes>& late,
    std::vector<WrittenRecord>& records)
{
    std::vector<ByteRange> covered;
    for (const PieceRecord& record : pieces)
        covered.push_back(record.piece.range);
    SHARDSCOPE_TRY(const auto crcs, RecordParts::make(file.recipe, std::move(covered), halt));
    crcs->endWaiting();
    for (const PieceRecord& record : pieces) {
        for (const RecordPart& part : record.parts) {
            if (part.record >= file.recipe.records.size())
                return doesNotFit(file.path);
            crcs->add(part);
        }
    }
    SHARDSCOPE_TRY(late, lateBytes(file, *crcs, buffers, halt));
    for (uint32_t i = 0; file.recipe.torchArchive && i < file.recipe.records.size(); ++i) {
        SHARDSCOPE_TRY(const auto crc, crcs->whole(i));
        if (!crc)
            return doesNotFit(file.path);
        records.push_back({file.recipe.records[i].name, file.recipe.records[i].bytes, *crc});
    }
    return {};
}

/// VerifyFailed if a chunk of the completed file is not as it was written.
Status PartCombiner::readAgain(
    const FileToCombine& file, const WrittenFile& written, ByteRange chunk, ChunkBuffers& buffers)
{
    SHARDSCOPE_TRY(const auto found, readChunk(file, chunk, nullptr, buffers));
    if (found == written.chunks[chunk.begin / io::kDigestChunkBytes])
        return {};
    return fail(ErrorCode::VerifyFailed, "the file was read back with other bytes than were written",
        file.place.string(), "the disk or the memory corrupted the output; no output was published");
}

Status PartCombiner::readChanged()
{
    for (const WrittenFile& written : m_written) {
        const io::Path place = m_resources.placeOf(written.path);
        const auto info = m_files.stat(place);
        if (!info && info.error().code == ErrorCode::NotFound)
            return fail(ErrorCode::WriteFailed, "another program removed a finished file of the job",
                place.string(), "run the same command again: it is written again");
        if (!info)
            return forward(info.error());
        if (info->identity == written.left)
            continue;
        FileToCombine file{.path = written.path, .bytes = written.bytes};
        file.place = place;
        if (info->identity.bytes != written.bytes)
            return fail(ErrorCode::VerifyFailed, "the file was read back with another size", place.string(),
                "the disk or the memory corrupted the output; no output was published");
        for (const ByteRange& chunk : chunksOf(written.bytes))
            SHARDSCOPE_CHECK(readAgain(file, written, chunk, m_buffers[0]));
    }
    return {};
}

Result<std::vector<PartCombiner::LateBytes>> PartCombiner::lateBytes(
    const FileToCombine& file, RecordParts& crcs, ChunkBuffers& buffers, const Halt& halt)
{
    std::vector<LateBytes> out;
    for (const ByteRange& range : file.late) {
        LateBytes made{range.begin, {}};
        SHARDSCOPE_TRY(const PieceRecord record,
            walk(halt).run({file.index, range}, file.recipe, crcs, buffers,
                [&](uint64_t, std::span<const uint8_t> chunk) -> Status {
                    made.bytes.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
                    return {};
                }));
        if (!record.late.empty() || made.bytes.size() != range.end - range.begin)
            return doesNotFit(file.path);
        out.push_back(std::move(made));
    }
    return out;
}

Result<std::vector<io::Xxh3Digest>> PartCombiner::chunkDigests(const FileToCombine& file,
    const std::vector<LateBytes>& late, ChunkBuffers& buffers, std::vector<ByteRange>& read)
{
    std::vector<io::Xxh3Digest> out;
    size_t next = 0; // digest
    for (const ByteRange& chunk : chunksOf(file.bytes)) {
        const size_t first = next;
        uint64_t at = chunk.begin;
        for (; next < file.digests.size() && file.digests[next].range.begin == at && at < chunk.end; ++next)
            at = file.digests[next].range.end;
        if (at != chunk.end)
            return doesNotFit(file.path);
        const bool hasLate
            = std::ranges::any_of(file.late, [&](const ByteRange& range) { return overlaps(range, chunk); });
        if (next == first + 1 && !hasLate) {
            out.push_back(file.digests[first].digest);
            continue;
        }
        SHARDSCOPE_TRY(out.emplace_back(), readChunk(file, chunk, &late, buffers));
        read.push_back(chunk);
    }
    return out;
}

/// The digest of a chunk once the late bytes are in it. Checks that the chunk is as it was recorded before;
/// not without `late`, when they are in the file already.
Result<io::Xxh3Digest> PartCombiner::readChunk(
    const FileToCombine& file, ByteRange chunk, const std::vector<LateBytes>* late, ChunkBuffers& buffers)
{
    SHARDSCOPE_TRY(const auto opened, m_files.openRead(file.place));
    if (opened->size() != file.bytes)
        return doesNotFit(file.path);
    io::Xxh3 sum;
    io::Xxh3 recorded;
    auto entry
        = std::ranges::find(file.digests, chunk.begin, [](const auto& digest) { return digest.range.begin; });
    for (uint64_t at = chunk.begin; at < chunk.end;) {
        SHARDSCOPE_CHECK(m_job.poll());
        const std::span<uint8_t> room(buffers.at(0), std::min<uint64_t>(buffers.bytes(), chunk.end - at));
        SHARDSCOPE_CHECK(opened->readFromDevice(at, room));
        if (late != nullptr)
            clearRanges(file.late, at, room);
        for (size_t done = 0; late != nullptr && done < room.size();) {
            const size_t part = std::min<uint64_t>(room.size() - done, entry->range.end - (at + done));
            recorded.update(room.subspan(done, part));
            done += part;
            if (at + done < entry->range.end)
                break;
            if (recorded.digest() != entry->digest)
                return fail(ErrorCode::VerifyFailed, "a part of the file is not what was written to it",
                    file.place.string(), "another program changed it; no output was published");
            recorded.reset();
            ++entry;
        }
        for (const LateBytes& bytes : late != nullptr ? *late : std::vector<LateBytes>()) {
            const uint64_t begin = std::max(bytes.begin, at);
            const uint64_t end = std::min(bytes.begin + bytes.bytes.size(), at + room.size());
            if (begin < end)
                std::ranges::copy(asBytes(bytes.bytes).subspan(begin - bytes.begin, end - begin),
                    room.begin() + static_cast<std::ptrdiff_t>(begin - at));
        }
        sum.update(room);
        at += room.size();
    }
    return sum.digest();
}

/// Of the completed file, which must have these chunks.
Result<std::string> PartCombiner::sha256Of(
    const FileToCombine& file, const std::vector<io::Xxh3Digest>& chunks, ChunkBuffers& buffers)
{
    SHARDSCOPE_TRY(const auto opened, m_files.openRead(file.place));
    io::ContentDigest sum(io::DigestKind::Sha256);
    io::ChunkDigests found;
    for (uint64_t at = 0; at < file.bytes;) {
        SHARDSCOPE_CHECK(m_job.poll());
        const std::span<uint8_t> room(buffers.at(0), std::min<uint64_t>(buffers.bytes(), file.bytes - at));
        SHARDSCOPE_CHECK(opened->readAt(at, room));
        sum.update(room);
        found.update(room);
        at += room.size();
    }
    if (opened->size() != file.bytes || found.finish() != chunks)
        return fail(ErrorCode::VerifyFailed, "a part of the file is not what was written to it",
            file.place.string(), "another program changed it; no output was published");
    return sum.finish();
}

Status PartCombiner::writeLate(const FileToCombine& file, const std::vector<LateBytes>& late)
{
    SHARDSCOPE_TRY(const auto opened, m_files.openShared(file.place, file.recipe.mode));
    for (const LateBytes& bytes : late)
        SHARDSCOPE_CHECK(opened->writeAt(bytes.begin, asBytes(bytes.bytes)));
    SHARDSCOPE_CHECK(opened->sync());
    return opened->close();
}

Status PartCombiner::take(PieceRecord& record)
{
    SHARDSCOPE_CHECK(takeElements(record));
    SHARDSCOPE_CHECK(takeSources(record));
    (void)std::exchange(record.elements, {}); // frees their memory, as an assigned {} does not
    (void)std::exchange(record.sources, {});
    (void)std::exchange(record.touched, {});
    return {};
}

Status PartCombiner::takeElements(const PieceRecord& record)
{
    std::vector<std::pair<uint64_t, uint64_t>> partial;
    for (const ElementsSum& sum : record.elements) {
        const bool isKnown = sum.tensor < m_plan.tensors.size();
        const uint64_t elements = isKnown ? m_plan.tensors[sum.tensor].elements : 0;
        if (!isKnown || sum.first > elements || sum.count > elements - sum.first)
            return doesNotFit(m_plan.files[record.piece.file].path);
        m_digests.addSummed(sum.tensor, sum.first, sum.first + sum.count, sum.digest, partial);
        for (const auto& [from, to] : partial)
            m_partialSums.push_back({record.piece.file, sum, from, to});
    }
    return {};
}

Status PartCombiner::takeSources(const PieceRecord& record)
{
    const auto isKnown = [&](uint32_t source, uint32_t index) {
        return source < m_plan.sources.size() && index < m_plan.sources[source].records.size();
    };
    for (const auto& [source, index] : record.touched) {
        if (!isKnown(source, index))
            return doesNotFit(m_plan.files[record.piece.file].path);
        m_crcs.touch(source, index);
    }
    std::vector<ByteRange> unclaimed;
    for (const SourcePart& part : record.sources) {
        if (!isKnown(part.source, part.record) || part.range.begin > part.range.end
            || part.range.end > m_plan.sources[part.source].records[part.record].bytes)
            return doesNotFit(m_plan.files[record.piece.file].path);
        m_crcs.claim(part.source, part.record, part.range, unclaimed);
        const bool isNew = unclaimed.size() == 1 && unclaimed[0].begin == part.range.begin
            && unclaimed[0].end == part.range.end;
        if (isNew)
            SHARDSCOPE_CHECK(m_crcs.complete(part.source, part.record, part.range, part.crc32));
        for (const ByteRange& range : isNew ? std::vector<ByteRange>() : unclaimed)
            m_partialSources.push_back({part.source, part.record, range});
    }
    return {};
}

/// Sums the part of a run of elements that no other piece has counted.
Status PartCombiner::addPartial(const PartialSum& partial, const Halt& halt)
{
    const ElementsSum& sum = partial.sum;
    const uint64_t item = m_digests.itemBytes(sum.tensor);
    const ByteRange range{
        sum.offset + (partial.from - sum.first) * item, sum.offset + (partial.to - sum.first) * item};
    if (range.begin > range.end || range.end > m_plan.files[partial.file].bytes)
        return doesNotFit(m_plan.files[partial.file].path);
    SHARDSCOPE_TRY(const OutputFile recipe, m_plan.recipe(partial.file));
    SHARDSCOPE_TRY(const auto crcs, RecordParts::make(recipe, {}, halt));
    SHARDSCOPE_TRY(const PieceRecord record,
        walk(halt).run({partial.file, range}, recipe, *crcs, m_buffers[0],
            [](uint64_t, std::span<const uint8_t>) -> Status { return {}; }));
    uint64_t counted = 0;
    for (const ElementsSum& found : record.elements) {
        if (found.tensor != sum.tensor)
            return doesNotFit(m_plan.files[partial.file].path);
        counted += found.count;
        m_digests.addDigest(found.tensor, found.digest);
    }
    return counted == partial.to - partial.from ? Status() : doesNotFit(m_plan.files[partial.file].path);
}

} // namespace shardscope
