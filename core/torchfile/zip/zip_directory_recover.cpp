// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_recover.h"

#include "core/torchfile/zip/zip_directory_names.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>

namespace shardscope::zip {
namespace {

constexpr uint64_t kChunkBytes = 1 << 20;
constexpr uint64_t kHeaderAhead = 64 << 10;
constexpr size_t kMaxEntries = 4'000'000;

class Recovery
{
public:
    Recovery(const io::ReadFile& file, HeaderWindow& window, JobContext& job)
        : m_file(file)
        , m_window(window)
        , m_job(job)
    {
    }

    Result<Recovered> run()
    {
        Recovered found;
        while (found.entries.size() < kMaxEntries) {
            SHARDSCOPE_CHECK(m_job.poll());
            if (found.endOffset + kLocalBytes > m_file.size())
                break;
            auto viewed = viewLocalHeader(m_window, found.endOffset, kHeaderAhead);
            if (!viewed && viewed.error().code != ErrorCode::Damaged)
                return forward(std::move(viewed).error());
            if (!viewed || !*viewed)
                break;
            std::optional<Entry> begun = begin(found.endOffset, **viewed);
            if (!begun)
                break;
            Entry& entry = *begun;
            SHARDSCOPE_TRY(const uint64_t next, complete(entry));
            const bool damaged = entry.record.damaged;
            found.entries.push_back(std::move(entry));
            if (damaged)
                break;
            found.endOffset = next;
        }
        if (found.entries.empty() || found.entries.front().record.damaged)
            return fail(ErrorCode::Damaged, "the file ends within its first record", m_file.path().string());
        return found;
    }

private:
    /// Nothing where the header is one that torch cannot have written: it may be half overwritten.
    static std::optional<Entry> begin(uint64_t offset, const LocalHeader& header)
    {
        constexpr uint16_t kHidden = kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeader;
        if (!checkName(header.name) || (header.flags & kHidden) != 0
            || (header.method != 0 && header.method != 8))
            return std::nullopt;
        Entry entry;
        entry.flags = header.flags;
        entry.method = header.method;
        entry.record.name = header.name;
        entry.record.headerOffset = offset;
        entry.record.payloadOffset = offset + header.headerBytes;
        entry.record.crc32 = header.crc32;
        entry.record.bytes = header.storedBytes;
        entry.record.inflatedBytes = header.inflatedBytes;
        entry.record.deflated = header.method == 8;
        return entry;
    }

    /// Fills in size and CRC and returns where the next record would begin; marks the record damaged
    /// otherwise.
    Result<uint64_t> complete(Entry& entry)
    {
        ZipRecord& record = entry.record;
        const uint64_t room = m_file.size() - record.payloadOffset;
        if ((entry.flags & kFlagDescriptor) == 0) {
            record.damaged
                = record.bytes > room || (!record.deflated && record.bytes != record.inflatedBytes);
            record.crcPresent = record.crc32 != 0 || record.inflatedBytes == 0;
            return record.payloadOffset + std::min(record.bytes, room);
        }
        std::vector<uint8_t> chunk;
        for (uint64_t done = 0; done < room;) {
            SHARDSCOPE_CHECK(m_job.poll());
            // 28 bytes overlap: the longest descriptor and the signature after it.
            const uint64_t length = std::min(room - done, kChunkBytes);
            chunk.resize(length);
            SHARDSCOPE_CHECK(m_file.readAt(record.payloadOffset + done, chunk));
            if (const uint64_t bytes = search(record, chunk, done, done + length == room); bytes != 0)
                return record.payloadOffset + record.bytes + bytes;
            if (done + length == room)
                break;
            done += length - 28;
        }
        record.bytes = room;
        record.inflatedBytes = room;
        record.damaged = true;
        return m_file.size();
    }

    /// Looks for the record's descriptor in a piece of the file that begins `done` bytes into its payload.
    static uint64_t search(ZipRecord& record, std::span<const uint8_t> chunk, uint64_t done, bool last)
    {
        const auto* begin = chunk.data();
        const auto* end = begin + chunk.size();
        for (const auto* at = begin; end - at >= 16; ++at) {
            at = static_cast<const uint8_t*>(std::memchr(at, 'P', static_cast<size_t>(end - at)));
            if (!at || end - at < 16)
                return 0;
            if (get32(at) != kDescriptorSignature)
                continue;
            const uint64_t distance = done + static_cast<uint64_t>(at - begin);
            for (const bool wide : {false, true}) {
                const ptrdiff_t length = wide ? 24 : 16;
                if (end - at < length)
                    continue;
                const uint64_t stored = wide ? get64(at + 8) : get32(at + 8);
                const uint64_t inflated = wide ? get64(at + 16) : get32(at + 12);
                if (stored != distance || (!record.deflated && inflated != stored))
                    continue;
                const ptrdiff_t after = end - at - length;
                const uint32_t next = after >= 4 ? get32(at + length) : 0;
                // After the last record there may be anything that an interrupted save leaves: nothing, or
                // zeros.
                if (!(last && after < 4) && next != kLocalSignature && next != kCentralSignature && next != 0)
                    continue;
                record.crc32 = get32(at + 4);
                record.bytes = stored;
                record.inflatedBytes = inflated;
                record.crcPresent = record.crc32 != 0 || inflated == 0;
                return static_cast<uint64_t>(length);
            }
        }
        return 0;
    }

    const io::ReadFile& m_file;
    HeaderWindow& m_window;
    JobContext& m_job;
};

} // namespace

Result<Recovered> recoverEntries(const io::ReadFile& file, HeaderWindow& window, JobContext& job)
{
    return Recovery(file, window, job).run();
}

} // namespace shardscope::zip
