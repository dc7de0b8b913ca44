// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/zip/zip_directory.h"

#include <span>

namespace shardscope {

/// Whether torch itself writes a record of this name, besides the storages.
bool isTorchRecord(std::string_view name);

/// Reads and judges the records of a torch archive that are not tensors. In Strict mode, a file that torch
/// refuses, or with doubtful content, is an error; in Tolerant mode it becomes a finding wherever something
/// can still be shown.
class TorchRecords
{
public:
    TorchRecords(const io::ReadFile& file, const ZipDirectory& zip, ReadMode mode);

    /// data.pkl; null where there is none.
    [[nodiscard]] const ZipRecord* pickle() const;
    /// Its content, at most PickleLimits::streamBytes long.
    Result<std::string> readPickle();
    /// True for big-endian payloads. Files from before torch 2.1 do not say and are little-endian.
    Result<bool> readByteOrder();
    /// `version` (torch reads 1 to 10), `.format_version`, `.storage_alignment`.
    Status checkFormat();
    /// Every storage of the pickle has a record of its size, and every record has a use. Whether nothing was
    /// found; a record without a use is no error.
    Result<bool> checkStorages(std::span<const StorageView> storages);
    /// Records without a use, as checkStorages() found them.
    [[nodiscard]] std::span<const uint32_t> unused() const { return m_unused; }

    std::vector<Finding> takeFindings() { return std::move(m_findings); }

private:
    /// Nothing when the record is damaged or far too long; this has been reported then.
    Result<std::optional<std::string>> readText(uint32_t record);
    /// An error in Strict mode, a finding of severity Error in Tolerant.
    Status doubt(std::string_view code, std::string message);
    /// The record of a storage, which mostly follows the last one's.
    [[nodiscard]] std::optional<uint32_t> recordOf(
        const std::string& name, std::optional<uint32_t> last) const;
    void checkUnused(const std::vector<bool>& used);

    const io::ReadFile& m_file;
    const ZipDirectory& m_zip;
    ReadMode m_mode;
    std::vector<Finding> m_findings;
    std::vector<uint32_t> m_unused;
};

} // namespace shardscope
