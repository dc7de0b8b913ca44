// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory.h"
#include "core/torchfile/zip/zip_directory_end.h"

#include <optional>

namespace shardscope::zip {

/// A record while its directory is being read: `record.name` still carries the prefix.
struct Entry {
    ZipRecord record;
    uint16_t flags = 0;
    uint16_t method = 0;
    uint32_t externalAttributes = 0;
    bool asTorchWrites = false; ///< directory entry, local header and descriptor are byte for byte torch's
    uint64_t padBytes = 0; ///< of torch's padding field; meaningful when asTorchWrites
};

/// The blocks of an extra field that matter here.
struct ExtraField {
    std::optional<std::string_view> zip64;
    std::optional<std::string_view> padding;
    bool overruns = false; ///< a block is longer than the field
};
ExtraField parseExtra(std::span<const uint8_t> field);

/// A local header, checked only for staying inside its own bounds.
struct LocalHeader {
    uint16_t flags = 0;
    uint16_t method = 0;
    uint32_t crc32 = 0;
    uint64_t storedBytes = 0; ///< "compressed size"; 0 where a descriptor follows
    uint64_t inflatedBytes = 0;
    uint64_t headerBytes = 0; ///< up to the payload
    std::string_view name;
    std::span<const uint8_t> raw;
    uint64_t padBytes = 0;
    bool foreignPadding = false; ///< the padding field holds something else than padding
};
/// Views the header at `offset`. Nothing where there is no signature; Damaged where it overruns itself or the
/// file. The views are valid until the window is used again.
Result<std::optional<LocalHeader>> viewLocalHeader(HeaderWindow& window, uint64_t offset, uint64_t ahead = 0);

/// All entries of the directory, in its order. Damaged: not what the end records promise; Hostile:
/// encryption, sizes that disagree, offsets outside the file; Unsupported: compression other than deflate.
Result<std::vector<Entry>> readCentralDirectory(
    const io::ReadFile& file, HeaderWindow& window, const EndRecords& end, JobContext& job);

/// Finds a record's descriptor after its payload, with or without signature, of either width. Returns its
/// length, 0 when the bytes there do not describe the record.
Result<uint64_t> matchDescriptor(
    HeaderWindow& window, const Entry& entry, uint64_t limitOffset, uint64_t ahead);

} // namespace shardscope::zip
