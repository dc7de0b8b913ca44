// SPDX-License-Identifier: Apache-2.0
#include "core/io/crc32.h"

#ifdef SHARDSCOPE_ISAL
#include <isa-l/crc.h>
#else
#include <libdeflate.h>
#endif
#include <zlib.h>

#include <array>

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
#if ZLIB_VERNUM >= 0x12c0
    // What depends on the length alone takes longer than the rest, and lengths repeat: a part of a source is
    // one of the output, and parts of different ranks are alike.
    struct Operator {
        uint64_t bytes = 0;
        uLong value = 0;
        bool isMade = false;
    };
    thread_local std::array<Operator, 64> known{};
    Operator& used = known[(bytesB * 0x9E3779B97F4A7C15u) >> 58];
    if (!used.isMade || used.bytes != bytesB)
        used = {bytesB, ::crc32_combine_gen(static_cast<z_off_t>(bytesB)), true};
    return static_cast<uint32_t>(::crc32_combine_op(crcA, crcB, used.value));
#else
    return static_cast<uint32_t>(::crc32_combine(crcA, crcB, static_cast<z_off_t>(bytesB)));
#endif
}

} // namespace shardscope::io
