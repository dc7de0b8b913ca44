// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory.h"

#include "core/base/finding_codes.h"
#include "core/torchfile/zip/counted_names.h"
#include "core/torchfile/zip/zip_directory_locals.h"
#include "core/torchfile/zip/zip_directory_names.h"
#include "core/torchfile/zip/zip_directory_recover.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace shardscope {
namespace {

constexpr uint32_t kFileTypeMask = 0170000u << 16; ///< of Unix modes in external attributes
constexpr uint32_t kRegularFile = 0100000u << 16;
constexpr uint32_t kFolder = 0040000u << 16;
/// The largest element torch has: a payload at a multiple of it can be mapped.
constexpr uint64_t kMappableAlignment = 16;

Result<zip::EndSearch> findEndOf(const io::ReadFile& file, zip::HeaderWindow& window)
{
    if (file.size() == 0)
        return fail(ErrorCode::Damaged, "the file is empty", file.path().string());
    if (file.size() < zip::kLocalBytes)
        return fail(ErrorCode::Damaged, "the file is too short for an archive", file.path().string());
    return zip::findEnd(file, window);
}

} // namespace

/// Records and their names. Thread-safe.
class ZipDirectory::Table
{
    static constexpr std::string_view kStorages = "data/";
    static bool isStorage(std::string_view name) { return name.starts_with(kStorages); }

public:
    explicit Table(std::vector<ZipRecord> records)
        : m_records(std::move(records))
    {
    }

    [[nodiscard]] const std::vector<ZipRecord>& records() const { return m_records; }
    [[nodiscard]] std::optional<uint32_t> find(std::string_view name) const
    {
        std::call_once(m_indexing, [this] {
            m_storages = CountedNames(m_records.size());
            for (uint32_t i = 0; i < m_records.size(); ++i) {
                const std::string_view one = m_records[i].name;
                uint32_t& first = isStorage(one) ? m_storages[one.substr(kStorages.size())] : m_others[one];
                if (first == CountedNames::kNone)
                    first = i;
            }
        });
        return isStorage(name) ? m_storages.find(name.substr(kStorages.size())) : m_others.find(name);
    }

private:
    std::vector<ZipRecord> m_records;
    mutable std::once_flag m_indexing;
    mutable CountedNames m_storages; ///< made when first needed
    mutable CountedNames m_others;
};

/// The records of a directory whose checksums are its own. Thread-safe.
class ZipDirectory::OwnTable
{
public:
    OwnTable(const ZipDirectory& others, const Checksums& checksums)
    {
        if (others.m_own)
            m_records = others.m_own->m_records;
        for (const auto& [index, checksum] : checksums)
            m_records.insert_or_assign(index, others.record(index)).first->second.crc32 = checksum;
    }

    [[nodiscard]] const ZipRecord* find(uint32_t index) const
    {
        const auto found = m_records.find(index);
        return found == m_records.end() ? nullptr : &found->second;
    }
    [[nodiscard]] const std::vector<ZipRecord>& whole(const Table& table) const
    {
        std::call_once(m_copying, [&] {
            m_whole = table.records();
            for (const auto& [index, record] : m_records)
                m_whole[index] = record;
        });
        return m_whole;
    }

private:
    std::map<uint32_t, ZipRecord> m_records; ///< by index
    mutable std::once_flag m_copying;
    mutable std::vector<ZipRecord> m_whole; ///< all records, copied when first needed
};

class ZipDirectoryReader
{
public:
    ZipDirectoryReader(const io::ReadFile& file, ReadMode mode, JobContext& job)
        : m_file(file)
        , m_mode(mode)
        , m_job(job)
        , m_window(file)
    {
    }

    Result<ZipDirectory> read()
    {
        auto result = readParts();
        if (!result && result.error().path.empty())
            result.error().path = m_file.path().string();
        return result;
    }

private:
    Result<ZipDirectory> readParts()
    {
        SHARDSCOPE_TRY(const zip::EndSearch search, findEndOf(m_file, m_window));
        SHARDSCOPE_TRY(const auto head, m_window.view(0, 4));
        if (zip::get32(head.data()) != zip::kLocalSignature)
            return fail(ErrorCode::Damaged, "the file does not begin with a zip record", {},
                search.state == zip::EndSearch::State::Absent
                    ? ""
                    : "an archive begins later in the file; torch cannot find it either");
        if (search.state == zip::EndSearch::State::Found) {
            auto entries = zip::readCentralDirectory(m_file, m_window, search.records, m_job);
            if (entries)
                return fromDirectory(std::move(*entries), search.records);
            if (entries.error().code != ErrorCode::Damaged || m_mode == ReadMode::Strict)
                return forward(std::move(entries).error());
            return recover(entries.error().message);
        }
        if (search.state == zip::EndSearch::State::Absent)
            return recover("the file is truncated: the archive's directory at its end is missing");
        return displaced(search.displacement);
    }

    Result<ZipDirectory> displaced(uint64_t displacement)
    {
        SHARDSCOPE_TRY(const auto bytes, m_window.view(displacement, 4));
        if (zip::get32(bytes.data()) == zip::kLocalSignature)
            return fail(ErrorCode::Hostile,
                "the file holds two archives, one after the other, and readers disagree which one to use");
        return recover("the archive's end is " + std::to_string(displacement)
            + " bytes too far back, as when a shorter file is written over a longer one");
    }

    Result<ZipDirectory> fromDirectory(std::vector<zip::Entry> entries, const zip::EndRecords& end)
    {
        SHARDSCOPE_CHECK(zip::checkNames(entries));
        zip::Oddities oddities;
        if (end.trailingBytes > 0) {
            if (m_mode == ReadMode::Strict)
                return fail(ErrorCode::Damaged,
                    std::to_string(end.trailingBytes) + " bytes follow the end of the archive");
            oddities.add(zip::Oddity::Trailing, {}, end.trailingBytes);
        }
        if (end.commentBytes > 0)
            oddities.add(zip::Oddity::Comment, {}, end.commentBytes);
        SHARDSCOPE_TRY(const zip::Locals locals,
            zip::readLocals({m_file, m_window, end.directoryOffset, m_mode}, entries, oddities, m_job));
        m_directory.m_alignment = locals.alignment;
        if (!endsAsTorchWrites(end))
            m_directory.m_alignment = 0;
        return finish(std::move(entries), oddities);
    }

    bool endsAsTorchWrites(const zip::EndRecords& end)
    {
        std::string expected;
        zip::appendEnd(expected, end.entries, end.directoryOffset, end.directoryBytes);
        const uint64_t offset = end.directoryOffset + end.directoryBytes;
        if (expected.size() != m_file.size() - offset)
            return false;
        const auto actual = m_window.view(offset, expected.size());
        return actual && std::memcmp(expected.data(), actual->data(), expected.size()) == 0;
    }

    Result<ZipDirectory> recover(const std::string& why)
    {
        if (m_mode == ReadMode::Strict)
            return fail(ErrorCode::Damaged, why, {}, "copy the file again from where it was saved");
        SHARDSCOPE_TRY(zip::Recovered found, zip::recoverEntries(m_file, m_window, m_job));
        m_directory.m_recovered = true;
        const uint64_t whole = found.entries.size() - (found.entries.back().record.damaged ? 1 : 0);
        Finding finding{code::kFileTorn, Severity::Error, why, {}, {}};
        finding.evidence.push_back(std::to_string(whole) + " whole records found by their headers");
        if (whole < found.entries.size())
            finding.evidence.push_back("the file ends within record '" + found.entries.back().record.name
                + "', which begins at byte " + std::to_string(found.endOffset));
        else
            finding.evidence.push_back("no further record at byte " + std::to_string(found.endOffset));
        m_directory.m_findings.push_back(std::move(finding));
        return finish(std::move(found.entries), zip::Oddities());
    }

    Result<ZipDirectory> finish(std::vector<zip::Entry> entries, zip::Oddities oddities)
    {
        SHARDSCOPE_TRY(m_directory.m_prefix, zip::stripPrefix(entries));
        std::vector<ZipRecord> records;
        records.reserve(entries.size());
        for (zip::Entry& entry : entries) {
            ZipRecord& record = entry.record;
            if (record.name.empty() || record.name.back() == '/') {
                if (record.bytes != 0)
                    return fail(ErrorCode::Hostile, "a folder entry of the archive has content");
                oddities.add(zip::Oddity::Folder, record.name);
                m_directory.m_alignment = 0;
                continue;
            }
            const uint32_t type = entry.externalAttributes & kFileTypeMask;
            if (type != 0 && type != kRegularFile && type != kFolder)
                oddities.add(zip::Oddity::SpecialAttributes, record.name);
            if (record.deflated)
                oddities.add(zip::Oddity::Compressed, record.name);
            if (!record.crcPresent && !record.damaged)
                oddities.add(zip::Oddity::Unchecked, record.name);
            if (record.bytes > 0 && !record.damaged && !record.deflated && record.name.starts_with("data/")
                && record.payloadOffset % kMappableAlignment != 0)
                oddities.add(zip::Oddity::Unaligned, record.name);
            records.push_back(std::move(record));
        }
        if (records.empty())
            return fail(ErrorCode::Damaged, "the archive has no records");
        for (Finding& finding : oddities.findings())
            m_directory.m_findings.push_back(std::move(finding));
        m_directory.m_table = std::make_shared<const ZipDirectory::Table>(std::move(records));
        return std::move(m_directory);
    }

    const io::ReadFile& m_file;
    ReadMode m_mode;
    JobContext& m_job;
    zip::HeaderWindow m_window;
    ZipDirectory m_directory;
};

ZipDirectory ZipDirectory::ofRecords(std::string prefix, std::vector<ZipRecord> records)
{
    ZipDirectory out;
    out.m_prefix = std::move(prefix);
    out.m_table = std::make_shared<const Table>(std::move(records));
    return out;
}

ZipDirectory ZipDirectory::withSameRecords(std::string prefix, const Checksums& checksums) const
{
    ZipDirectory out;
    out.m_prefix = std::move(prefix);
    out.m_table = m_table;
    out.m_own = checksums.empty() ? m_own : std::make_shared<const OwnTable>(*this, checksums);
    out.m_findings = m_findings;
    out.m_alignment = m_alignment;
    out.m_recovered = m_recovered;
    return out;
}

bool ZipDirectory::sharesRecordsWith(const ZipDirectory& other) const
{
    return m_table == other.m_table;
}

Result<ZipDirectory> ZipDirectory::read(const io::ReadFile& file, ReadMode mode, JobContext& job)
{
    return ZipDirectoryReader(file, mode, job).read();
}

Result<ZipDirectory::EndInfo> ZipDirectory::readEnd(const io::ReadFile& file)
{
    zip::HeaderWindow window(file);
    SHARDSCOPE_TRY(const zip::EndSearch search, findEndOf(file, window));
    if (search.state != zip::EndSearch::State::Found)
        return fail(ErrorCode::Damaged, "the archive's directory is not at the end of the file",
            file.path().string());
    return EndInfo{search.records.entries, search.records.directoryOffset, search.records.directoryBytes};
}

const std::vector<ZipRecord>& ZipDirectory::records() const
{
    static const std::vector<ZipRecord> none;
    return m_own ? m_own->whole(*m_table) : m_table ? m_table->records() : none;
}

const ZipRecord& ZipDirectory::record(uint32_t index) const
{
    const ZipRecord* own = m_own ? m_own->find(index) : nullptr;
    return own != nullptr ? *own : m_table->records()[index];
}

size_t ZipDirectory::recordCount() const
{
    return m_table ? m_table->records().size() : 0;
}

std::optional<uint32_t> ZipDirectory::find(std::string_view name) const
{
    return m_table ? m_table->find(name) : std::nullopt;
}

} // namespace shardscope
