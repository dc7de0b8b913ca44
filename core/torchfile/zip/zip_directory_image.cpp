// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_image.h"

#include "core/torchfile/zip/zip_directory_end.h"
#include "core/torchfile/zip/zip_directory_names.h"
#include "core/torchfile/zip/zip_directory_window.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <cstring>

namespace shardscope {
namespace {

constexpr size_t kFewestRecords = 32;
/// Headers closer than this are read together with the bytes between them.
constexpr uint64_t kWorthReadingThrough = 32 << 10;
constexpr uint64_t kPollRecords = 4096;
/// Places of fields. Source: PKWARE APPNOTE 6.3, 4.3.9 and 4.3.12.
constexpr size_t kCentralChecksum = 16;
constexpr size_t kDescriptorChecksum = 4;
constexpr size_t kChecksumBytes = 4;

using Bytes = std::span<const uint8_t>;

bool equal(Bytes a, const char* b)
{
    return std::memcmp(a.data(), b, a.size()) == 0;
}

std::string_view textOf(Bytes bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes around one payload.
struct Frame {
    uint64_t header = 0;
    uint64_t payload = 0;
    uint64_t end = 0; ///< of the payload
    uint64_t next = 0; ///< header, or the directory
};

/// Views of the headers of records whose places are known, in file order.
class FrameReader
{
public:
    FrameReader(zip::HeaderWindow& window, const std::vector<ZipRecord>& records, uint64_t directoryOffset)
        : m_window(window)
        , m_records(records)
        , m_directoryOffset(directoryOffset)
    {
    }

    [[nodiscard]] Frame frame(size_t i) const
    {
        const ZipRecord& record = m_records[i];
        return {record.headerOffset, record.payloadOffset, record.payloadOffset + record.bytes,
            i + 1 < m_records.size() ? m_records[i + 1].headerOffset : m_directoryOffset};
    }
    /// `length` bytes at `offset`, which belong to record `i`.
    Result<Bytes> view(size_t i, uint64_t offset, uint64_t length)
    {
        return m_window.view(offset, length, m_window.holds(offset, length) ? 0 : reach(i, offset));
    }

private:
    [[nodiscard]] uint64_t reach(size_t i, uint64_t offset) const
    {
        uint64_t end = offset;
        for (; i < m_records.size() && end - offset < zip::HeaderWindow::kWindowBytes; ++i) {
            const Frame one = frame(i);
            if (one.header > end + kWorthReadingThrough)
                break;
            end = std::max(end, one.payload);
            if (one.end > end + kWorthReadingThrough)
                break;
            end = std::max(end, one.next);
        }
        return end - offset;
    }

    zip::HeaderWindow& m_window;
    const std::vector<ZipRecord>& m_records;
    uint64_t m_directoryOffset;
};

} // namespace

/// Compares one archive with the image, record by record.
class ImageComparison
{
public:
    ImageComparison(const DirectoryImage& image, const io::ReadFile& file, JobContext& job)
        : m_image(image)
        , m_records(image.m_directory.records())
        , m_file(file)
        , m_job(job)
        , m_window(file)
        , m_nameBytes(image.m_directory.prefix().size())
    {
    }

    Result<std::optional<ZipDirectory>> run()
    {
        for (const auto step :
            {&ImageComparison::compareEnd, &ImageComparison::compareTail, &ImageComparison::compareHeaders}) {
            SHARDSCOPE_TRY(const bool same, (this->*step)());
            if (!same)
                return std::optional<ZipDirectory>();
        }
        return std::optional(m_image.m_directory.withSameRecords(std::move(m_prefix), m_checksums));
    }

private:
    /// A second archive could hide in payloads or in a comment at the end.
    Result<bool> compareEnd()
    {
        const auto search = zip::findEnd(m_file, m_window);
        if (!search)
            return search.error().code == ErrorCode::Unreadable ? Result<bool>(forward(search.error()))
                                                                : Result<bool>(false);
        return search->state == zip::EndSearch::State::Found
            && search->records.directoryOffset == m_image.m_directoryOffset
            && search->records.entries == m_records.size() && search->records.commentBytes == 0
            && search->records.trailingBytes == 0;
    }

    Result<bool> compareTail()
    {
        uint64_t at = m_image.m_directoryOffset;
        const char* known = m_image.m_tail.data();
        for (uint32_t i = 0; i < m_records.size(); ++i) {
            if (i % kPollRecords == 0)
                SHARDSCOPE_CHECK(m_job.poll());
            const ZipRecord& record = m_records[i];
            const uint64_t length = zip::centralEntryBytes(
                m_nameBytes + 1 + record.name.size(), record.bytes, record.headerOffset);
            SHARDSCOPE_TRY(const Bytes entry, m_window.view(at, length, m_image.m_fileBytes - at));
            if (!takePrefix(entry, record) || !compareEntry(entry, known, i))
                return false;
            at += length;
            known += length;
        }
        const uint64_t left = m_image.m_fileBytes - at;
        SHARDSCOPE_TRY(const Bytes end, m_window.view(at, left));
        return equal(end, known);
    }

    /// The folder's name, from the first record.
    bool takePrefix(Bytes entry, const ZipRecord& first)
    {
        if (!m_prefix.empty())
            return true;
        m_prefix = textOf(entry.subspan(zip::kCentralBytes, m_nameBytes));
        return m_prefix.find('/') == std::string::npos && zip::checkName(m_prefix + "/" + first.name);
    }

    bool hasPrefix(Bytes at) const { return std::memcmp(at.data(), m_prefix.data(), m_nameBytes) == 0; }

    bool compareEntry(Bytes entry, const char* known, uint32_t index)
    {
        const ZipRecord& record = m_records[index];
        constexpr size_t kAfterChecksum = kCentralChecksum + kChecksumBytes;
        const size_t afterPrefix = zip::kCentralBytes + m_nameBytes;
        if (!equal(entry.first(kCentralChecksum), known)
            || !equal(
                entry.subspan(kAfterChecksum, zip::kCentralBytes - kAfterChecksum), known + kAfterChecksum)
            || !hasPrefix(entry.subspan(zip::kCentralBytes, m_nameBytes))
            || !equal(entry.subspan(afterPrefix), known + afterPrefix))
            return false;
        const uint32_t checksum = zip::get32(&entry[kCentralChecksum]);
        if (checksum == record.crc32)
            return true;
        if (checksum == 0 || record.bytes == 0) // saved without checksums, or nonsense
            return false;
        m_checksums.emplace_back(index, checksum);
        return true;
    }

    Result<bool> compareHeaders()
    {
        FrameReader frames(m_window, m_records, m_image.m_directoryOffset);
        const char* known = m_image.m_headers.data();
        auto own = m_checksums.begin();
        for (uint32_t i = 0; i < m_records.size(); ++i) {
            if (i % kPollRecords == 0)
                SHARDSCOPE_CHECK(m_job.poll());
            const Frame frame = frames.frame(i);
            SHARDSCOPE_TRY(const Bytes header, frames.view(i, frame.header, frame.payload - frame.header));
            const size_t afterPrefix = zip::kLocalBytes + m_nameBytes;
            if (!equal(header.first(zip::kLocalBytes), known)
                || !hasPrefix(header.subspan(zip::kLocalBytes, m_nameBytes))
                || !equal(header.subspan(afterPrefix), known + afterPrefix))
                return false;
            known += header.size();
            const bool differs = own != m_checksums.end() && own->first == i;
            const uint32_t checksum = differs ? (own++)->second : m_records[i].crc32;
            if (frame.next == frame.end)
                continue; // an empty record has no descriptor
            SHARDSCOPE_TRY(const Bytes descriptor, frames.view(i, frame.end, frame.next - frame.end));
            constexpr size_t kAfterChecksum = kDescriptorChecksum + kChecksumBytes;
            if (!equal(descriptor.first(kDescriptorChecksum), known)
                || zip::get32(&descriptor[kDescriptorChecksum]) != checksum
                || !equal(descriptor.subspan(kAfterChecksum), known + kAfterChecksum))
                return false;
            known += descriptor.size();
        }
        return true;
    }

    const DirectoryImage& m_image;
    const std::vector<ZipRecord>& m_records;
    const io::ReadFile& m_file;
    JobContext& m_job;
    zip::HeaderWindow m_window;
    size_t m_nameBytes;
    std::string m_prefix;
    ZipDirectory::Checksums m_checksums;
};

/// The bytes follow from the directory. Reading them again could meet another version of the file.
Result<std::shared_ptr<const DirectoryImage>> DirectoryImage::read(
    const io::ReadFile& file, ZipDirectory directory, JobContext& job)
{
    std::shared_ptr<const DirectoryImage> none;
    if (!directory.isTorchProfile() || !directory.findings().empty()
        || directory.recordCount() < kFewestRecords)
        return none;
    SHARDSCOPE_CHECK(job.poll());
    const auto image = std::make_shared<DirectoryImage>();
    const std::string& prefix = directory.prefix();
    uint64_t end = 0;
    for (const ZipRecord& record : directory.records()) {
        const uint64_t nameBytes = prefix.size() + 1 + record.name.size();
        const uint64_t padBytes = record.payloadOffset - record.headerOffset
            - zip::unpaddedHeaderBytes(nameBytes, record.bytes, record.headerOffset);
        zip::appendLocalHeader(
            image->m_headers, prefix, record.name, record.bytes, record.headerOffset, padBytes);
        zip::appendDescriptor(image->m_headers, record.bytes, record.headerOffset, record.crc32);
        zip::appendCentralEntry(
            image->m_tail, prefix, record.name, record.bytes, record.headerOffset, record.crc32);
        end = record.payloadOffset + record.bytes + zip::descriptorBytes(record.bytes, record.headerOffset);
    }
    zip::appendEnd(image->m_tail, directory.recordCount(), end, image->m_tail.size());
    image->m_directoryOffset = end;
    image->m_fileBytes = end + image->m_tail.size();
    image->m_directory = std::move(directory);
    return image->m_fileBytes == file.size() ? std::shared_ptr<const DirectoryImage>(image) : none;
}

Result<std::optional<ZipDirectory>> DirectoryImage::match(const io::ReadFile& file, JobContext& job) const
{
    if (file.size() != m_fileBytes)
        return std::optional<ZipDirectory>();
    return ImageComparison(*this, file, job).run();
}

} // namespace shardscope
