// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/element_digest.h"

namespace shardscope {

/// Version 1 of element_digest.h: the sum of term(i, v) over `bytes`, taken as little-endian words of
/// `wordBytes` bytes (1, 2, 4 or 8), the first of them being number `first`. Uses AVX2 where the processor
/// has it; the result does not depend on that.
Digest sumWords(const DigestKey& key, uint32_t wordBytes, uint64_t first, std::span<const uint8_t> bytes);

/// The same where the words are numbers first, first + step, first + 2·step, …
Digest sumSteppedWords(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, uint64_t step, std::span<const uint8_t> bytes);

/// The same as processors without AVX2 compute it.
Digest sumWordsPlainly(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, std::span<const uint8_t> bytes);

} // namespace shardscope
