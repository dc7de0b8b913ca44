// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/read_back.h"

#include "core/io/crc32.h"

#include <algorithm>

namespace shardscope {

namespace {

tl::unexpected<Error> differs(std::string what, const io::Path& path)
{
    return fail(ErrorCode::VerifyFailed, std::move(what), path.string(),
        "the disk or the memory corrupted the output; no output was published");
}

/// Sums the CRCs of records while their file is read in order.
class RecordCrcs
{
public:
    explicit RecordCrcs(std::vector<ByteRange> payloads)
        : m_payloads(std::move(payloads))
        , m_crcs(m_payloads.size())
    {
    }

    void pass(uint64_t offset, std::span<const uint8_t> bytes)
    {
        for (; m_next < m_payloads.size(); ++m_next) {
            const ByteRange& payload = m_payloads[m_next];
            const uint64_t begin = std::max(payload.begin, offset);
            const uint64_t end = std::min(payload.end, offset + bytes.size());
            if (begin < end)
                m_crcs[m_next] = io::crc32(m_crcs[m_next], bytes.subspan(begin - offset, end - begin));
            if (payload.end > offset + bytes.size())
                return;
        }
    }
    [[nodiscard]] const std::vector<uint32_t>& crcs() const { return m_crcs; }

private:
    std::vector<ByteRange> m_payloads;
    std::vector<uint32_t> m_crcs;
    size_t m_next = 0;
};

} // namespace

class ReadBack::File
{
public:
    File(std::unique_ptr<io::ReadFile> opened, io::Path name, std::vector<ByteRange> payloads)
        : file(std::move(opened))
        , path(std::move(name))
        , crcs(std::move(payloads))
    {
    }

    const std::unique_ptr<io::ReadFile> file;
    const io::Path path;
    // Of the thread that reads it:
    RecordCrcs crcs;
    uint64_t offset = 0;
    // Guarded by ReadBack::m_mutex:
    std::deque<io::Xxh3Digest> chunks; ///< to be read
    std::optional<std::vector<uint32_t>> meantCrcs; ///< once all chunks were added
    bool queued = false; ///< in m_waiting, or being read
};

ReadBack::ReadBack(
    size_t threads, size_t bufferBytes, const ComputeBackend& backend, StageTimes& times, Halt& halt)
    : m_times(times)
    , m_halt(halt)
{
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i)
        m_buffers.emplace_back(1, bufferBytes, backend);
    for (size_t i = 0; i < threads; ++i) {
        Thread thread = Thread::start([this, i] { readFiles(m_buffers[i]); });
        if (!thread.isStarted())
            break;
        m_threads.push_back(std::move(thread));
    }
}

ReadBack::~ReadBack()
{
    const std::lock_guard lock(m_mutex);
    m_ended = true;
    m_waiting.clear();
    m_changed.notify_all();
}

std::shared_ptr<ReadBack::File> ReadBack::begin(
    std::unique_ptr<io::ReadFile> file, io::Path path, std::vector<ByteRange> payloads)
{
    if (file->size() > 0 && !file->readsDirectly())
        m_direct = false;
    return std::make_shared<File>(std::move(file), std::move(path), std::move(payloads));
}

void ReadBack::add(const std::shared_ptr<File>& file, const io::Xxh3Digest& digest)
{
    const std::lock_guard lock(m_mutex);
    file->chunks.push_back(digest);
    if (file->queued || m_threads.empty())
        return;
    file->queued = true;
    m_waiting.push_back(file);
    m_changed.notify_all();
}

void ReadBack::complete(const std::shared_ptr<File>& file, std::vector<uint32_t> crcs)
{
    {
        std::unique_lock lock(m_mutex);
        file->meantCrcs = std::move(crcs);
        ++m_unread;
        if (!m_threads.empty()) {
            if (!file->queued)
                m_waiting.push_back(file);
            file->queued = true;
            m_changed.notify_all();
            m_changed.wait(lock, [&] { return m_unread < kReadBackFiles || m_failure; });
            return;
        }
    }
    const std::lock_guard inPlace(m_inPlace);
    report(readChunks(*file, m_buffers[0]));
}

Status ReadBack::finish()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_unread == 0 || m_failure; });
    if (m_failure)
        return forward(*m_failure);
    return {};
}

std::optional<Error> ReadBack::failure() const
{
    const std::lock_guard lock(m_mutex);
    return m_failure;
}

void ReadBack::readFiles(ChunkBuffers& buffer)
{
    for (;;) {
        std::shared_ptr<File> file;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait(lock, [&] { return !m_waiting.empty() || m_ended || m_failure; });
            if (m_ended || m_failure)
                return;
            file = std::move(m_waiting.front());
            m_waiting.pop_front();
        }
        report(withinMemory([&] { return readChunks(*file, buffer); }));
    }
}

void ReadBack::report(const Status& status)
{
    if (status)
        return;
    const std::lock_guard lock(m_mutex);
    if (!m_failure)
        m_failure = status.error();
    m_halt.stop(); // only now: a worker that it stops asks for the reason
    m_changed.notify_all();
}

/// Reads the chunks that were added so far, and ends the file once all were.
Status ReadBack::readChunks(File& file, ChunkBuffers& buffer)
{
    for (;;) {
        io::Xxh3Digest digest;
        {
            const std::lock_guard lock(m_mutex);
            if (file.chunks.empty()) {
                file.queued = false;
                if (!file.meantCrcs)
                    return {};
                break;
            }
            digest = file.chunks.front();
            file.chunks.pop_front();
        }
        SHARDSCOPE_CHECK(readChunk(file, digest, buffer));
    }
    if (file.offset != file.file->size())
        return differs("the file was read back with another size", file.path);
    if (file.crcs.crcs() != *file.meantCrcs)
        return differs("a record was read back with another checksum", file.path);
    const std::lock_guard lock(m_mutex);
    --m_unread;
    m_changed.notify_all();
    return {};
}

Status ReadBack::readChunk(File& file, const io::Xxh3Digest& digest, ChunkBuffers& buffer)
{
    const uint64_t end = std::min(file.offset + io::kDigestChunkBytes, file.file->size());
    io::Xxh3 sum;
    while (file.offset < end) {
        SHARDSCOPE_CHECK(m_halt.poll());
        const std::span<uint8_t> room(buffer.at(0), std::min<uint64_t>(buffer.bytes(), end - file.offset));
        {
            const StageTimer timer(m_times, Stage::Verification);
            SHARDSCOPE_CHECK(file.file->readFromDevice(file.offset, room));
        }
        const StageTimer timer(m_times, Stage::Checksums);
        sum.update(room);
        file.crcs.pass(file.offset, room);
        file.offset += room.size();
        m_halt.job().advance(room.size());
    }
    if (sum.digest() != digest)
        return differs("the file was read back with other bytes than were written", file.path);
    return {};
}

} // namespace shardscope
