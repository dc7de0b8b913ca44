// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The numbers of element_digest.h, version 2, for the processor and for a GPU.
namespace shardscope {

inline constexpr uint64_t kDigestGolden = 0x9E3779B97F4A7C15u;
inline constexpr uint64_t kDigestBlockWords = 1024;

/// mix() of the definition.
constexpr uint64_t digestMix(uint64_t z)
{
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9u;
    z ^= z >> 27;
    z *= 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/// weight_l(j) is the product of these two, of j mod kDigestBlockWords and of j / kDigestBlockWords.
constexpr uint64_t digestWordWeight(uint64_t inBlock, uint64_t lane)
{
    return digestMix(kDigestGolden * (2 * inBlock + lane + 1)) | 1u;
}
constexpr uint64_t digestBlockWeight(uint64_t block, uint64_t lane)
{
    return digestMix(~(kDigestGolden * (2 * block + lane + 1))) | 1u;
}

} // namespace shardscope
