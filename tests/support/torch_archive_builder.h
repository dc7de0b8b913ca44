// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::test {

using NamedRecords = std::vector<std::pair<std::string, std::string>>; ///< name without prefix, payload

/// The bytes torch.save would write for these records in this order.
std::string buildTorchArchive(
    const NamedRecords& records, const std::string& prefix = "archive", uint32_t alignment = 64);
/// The same with the records torch adds around data.pkl and the storages.
std::string buildTorchArchive(const std::string& pickle, const std::vector<std::string>& storages,
    const std::string& byteOrder = "little");

/// One record of an archive that any zip program, or an attacker, may have written.
struct ForeignRecord {
    std::string name;
    std::string payload; ///< as stored
    std::string localName = {}; ///< if it shall differ
    uint16_t flags = 0;
    int localFlags = -1; ///< when they are to differ
    uint16_t method = 0;
    int localMethod = -1;
    uint64_t inflatedBytes = UINT64_MAX; ///< when compressed
    uint32_t crcXor = 0; ///< makes the CRC wrong
    bool hasCrc = true; ///< otherwise 0, as if never computed
    std::string localExtra = {};
    std::string centralExtra = {};
    uint32_t externalAttributes = 0;
    int64_t headerShift = 0; ///< added to the offset in the directory
    uint32_t inflatedCrc = 0; ///< of the inflated payload, when compressed
};
/// Makes the record a compressed one of `text` that says it is `declared` bytes long.
void compress(ForeignRecord& record, const std::string& text, uint64_t declared);
/// The records of a file that torch.save wrote, as they would be in a plain zip.
std::vector<ForeignRecord> foreignRecordsOf(const std::filesystem::path& archive);
/// A plain zip: sizes in local headers, no padding, no zip64 records. `comment` ends it.
std::string buildForeignArchive(const std::vector<ForeignRecord>& records, const std::string& comment = {});

} // namespace shardscope::test
