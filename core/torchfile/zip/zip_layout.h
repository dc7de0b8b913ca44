// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

/// Name (without prefix) and payload size of one record that will be written.
struct ZipRecordSpec {
    std::string name;
    uint64_t bytes = 0;
};

/// Every byte position of a torch zip archive, known before its first byte is written.
///
/// The profile is torch's own (inline_container.cc, miniz): stored records, flags 0x0808 (0x0800 for an empty
/// record), sizes and CRC 0 in local headers, "FB" padding to `alignment`, data descriptors of 16 or 24
/// bytes, zip64 end record and locator always. CRCs are the only thing unknown at layout time; they enter
/// descriptors and the directory. Immutable; thread-safe.
class ZipLayout
{
public:
    /// Usage when names are empty or repeat, LimitExceeded when sizes overflow 64 bits.
    static Result<ZipLayout> make(
        std::string prefix, std::vector<ZipRecordSpec> records, uint32_t alignment = 64);

    [[nodiscard]] const std::string& prefix() const { return m_prefix; }
    [[nodiscard]] const std::vector<ZipRecordSpec>& records() const { return m_records; }
    [[nodiscard]] uint64_t totalBytes() const { return m_totalBytes; }

    [[nodiscard]] uint64_t headerOffset(uint32_t record) const { return m_headerOffsets[record]; }
    [[nodiscard]] uint64_t payloadOffset(uint32_t record) const;
    /// Where central directory and end records begin.
    [[nodiscard]] uint64_t directoryOffset() const { return m_directoryOffset; }

    /// Local header, name, extra fields and padding: the bytes from headerOffset() to payloadOffset().
    [[nodiscard]] std::string localHeader(uint32_t record) const;
    /// The bytes after the payload; empty for an empty record.
    [[nodiscard]] std::string dataDescriptor(uint32_t record, uint32_t crc32) const;
    /// Central directory and end records, to the end of the file. `crcs` has one entry per record.
    [[nodiscard]] std::string directory(const std::vector<uint32_t>& crcs) const;

private:
    std::string m_prefix;
    std::vector<ZipRecordSpec> m_records;
    std::vector<uint64_t> m_headerOffsets;
    std::vector<uint32_t> m_padBytes;
    uint64_t m_directoryOffset = 0;
    uint64_t m_totalBytes = 0;
};

/// Our value for the record ".data/serialization_id": 40 decimal digits from SHA-256 over (name, size, CRC)
/// of all other records in file order, so that equal content gives an equal id. torch only logs the record.
std::string serializationId(const std::vector<ZipRecordSpec>& records, const std::vector<uint32_t>& crcs);

} // namespace shardscope
