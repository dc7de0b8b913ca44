// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory_entry.h"

namespace shardscope::zip {

/// The records found without a directory.
struct Recovered {
    std::vector<Entry> entries; ///< the last one is damaged where the file breaks off inside it
    uint64_t endOffset = 0; ///< where no further record was found
};

/// Walks a file from its start: local header, payload, descriptor, next header. A payload with its size only
/// in a descriptor is searched for that descriptor, so this reads the file once. Damaged when not even the
/// first record is whole.
Result<Recovered> recoverEntries(const io::ReadFile& file, HeaderWindow& window, JobContext& job);

} // namespace shardscope::zip
