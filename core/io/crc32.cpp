// SPDX-License-Identifier: Apache-2.0
#include "core/io/crc32.h"

#include <libdeflate.h>
#include <zlib.h>

namespace shardscope::io {

uint32_t crc32(uint32_t crc, std::span<const uint8_t> bytes)
{
    // libdeflate answers 0 for a null pointer, which an empty span may hold.
    return bytes.empty() ? crc : libdeflate_crc32(crc, bytes.data(), bytes.size());
}

uint32_t crc32Combine(uint32_t crcA, uint32_t crcB, uint64_t bytesB)
{
    static_assert(sizeof(z_off_t) == sizeof(uint64_t));
    return static_cast<uint32_t>(::crc32_combine(crcA, crcB, static_cast<z_off_t>(bytesB)));
}

} // namespace shardscope::io
