// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/fingerprint.h"

namespace shardscope {

/// The sum of term(i, v) of fingerprint.h over `bytes`, taken as little-endian words of `wordBytes` bytes (1,
/// 2, 4 or 8), the first of them being number `first`. Uses the widest vectors that the processor has; the
/// result does not depend on them.
Digest sumWords(const DigestKey& key, uint32_t wordBytes, uint64_t first, std::span<const uint8_t> bytes);

/// The same without vectors of more than the processor family's basic width: what other machines compute.
Digest sumWordsPlainly(
    const DigestKey& key, uint32_t wordBytes, uint64_t first, std::span<const uint8_t> bytes);

} // namespace shardscope
