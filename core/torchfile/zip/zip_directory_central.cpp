// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_entry.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>

namespace shardscope::zip {
namespace {

constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

class CentralReader
{
public:
    CentralReader(const io::ReadFile& file, HeaderWindow& window, const EndRecords& end)
        : m_file(file)
        , m_window(window)
        , m_end(end)
        , m_cursor(end.directoryOffset)
        , m_limit(end.directoryOffset + end.directoryBytes)
    {
    }

    Result<std::vector<Entry>> read(JobContext& job)
    {
        std::vector<Entry> entries;
        entries.reserve(m_end.entries); // at most one per 46 bytes of a directory that is there
        for (uint64_t i = 0; i < m_end.entries; ++i) {
            if (i % 4096 == 0)
                SHARDSCOPE_CHECK(job.poll());
            SHARDSCOPE_TRY(Entry entry, readOne());
            entries.push_back(std::move(entry));
        }
        if (m_cursor != m_limit)
            return damaged("the archive's directory is longer than its records");
        return entries;
    }

private:
    Result<std::span<const uint8_t>> take(uint64_t offset, uint64_t length)
    {
        if (length > m_limit - offset)
            return damaged("the archive's directory ends in the middle of a record");
        return m_window.view(offset, length, m_limit - offset);
    }

    Result<Entry> readOne()
    {
        SHARDSCOPE_TRY(auto raw, take(m_cursor, kCentralBytes));
        if (get32(&raw[0]) != kCentralSignature)
            return damaged("the archive's directory is damaged");
        const uint64_t nameBytes = get16(&raw[28]);
        const uint64_t extraBytes = get16(&raw[30]);
        const uint64_t length = kCentralBytes + nameBytes + extraBytes + get16(&raw[32]);
        SHARDSCOPE_TRY(raw, take(m_cursor, length));

        Entry entry;
        ZipRecord& record = entry.record;
        entry.flags = get16(&raw[8]);
        entry.method = get16(&raw[10]);
        record.crc32 = get32(&raw[16]);
        record.bytes = get32(&raw[20]);
        record.inflatedBytes = get32(&raw[24]);
        record.headerOffset = get32(&raw[42]);
        entry.externalAttributes = get32(&raw[38]);
        record.name.assign(reinterpret_cast<const char*>(&raw[kCentralBytes]), nameBytes);
        if (get16(&raw[34]) != 0)
            return fail(ErrorCode::Unsupported, "the archive is one of several volumes", path());
        SHARDSCOPE_CHECK(applyExtra(record, raw.subspan(kCentralBytes + nameBytes, extraBytes)));
        SHARDSCOPE_CHECK(check(entry));
        record.crcPresent = record.crc32 != 0 || record.inflatedBytes == 0;
        entry.asTorchWrites = isTorchs(record, raw);
        m_cursor += length;
        return entry;
    }

    Status applyExtra(ZipRecord& record, std::span<const uint8_t> field) const
    {
        const ExtraField extra = parseExtra(field);
        if (extra.overruns)
            return hostile(
                "the extra field of record '" + record.name + "' overruns the archive's directory");
        std::string_view zip64 = extra.zip64.value_or(std::string_view());
        for (uint64_t* value : {&record.inflatedBytes, &record.bytes, &record.headerOffset}) {
            if (*value != kMax32)
                continue;
            if (zip64.size() < 8)
                return hostile("record '" + record.name + "' does not have its 64-bit size or offset");
            *value = get64(reinterpret_cast<const uint8_t*>(zip64.data()));
            zip64.remove_prefix(8);
        }
        if (!zip64.empty())
            return hostile("record '" + record.name + "' has sizes in two places");
        return {};
    }

    Status check(Entry& entry) const
    {
        ZipRecord& record = entry.record;
        const std::string name = "record '" + record.name + "'";
        if ((entry.flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeader)) != 0)
            return hostile(name + " is marked as encrypted, which torch never writes");
        if (entry.method != kStored && entry.method != kDeflated)
            return fail(ErrorCode::Unsupported,
                name + " is compressed with zip method " + std::to_string(entry.method)
                    + "; only stored and deflated records can be read",
                path());
        record.deflated = entry.method == kDeflated;
        if (!record.deflated && record.bytes != record.inflatedBytes)
            return hostile(name + " is stored but has two different sizes");
        // Header, name and payload must be before the directory.
        const uint64_t room = m_end.directoryOffset;
        const uint64_t header = kLocalBytes + record.name.size();
        if (record.headerOffset > room || header > room - record.headerOffset
            || record.bytes > room - record.headerOffset - header)
            return hostile(name + " is outside the archive");
        return {};
    }

    bool isTorchs(const ZipRecord& record, std::span<const uint8_t> raw)
    {
        const size_t slash = record.name.find('/');
        if (slash == std::string::npos)
            return false;
        m_expected.clear();
        appendCentralEntry(m_expected, std::string_view(record.name).substr(0, slash),
            std::string_view(record.name).substr(slash + 1), record.inflatedBytes, record.headerOffset,
            record.crc32);
        return m_expected.size() == raw.size() && std::memcmp(m_expected.data(), raw.data(), raw.size()) == 0;
    }

    [[nodiscard]] std::string path() const { return m_file.path().string(); }
    /// Entries that cannot be true are refused; a directory that cannot be parsed may be rebuilt.
    [[nodiscard]] tl::unexpected<Error> hostile(std::string message) const
    {
        return fail(ErrorCode::Hostile, std::move(message), path());
    }
    [[nodiscard]] tl::unexpected<Error> damaged(std::string message) const
    {
        return fail(ErrorCode::Damaged, std::move(message), path());
    }

    const io::ReadFile& m_file;
    HeaderWindow& m_window;
    const EndRecords& m_end;
    uint64_t m_cursor;
    uint64_t m_limit;
    std::string m_expected;
};

} // namespace

Result<std::vector<Entry>> readCentralDirectory(
    const io::ReadFile& file, HeaderWindow& window, const EndRecords& end, JobContext& job)
{
    return CentralReader(file, window, end).read(job);
}

} // namespace shardscope::zip
