// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory_window.h"

namespace shardscope::zip {

/// The content of the end records, once they agree with each other and with their own places.
struct EndRecords {
    uint64_t entries = 0;
    uint64_t directoryOffset = 0;
    uint64_t directoryBytes = 0;
    uint64_t endOffset = 0; ///< of the classic end record
    uint64_t commentBytes = 0;
    uint64_t trailingBytes = 0; ///< of the file, after the archive
    bool hasZip64 = false;
};

struct EndSearch {
    enum class State {
        Found,
        Absent, ///< no end record in the last 64 KiB: the file was truncated
        Displaced, ///< well-formed, but `displacement` bytes further back than its own offsets say
    };
    State state = State::Absent;
    EndRecords records;
    uint64_t displacement = 0;
};

/// Looks for the end records in the last 64 KiB. Damaged: they contradict themselves or the file's size;
/// Hostile: more than one set could be meant; LimitExceeded: more entries than a reader should believe;
/// Unsupported: several disks.
Result<EndSearch> findEnd(const io::ReadFile& file, HeaderWindow& window);

} // namespace shardscope::zip
