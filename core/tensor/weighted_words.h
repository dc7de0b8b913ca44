// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/element_digest.h"

namespace shardscope {

/// Σ weight_l(j) · word_j of element_digest.h (version 2) for both lanes, without a key.
struct LaneSums {
    std::array<uint64_t, 2> lanes{};

    bool operator==(const LaneSums&) const = default;
};

/// The sums over the bytes of a tensor from number `firstByte` on. A word that the range splits counts with
/// the bytes in the range, so parts can be added. Uses AVX2 where the processor has it; the result does not
/// depend on that.
LaneSums weighWords(uint64_t firstByte, std::span<const uint8_t> bytes);
/// The same as processors without AVX2 compute it.
LaneSums weighWordsPlainly(uint64_t firstByte, std::span<const uint8_t> bytes);

/// The same for elements of `itemBytes` (1, 2, 4, 8 or 16) that are `stepBytes` apart in the tensor, a
/// multiple of `itemBytes` as `firstByte` is, but together in `bytes`.
LaneSums weighSteppedElements(
    uint64_t firstByte, uint64_t stepBytes, uint32_t itemBytes, std::span<const uint8_t> bytes);

/// The digest under a key, from the sums over `elements` elements.
Digest digestOfSums(const DigestKey& key, const LaneSums& sums, uint64_t elements);

} // namespace shardscope
