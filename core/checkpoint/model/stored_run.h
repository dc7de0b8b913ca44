// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <cstdint>

namespace shardscope {

/// A run of stored elements in one file. Byte offsets count from the start of the file.
struct StoredRun {
    /// A record number for runs in this file at a place that is not known (yet). Readers never leave it.
    static constexpr uint32_t kNoRecord = 0xFFFFFFFFu;

    FileId file = kNoFile; ///< kNoFile: not stored, or not readable
    uint32_t record = 0; ///< index into the file's zip records, or kNoRecord
    uint64_t byteOffset = 0;
    uint64_t elements = 0; ///< stored ones; fewer than the partition (lean) or, with a finding, more
    [[nodiscard]] bool isPresent() const { return file != kNoFile; }
    /// Whether byte `byte` of file `in` is one of the run's elements of `itemBytes` bytes.
    [[nodiscard]] bool contains(FileId in, uint64_t byte, uint64_t itemBytes) const
    {
        return file == in && byte >= byteOffset && (byte - byteOffset) / itemBytes < elements;
    }
};

} // namespace shardscope
