// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory.h"

#include <memory>
#include <string>

namespace shardscope {

/// All bytes of an archive that are not payload, kept to recognise archives that differ from it only in
/// payloads, in their checksums and in the name of the folder that holds the records. Such archives are read
/// an order of magnitude faster than by interpreting their headers. ZeRO-3 writes one of them per rank, with
/// a record per parameter.
///
/// Immutable, thread-safe. Its memory is that of the headers: about 220 bytes a record.
class DirectoryImage
{
public:
    /// Of an archive that was read from `file`. Null where it is not exactly as torch writes archives (then a
    /// comparison would prove nothing) or has so few records that nothing is gained.
    static Result<std::shared_ptr<const DirectoryImage>> read(
        const io::ReadFile& file, ZipDirectory directory, JobContext& job);

    [[nodiscard]] const ZipDirectory& directory() const { return m_directory; }
    [[nodiscard]] uint64_t fileBytes() const { return m_fileBytes; }

    /// The directory of `file`, which is then equal to what ZipDirectory::read() gives. Nothing where any
    /// other byte of a header differs.
    Result<std::optional<ZipDirectory>> match(const io::ReadFile& file, JobContext& job) const;

private:
    friend class ImageComparison;

    ZipDirectory m_directory;
    uint64_t m_fileBytes = 0;
    uint64_t m_directoryOffset = 0;
    std::string m_headers; ///< of every record in turn: local header, then descriptor
    std::string m_tail; ///< central directory and end records
};

} // namespace shardscope
