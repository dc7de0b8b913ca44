// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/file_scan.h"

#include "core/checkpoint/model/wrapped_names.h"
#include "core/compare/digest/merged_runs.h"
#include "core/io/crc32.h"

#include <algorithm>
#include <span>
#include <vector>

namespace shardscope {

namespace {

/// Follows ascending runs through a stream of chunks and digests their elements, chunk by chunk. Keeps an
/// element that crosses a chunk border for the next chunk.
class RunDigester
{
public:
    /// Keeps references to `context` and `runs`.
    RunDigester(const ScanContext& context, const std::vector<TensorRun>& runs)
        : m_context(context)
        , m_runs(runs)
    {
    }

    /// The next bytes of the file; `offset`: of the first one. Adds the runs that end in them to `out`.
    void feed(uint64_t offset, std::span<const uint8_t> chunk, FoundTensors& out);

private:
    /// The sums of one chunk. A run has several where an element crosses a chunk border.
    class Sums
    {
    public:
        void push(const ElementSum& sum) { m_sums.push_back(sum); }
        void endRun() { m_ends.push_back(m_sums.size()); }
        [[nodiscard]] std::span<ElementSum> all() { return m_sums; }
        /// Once they were computed: the digests of the runs that ended. That of the run that continues stays.
        std::vector<Digest> take();

    private:
        std::vector<ElementSum> m_sums;
        std::vector<size_t> m_ends; ///< for each run that ends in this chunk: one past its last sum
        Digest m_open; ///< of the run that continues
    };

    void beginRun(const TensorRun& run);
    void add(const TensorRun& run, std::span<const uint8_t> bytes);
    void push(const TensorRun& run, std::span<const uint8_t> bytes);
    void pushRounded(const TensorRun& run, std::span<const uint8_t> bytes);
    void sumUp(FoundTensors& out);
    void endStatistics(size_t runs, std::vector<Statistics>& out);

    const ScanContext& m_context;
    const std::vector<TensorRun>& m_runs;
    size_t m_run = 0;
    size_t m_ended = 0; ///< runs in this chunk
    uint64_t m_done = 0; ///< elements of the run
    std::vector<uint8_t> m_carry; ///< the first bytes of an element at the end of the chunk
    std::vector<uint8_t> m_straddling; ///< an element from two chunks; at most one per chunk

    uint32_t m_keyed = 0xFFFFFFFFu; ///< the tensor that the following are of
    DigestKey m_key;
    DType m_dtype = DType::Unknown; ///< Unknown: no statistics
    DigestKey m_copyKey;
    DType m_roundsTo = DType::Unknown; ///< Unknown: it is no master with a 16-bit copy

    Sums m_sums;
    Sums m_rounded;
    std::vector<ElementCast> m_casts;
    std::vector<uint8_t> m_room; ///< for the elements of `m_casts`
    size_t m_used = 0; ///< of `m_room`
    /// Of the runs that ended in this chunk, and of the one that continues.
    std::vector<Statistics> m_statistics;
};

std::vector<Digest> RunDigester::Sums::take()
{
    std::vector<Digest> out;
    size_t at = 0;
    for (const size_t end : m_ends) {
        for (; at < end; ++at)
            m_open += m_sums[at].digest;
        out.push_back(m_open);
        m_open = {};
    }
    for (; at < m_sums.size(); ++at)
        m_open += m_sums[at].digest;
    m_sums.clear();
    m_ends.clear();
    return out;
}

void RunDigester::feed(uint64_t offset, std::span<const uint8_t> chunk, FoundTensors& out)
{
    const uint64_t end = offset + chunk.size();
    if (m_context.copies != nullptr && m_room.size() < chunk.size() / 2 + sizeof(double))
        m_room.resize(chunk.size() / 2 + sizeof(double));
    while (m_run < m_runs.size() && m_runs[m_run].offset < end) {
        const TensorRun& run = m_runs[m_run];
        const uint64_t runEnd = run.offset + run.bytes;
        const uint64_t from = std::max(run.offset, offset);
        const uint64_t to = std::min(runEnd, end);
        if (m_done == 0 && m_carry.empty())
            beginRun(run);
        add(run, chunk.subspan(from - offset, to - from));
        if (runEnd > end)
            break;
        m_sums.endRun();
        m_rounded.endRun();
        ++m_ended;
        ++m_run;
        m_done = 0;
        m_carry.clear();
    }
    sumUp(out);
}

void RunDigester::beginRun(const TensorRun& run)
{
    if (run.tensor == m_keyed)
        return;
    const auto& [files, checkpoint, table, wholeRuns, copies, options, backend, job] = m_context;
    const auto keyOf = [&](const TensorTable::Entry& entry) {
        return digestKey(stateDictName(checkpoint, entry.param), entry.state, options.version);
    };
    const TensorTable::Entry entry = table.entry(run.tensor);
    m_keyed = run.tensor;
    m_key = keyOf(entry);
    m_dtype = options.statistics && hasStatistics(entry.dtype) ? entry.dtype : DType::Unknown;
    m_roundsTo = DType::Unknown;
    if (const auto copy = copies != nullptr ? copies->copyOf(run.tensor) : std::nullopt) {
        m_copyKey = keyOf(table.entry(*copy));
        m_roundsTo = table.entry(*copy).dtype;
    }
}

void RunDigester::add(const TensorRun& run, std::span<const uint8_t> bytes)
{
    if (!m_carry.empty()) {
        const size_t missing = std::min<size_t>(run.itemBytes - m_carry.size(), bytes.size());
        m_carry.insert(m_carry.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(missing));
        bytes = bytes.subspan(missing);
        if (m_carry.size() < run.itemBytes)
            return;
        m_straddling.swap(m_carry);
        push(run, m_straddling);
        m_carry.clear();
    }
    const size_t whole = bytes.size() / run.itemBytes;
    push(run, bytes.first(whole * run.itemBytes));
    const auto rest = bytes.subspan(whole * run.itemBytes);
    m_carry.assign(rest.begin(), rest.end());
}

void RunDigester::push(const TensorRun& run, std::span<const uint8_t> bytes)
{
    m_sums.push({m_key, run.itemBytes, run.order, run.firstElement + m_done, bytes, {}});
    if (m_roundsTo != DType::Unknown)
        pushRounded(run, bytes);
    m_done += bytes.size() / run.itemBytes;
    if (m_dtype == DType::Unknown)
        return;
    m_statistics.resize(m_ended + 1);
    m_statistics.back() += m_context.backend.statistics(m_dtype, bytes, nullptr);
}

void RunDigester::pushRounded(const TensorRun& run, std::span<const uint8_t> bytes)
{
    const uint32_t item = itemSize(m_roundsTo);
    const std::span<uint8_t> room = std::span(m_room).subspan(m_used, bytes.size() / run.itemBytes * item);
    m_used += room.size();
    m_casts.push_back({DType::Float32, bytes, m_roundsTo, room});
    m_rounded.push({m_copyKey, item, run.order, run.firstElement + m_done, room, {}});
}

void RunDigester::sumUp(FoundTensors& out)
{
    m_context.backend.transform({}, m_sums.all());
    m_context.backend.transform(m_casts, m_rounded.all());
    m_casts.clear();
    m_used = 0;
    const std::vector<Digest> sums = m_sums.take();
    const std::vector<Digest> rounded = m_rounded.take();
    for (size_t i = 0; i < m_ended; ++i) {
        const TensorRun& run = m_runs[m_run - m_ended + i];
        out.digests.push_back({run.tensor, sums[i], run.bytes / run.itemBytes, rounded[i]});
    }
    if (m_context.options.statistics)
        endStatistics(m_ended, out.statistics);
    m_ended = 0;
}

/// Passes on those of the first runs, and keeps those of the run that continues.
void RunDigester::endStatistics(size_t runs, std::vector<Statistics>& out)
{
    m_statistics.resize(std::max(m_statistics.size(), runs)); // a run may have none
    const auto end = m_statistics.begin() + static_cast<ptrdiff_t>(runs);
    out.insert(out.end(), m_statistics.begin(), end);
    m_statistics.erase(m_statistics.begin(), end);
}

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
