// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardscope {

/// Bytes [begin, end) of a file, or of a record, then counted from the start of its payload.
struct ByteRange {
    uint64_t begin = 0;
    uint64_t end = 0;
};

} // namespace shardscope
