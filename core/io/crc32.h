// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace shardscope::io {

/// CRC-32 as zip uses it (IEEE 802.3, reflected), continued from `crc` (0 to begin).
uint32_t crc32(uint32_t crc, std::span<const uint8_t> bytes);
/// CRC of A followed by B, from the CRCs of A and B and the length of B in bytes.
uint32_t crc32Combine(uint32_t crcA, uint32_t crcB, uint64_t bytesB);

} // namespace shardscope::io
