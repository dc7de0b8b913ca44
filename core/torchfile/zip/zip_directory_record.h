// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory.h"

namespace shardscope {

/// A record's payload whether or not its CRC is right, for showing what can be shown of a damaged file.
struct UncheckedRecord {
    std::string bytes;
    bool crcMatches = true; ///< also where there is no CRC
};
Result<UncheckedRecord> readRecordUnchecked(
    const io::ReadFile& file, const ZipRecord& record, uint64_t limitBytes);

} // namespace shardscope
