// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/torchfile/zip: where the records of a torch zip archive are, for reading (ZipDirectory) and
// before writing (ZipLayout); the content of a record is only bytes here. Start with ZipDirectory.

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/io/file_system.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {

/// One record of a torch zip archive. Offsets and sizes are bytes from the start of the file.
struct ZipRecord {
    std::string name; ///< without the archive's prefix: "data.pkl", "data/0"
    uint64_t headerOffset = 0; ///< local header
    uint64_t payloadOffset = 0; ///< first payload byte
    uint64_t bytes = 0; ///< stored payload size
    uint32_t crc32 = 0;
    bool crcPresent = true; ///< false: saved with the CRC switched off (field 0, payload not empty)
    bool deflated = false; ///< method 8; `bytes` is the compressed size, `inflatedBytes` the real one
    uint64_t inflatedBytes = 0; ///< equals `bytes` for stored records
    bool damaged = false; ///< its header or range cannot be trusted; must not be read
};

/// How strict a reader is. Tolerant opens what can be shown, with findings; Strict refuses everything
/// ambiguous and is what verbs that write use.
enum class ReadMode { Tolerant, Strict };

/// The records of one torch zip archive, from its central directory and local headers; payloads are not read.
///
/// Immutable, thread-safe. Format: torch's own zip profile (local headers with zero sizes, data descriptors,
/// "FB" padding, zip64 end record always), written by caffe2/serialize/inline_container.cc and miniz; see
/// zip_layout.h.
class ZipDirectory
{
public:
    ZipDirectory() = default;
    ZipDirectory(ZipDirectory&&) = default;
    ZipDirectory& operator=(ZipDirectory&&) = default;
    ZipDirectory(const ZipDirectory&) = delete;
    ZipDirectory& operator=(const ZipDirectory&) = delete;

    /// Reads end records, central directory and all local headers (in windows, not one by one).
    ///
    /// Damaged: no or broken directory; Hostile: overlaps, duplicate names, traversal, names that differ
    /// between local and central header, encryption; Unreadable: I/O. In Tolerant mode a lost directory is
    /// rebuilt from local headers and data descriptors (finding file-torn), a bad local header damages only
    /// its record.
    static Result<ZipDirectory> read(const io::ReadFile& file, ReadMode mode, JobContext& job);

    /// Of a file in torch's legacy form: its parts as records, under the prefix that a zip file would have.
    static ZipDirectory ofRecords(std::string prefix, std::vector<ZipRecord> records);

    /// The directory of another archive that has these records at these places, in a folder of another name
    /// and with other checksums. The records are kept once for all of them.
    using Checksums = std::vector<std::pair<uint32_t, uint32_t>>; ///< by index, ascending; only what differs
    [[nodiscard]] ZipDirectory withSameRecords(std::string prefix, const Checksums& checksums) const;
    [[nodiscard]] bool sharesRecordsWith(const ZipDirectory& other) const;

    /// Only the end records: number of entries and place of the directory. Three small reads; for a quick
    /// check.
    struct EndInfo {
        uint64_t entries = 0;
        uint64_t directoryOffset = 0;
        uint64_t directoryBytes = 0;
    };
    static Result<EndInfo> readEnd(const io::ReadFile& file);
    /// The last bytes of a file that readEnd() reads: the longest comment and the end records before it.
    static constexpr uint64_t kEndBytes = uint64_t{68} << 10;

    [[nodiscard]] const std::string& prefix() const { return m_prefix; }
    /// All records. The first call on a directory with records of another archive may copy them; record()
    /// and recordCount() never do.
    [[nodiscard]] const std::vector<ZipRecord>& records() const;
    [[nodiscard]] const ZipRecord& record(uint32_t index) const;
    [[nodiscard]] size_t recordCount() const;
    [[nodiscard]] const std::vector<Finding>& findings() const { return m_findings; }
    /// Index into records(), by exact name.
    [[nodiscard]] std::optional<uint32_t> find(std::string_view name) const;
    /// True when every record is where torch's own writer puts it, so that a rebuild gives the same bytes.
    [[nodiscard]] bool isTorchProfile() const { return m_alignment != 0; }
    /// The alignment to give ZipLayout::make for such a rebuild; 0 when isTorchProfile() is false.
    [[nodiscard]] uint32_t alignment() const { return m_alignment; }
    /// True when the directory was lost and the records were found by their headers alone.
    [[nodiscard]] bool isRecovered() const { return m_recovered; }

private:
    class Table;
    class OwnTable;

    std::string m_prefix;
    std::shared_ptr<const Table> m_table; ///< null: no records
    std::shared_ptr<const OwnTable> m_own; ///< set where checksums differ from those of m_table
    std::vector<Finding> m_findings;
    uint32_t m_alignment = 0;
    bool m_recovered = false;

    friend class ZipDirectoryReader;
};

/// The whole payload of a small record, inflated where needed, CRC checked (Damaged when wrong, naming the
/// record).
Result<std::string> readRecord(const io::ReadFile& file, const ZipRecord& record, uint64_t limitBytes);
/// Reads a record piece by piece and checks its CRC without keeping it; reports to `job` how many stored
/// bytes it has read. Success when no CRC is present.
Status checkRecordCrc(const io::ReadFile& file, const ZipRecord& record, JobContext& job);

} // namespace shardscope
