// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/file_scan.h"

#include "core/compare/digest/run_digester.h"
#include "core/io/crc32.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
/// Read by the kernel while earlier bytes are digested.
constexpr uint64_t kAheadBytes = uint64_t{8} << 20;

/// CRCs of records, in ascending order of their payloads.
class RecordChecker
{
public:
    explicit RecordChecker(const std::vector<ZipRecord>& records)
        : m_records(records)
    {
        for (uint32_t i = 0; i < records.size(); ++i) {
            if (records[i].bytes > 0 && !records[i].damaged)
                m_order.push_back(i);
        }
        std::sort(m_order.begin(), m_order.end(),
            [&](uint32_t a, uint32_t b) { return records[a].payloadOffset < records[b].payloadOffset; });
    }

    void feed(uint64_t offset, std::span<const uint8_t> chunk, std::vector<std::string>& bad)
    {
        const uint64_t end = offset + chunk.size();
        while (m_next < m_order.size()) {
            const ZipRecord& record = m_records[m_order[m_next]];
            const uint64_t recordEnd = record.payloadOffset + record.bytes;
            if (record.payloadOffset >= end)
                return;
            const uint64_t from = std::max(record.payloadOffset, offset);
            const uint64_t to = std::min(recordEnd, end);
            m_crc = io::crc32(m_crc, chunk.subspan(from - offset, to - from));
            if (recordEnd > end)
                return;
            // The CRC of a deflated record is that of its inflated bytes; readers check those when they
            // inflate.
            if (record.crcPresent && !record.deflated && m_crc != record.crc32)
                bad.push_back(record.name);
            m_crc = 0;
            ++m_next;
        }
    }

private:
    const std::vector<ZipRecord>& m_records;
    std::vector<uint32_t> m_order;
    size_t m_next = 0;
    uint32_t m_crc = 0;
};

/// The records of all archives in a file of a distributed checkpoint, by their place in the file.
Result<std::vector<ZipRecord>> recordsOfArchives(
    io::FileSystem& files, const Checkpoint& checkpoint, FileId id, JobContext& job)
{
    std::vector<ZipRecord> out;
    const CheckpointFile& file = checkpoint.file(id);
    const auto first
        = std::lower_bound(checkpoint.archives.begin(), checkpoint.archives.end(), ArchivePart{id, 0, 0});
    for (auto part = first; part != checkpoint.archives.end() && part->file == id; ++part) {
        SHARDSCOPE_TRY(const auto archive,
            TorchFile::openPart(files, file.path, part->offset, part->bytes, ReadMode::Tolerant, job));
        const bool alone = part->offset == 0 && part->bytes == file.identity.bytes;
        for (ZipRecord record : archive->zip().records()) {
            record.payloadOffset += part->offset;
            if (!alone)
                record.name = std::to_string(part->offset) + ":" + record.name;
            out.push_back(std::move(record));
        }
    }
    return out;
}

/// The records of a file, wherever they are kept.
struct FileRecords {
    std::shared_ptr<const TorchFile> content;
    ZipDirectory zip;
    std::vector<ZipRecord> parts;

    [[nodiscard]] const std::vector<ZipRecord>& all() const
    {
        if (content)
            return content->zip().records();
        return zip.recordCount() > 0 ? zip.records() : parts;
    }
};

Result<FileRecords> recordsOf(const ScanContext& context, FileId id, const io::ReadFile& file)
{
    FileRecords out;
    const CheckpointFile& entry = context.checkpoint.file(id);
    if (isDistributed(context.checkpoint.kind)) { // the content of `.metadata` is generated and has no bytes
        SHARDSCOPE_TRY(out.parts, recordsOfArchives(context.files, context.checkpoint, id, context.job));
        return out;
    }
    out.content = entry.content;
    if (out.content || entry.role == FileRole::Swap) // swap files hold bare elements
        return out;
    if (entry.recordCount > 0) { // its pickle was read before, and not kept
        if (auto zip = ZipDirectory::read(file, ReadMode::Tolerant, context.job); zip) {
            out.zip = std::move(*zip);
            return out;
        }
    }
    SHARDSCOPE_TRY(out.content, TorchFile::open(file, ReadMode::Tolerant, context.job));
    return out;
}

void addUnitRuns(const Checkpoint& checkpoint, const TensorTable& table, const FlatUnit& unit, FileId file,
    std::vector<TensorRun>& out)
{
    for (uint32_t s = 0; s < unit.states.size(); ++s) {
        const UnitState& state = unit.states[s];
        const uint32_t item = itemSize(state.dtype);
        state.visitRuns([&](const MappedRun& mapped) {
            if (mapped.run.file == file)
                mapped.forEachPiece(unit.partition, [&](uint32_t position, const StoredPiece& piece) {
                    const ParamId param = unit.params[position];
                    out.push_back({piece.run.byteOffset + piece.runOffset * item, piece.elements * item,
                        table.indexOf(param, s), item, piece.paramOffset, checkpoint.transposedOrder(param)});
                });
            return true;
        });
    }
}

} // namespace

WholeRuns::WholeRuns(const Checkpoint& checkpoint, const TensorTable& table)
    : m_merged(checkpoint, table)
{
    for (const FlatUnit& unit : checkpoint.units) {
        for (uint32_t s = 0; unit.kind == UnitKind::Whole && s < unit.states.size(); ++s) {
            const UnitState& state = unit.states[s];
            const uint32_t item = itemSize(state.dtype);
            state.visitRuns([&](const MappedRun& mapped) {
                if (mapped.run.isPresent())
                    mapped.forEachPiece(unit.partition, [&](uint32_t position, const StoredPiece& piece) {
                        m_runs.push_back({piece.run.file,
                            {piece.run.byteOffset + piece.runOffset * item, piece.elements * item,
                                table.indexOf(unit.params[position], s), item, piece.paramOffset}});
                    });
                return true;
            });
        }
    }
    for (uint32_t i = 0; i < checkpoint.whole.size(); ++i) {
        const WholeTensor& whole = checkpoint.whole[i];
        const uint32_t item = itemSize(whole.dtype);
        if (whole.run.isPresent() && whole.contiguous && whole.run.elements > 0)
            m_runs.push_back({whole.run.file,
                {whole.run.byteOffset, whole.run.elements * item, table.indexOfWhole(i), item, 0}});
    }
    std::stable_sort(
        m_runs.begin(), m_runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

void WholeRuns::addTo(std::vector<TensorRun>& out, FileId file) const
{
    const auto first = std::lower_bound(m_runs.begin(), m_runs.end(), file,
        [](const auto& entry, FileId wanted) { return entry.first < wanted; });
    for (auto at = first; at != m_runs.end() && at->first == file; ++at)
        out.push_back(at->second);
    m_merged.addTo(out, file);
}

std::vector<TensorRun> runsOfFile(
    const Checkpoint& checkpoint, const TensorTable& table, const WholeRuns& wholeRuns, FileId file)
{
    std::vector<TensorRun> out;
    wholeRuns.addTo(out, file);
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::Whole) // WholeRuns has those
            addUnitRuns(checkpoint, table, unit, file, out);
    }
    std::stable_sort(
        out.begin(), out.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    uint64_t end = 0;
    std::erase_if(out, [&](const TensorRun& run) { // overlapping views: the first one is used for the bytes
        const bool overlaps = run.offset < end;
        end = overlaps ? end : run.offset + run.bytes;
        return overlaps;
    });
    return out;
}

FileScan scanFile(const ScanContext& context, FileId id, FoundTensors& tensors)
{
    const auto& [files, checkpoint, table, wholeRuns, copies, options, backend, job] = context;
    FileScan out;
    out.file = id;
    const CheckpointFile& entry = checkpoint.file(id);
    auto file = files.openRead(entry.path);
    if (!file) {
        out.error = std::move(file).error();
        return out;
    }
    auto found = recordsOf(context, id, **file);
    if (!found) {
        out.error = std::move(found).error();
        return out;
    }
    if (options.dropCache)
        (*file)->dropCache(0, (*file)->size());
    const std::vector<TensorRun> runs = runsOfFile(checkpoint, table, wholeRuns, id);
    RunDigester digester(context, runs);
    RecordChecker records(found->all());
    io::ContentDigest whole(options.digest);
    const size_t chunkBytes = std::max(kChunkBytes, backend.batchBytes());
    const HostMemory chunk = backend.hostMemory(chunkBytes);
    out.bytes = (*file)->size();
    (*file)->readAhead(0, std::min(kAheadBytes, out.bytes));
    for (uint64_t offset = 0; offset < out.bytes && !job.cancelled();) {
        const std::span<uint8_t> part(chunk.get(), std::min<uint64_t>(chunkBytes, out.bytes - offset));
        if (offset + kAheadBytes < out.bytes)
            (*file)->readAhead(offset + kAheadBytes, std::min(part.size(), out.bytes - offset - kAheadBytes));
        if (auto read = (*file)->readAt(offset, part); !read) {
            out.error = std::move(read).error();
            return out;
        }
        whole.update(part);
        records.feed(offset, part, out.badRecords);
        digester.feed(offset, part, tensors);
        offset += part.size();
        job.advance(part.size());
    }
    out.digest = whole.finish();
    return out;
}

} // namespace shardscope
