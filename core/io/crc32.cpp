// SPDX-License-Identifier: Apache-2.0
#include "core/io/crc32.h"

#ifdef SHARDSCOPE_ISAL
#include <isa-l/crc.h>
#else
#include <libdeflate.h>
#endif
#include <zlib.h>

namespace shardscope::io {

#if defined(SHARDSCOPE_ISAL) && defined(__x86_64__)
namespace {

/// ISA-L 2.30 leaves the upper halves of the vector registers in use, which makes code with SSE instructions
/// that follows, such as xxHash, run at half its speed.
[[gnu::target("avx")]] void releaseVectorRegisters()
{
    __builtin_ia32_vzeroupper();
}

} // namespace
#endif

uint32_t crc32(uint32_t crc, std::span<const uint8_t> bytes)
{
#ifdef SHARDSCOPE_ISAL
    if (bytes.empty())
        return crc;
    crc = crc32_gzip_refl(crc, bytes.data(), bytes.size());
#ifdef __x86_64__
    static const bool hasAvx = __builtin_cpu_supports("avx");
    if (hasAvx)
        releaseVectorRegisters();
#endif
    return crc;
#else
    // libdeflate answers 0 for a null pointer, which an empty span may hold.
    return bytes.empty() ? crc : libdeflate_crc32(crc, bytes.data(), bytes.size());
#endif
}

uint32_t crc32Combine(uint32_t crcA, uint32_t crcB, uint64_t bytesB)
{
    static_assert(sizeof(z_off_t) == sizeof(uint64_t));
    return static_cast<uint32_t>(::crc32_combine(crcA, crcB, static_cast<z_off_t>(bytesB)));
}

} // namespace shardscope::io
