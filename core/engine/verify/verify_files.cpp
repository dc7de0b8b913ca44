// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify_files.h"

#include "core/io/crc32.h"
#include "core/torchfile/zip/zip_directory.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

/// A read error does not prove that the output is wrong: the work is kept for another attempt.
bool readingFailed(ErrorCode code)
{
    return code == ErrorCode::Unreadable || code == ErrorCode::NoPermission || code == ErrorCode::NotFound
        || code == ErrorCode::Cancelled;
}

tl::unexpected<Error> differs(std::string what, const io::Path& path)
{
    return fail(ErrorCode::VerifyFailed, std::move(what), path.string(),
        "the disk or the memory corrupted the output; no output was published");
}

/// Sums the CRCs of records while their file is read in order.
class RecordCrcs
{
public:
    explicit RecordCrcs(const std::vector<ZipRecord>& records)
        : m_records(records)
        , m_order(records.size())
        , m_crcs(records.size())
    {
        std::iota(m_order.begin(), m_order.end(), 0u);
        std::ranges::sort(m_order, {}, [&](uint32_t i) { return records[i].payloadOffset; });
    }

    void pass(uint64_t offset, std::span<const uint8_t> bytes)
    {
        while (m_next < m_order.size()) {
            const ZipRecord& record = m_records[m_order[m_next]];
            const uint64_t begin = std::max(record.payloadOffset, offset);
            const uint64_t end = std::min(record.payloadOffset + record.bytes, offset + bytes.size());
            if (begin < end)
                m_crcs[m_order[m_next]]
                    = io::crc32(m_crcs[m_order[m_next]], bytes.subspan(begin - offset, end - begin));
            if (record.payloadOffset + record.bytes > offset + bytes.size())
                return;
            ++m_next;
        }
    }
    [[nodiscard]] uint32_t crc(size_t record) const { return m_crcs[record]; }

private:
    const std::vector<ZipRecord>& m_records;
    std::vector<uint32_t> m_order;
    std::vector<uint32_t> m_crcs;
    size_t m_next = 0;
};

/// Adds the elements of a file's runs to the digests while the file is read in order.
class PassingRuns
{
public:
    PassingRuns(std::unique_ptr<ElementRunCursor> cursor, const VerifyContext& context)
        : m_cursor(std::move(cursor))
        , m_context(context)
    {
        advance();
    }

    /// False if runs are not ascending, or if a chunk border splits an element.
    bool pass(uint64_t offset, std::span<const uint8_t> bytes)
    {
        const uint64_t end = offset + bytes.size();
        while (m_live && m_run.offset < end) {
            const uint64_t count = std::min(m_run.bytes, end - m_run.offset);
            const uint32_t item = m_context.digests.itemBytes(m_run.tensor);
            if (m_run.offset < offset || count % item != 0)
                return false;
            m_context.digests.claim(
                m_run.tensor, m_run.firstElement, bytes.subspan(m_run.offset - offset, count), m_sums);
            m_run.offset += count;
            m_run.bytes -= count;
            m_run.firstElement += count / item;
            if (m_run.bytes == 0)
                advance();
        }
        if (m_sums.sums.empty())
            return true;
        const StageTimer timer(m_context.times, Stage::Arithmetic);
        m_context.backend.transform({}, m_sums.sums);
        m_context.digests.add(m_sums);
        return true;
    }
    /// Whether a run beyond the end of the file is left.
    [[nodiscard]] bool atEnd() const { return !m_live; }

private:
    void advance() { m_live = m_cursor && m_cursor->next(m_run); }

    std::unique_ptr<ElementRunCursor> m_cursor;
    const VerifyContext& m_context;
    SumBatch m_sums;
    ElementRun m_run;
    bool m_live = false;
};

Status compareRecords(const std::vector<ZipRecord>& found, const RecordCrcs& crcs, const WrittenFile& written,
    const io::Path& path)
{
    if (found.size() != written.records.size())
        return differs("the archive was read back with another number of records", path);
    for (size_t i = 0; i < found.size(); ++i) {
        const ZipRecord& record = found[i];
        const WrittenRecord& meant = written.records[i];
        if (record.name != meant.name || record.bytes != meant.bytes || record.deflated)
            return differs("record '" + meant.name + "' was read back with another name or size", path);
        if (record.crc32 != meant.crc32 || crcs.crc(i) != meant.crc32)
            return differs("record '" + meant.name + "' was read back with another checksum", path);
    }
    return {};
}

} // namespace

Status verifyOutputFile(const io::Path& path, const WrittenFile& written, const VerifyContext& context,
    ChunkBuffers& buffers, bool threaded)
{
    // The recipe is not used, because it would build the pickle again.
    const bool isArchive = !written.records.empty();
    SHARDSCOPE_TRY(const auto file, context.files.openRead(path));
    if (file->size() != written.bytes)
        return differs("the file was read back with another size", path);
    file->dropCache(0, file->size()); // read from the disk, not from memory
    std::vector<ZipRecord> records;
    if (isArchive) {
        auto directory = ZipDirectory::read(*file, ReadMode::Strict, context.halt.job());
        if (!directory && readingFailed(directory.error().code))
            return forward(std::move(directory).error());
        if (!directory)
            return differs("the archive cannot be read back (" + directory.error().message + ")", path);
        records = directory->records();
    }
    RecordCrcs crcs(records);
    std::unique_ptr<ElementRunCursor> cursor;
    if (context.model) {
        SHARDSCOPE_TRY(cursor, context.model->runsOf(written.path));
    }
    PassingRuns runs(std::move(cursor), context);

    io::ChunkDigests digest;
    ChunkSink sink(buffers, threaded && written.bytes > buffers.bytes(),
        [&](uint64_t, std::span<const uint8_t> chunk) -> Status {
            const StageTimer timer(context.times, Stage::Checksums);
            digest.update(chunk);
            return {};
        });
    for (uint64_t offset = 0; offset < written.bytes;) {
        SHARDSCOPE_CHECK(context.halt.poll());
        SHARDSCOPE_TRY(const std::span<uint8_t> room, sink.room(buffers.bytes()));
        const size_t count = std::min<uint64_t>(room.size(), written.bytes - offset);
        {
            const StageTimer timer(context.times, Stage::Reading);
            SHARDSCOPE_CHECK(file->readAt(offset, room.first(count)));
        }
        {
            const StageTimer timer(context.times, Stage::Checksums);
            crcs.pass(offset, room.first(count));
        }
        if (!runs.pass(offset, room.first(count)))
            return differs("tensors were read back at offsets that overlap or split elements", path);
        sink.filled(count);
        offset += count;
        context.halt.job().advance(count);
    }
    SHARDSCOPE_CHECK(sink.finish());
    if (isArchive)
        SHARDSCOPE_CHECK(compareRecords(records, crcs, written, path));
    if (digest.finish() != written.chunks)
        return differs("the file was read back with other bytes than were written", path);
    if (!runs.atEnd())
        return differs("a tensor was read back beyond the end of its file", path);
    return {};
}

Status compareDigests(const std::vector<PlanTensor>& tensors, const std::vector<Digest>& meant,
    const std::vector<Digest>& found)
{
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (meant[i] != found[i])
            return fail(ErrorCode::VerifyFailed,
                "the elements of " + tensors[i].name + " (" + tensors[i].state
                    + ") read back differ from the source",
                {}, "this is a defect of the program; no output was published");
    }
    return {};
}

} // namespace shardscope
