// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory_entry.h"
#include "core/torchfile/zip/zip_directory_oddities.h"

namespace shardscope::zip {

/// The combined facts of all records' headers.
struct Locals {
    /// The alignment that torch's writer would have used for every record, 0 when there is none.
    uint32_t alignment = 0;
};

/// An archive whose headers are read.
struct LocalsInput {
    const io::ReadFile& file;
    HeaderWindow& window;
    uint64_t directoryOffset = 0;
    ReadMode mode = ReadMode::Strict;
};

/// Checks every record's local header against the directory and fills in payload offsets. Headers are read in
/// windows.
///
/// Hostile: names, methods, flags or sizes that differ from the directory, overlaps, data before the first
/// record. A header that is not there or cannot be read damages its record in Tolerant mode and fails in
/// Strict.
Result<Locals> readLocals(
    const LocalsInput& input, std::vector<Entry>& entries, Oddities& oddities, JobContext& job);

} // namespace shardscope::zip
