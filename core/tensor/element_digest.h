// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/transposed_order.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope {

/// A 128-bit sum of element terms. Addition is commutative, so parts can be digested at any place and in any
/// order.
///
/// Definition, precise enough for an independent program:
///   key(name, state): the first 16 bytes of SHA-256(name bytes, one zero byte, state bytes), as two
///     little-endian 64-bit numbers k0, k1
///   mix(z): z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^ (z >> 31)
///   term(i, v): mix((k1 + i·G) ^ v) · 2^64 + mix((k0 + i·G) ^ v), with G = 0x9E3779B97F4A7C15
///   digest(tensor): Σ term(i, v) modulo 2^128
/// All else is modulo 2^64; i is the element's index in the flattened tensor and v its bits, little-endian,
/// zero-extended to 64 bits. A complex128 element counts as two elements 2i and 2i+1 (real, imaginary).
struct Digest {
    uint64_t low = 0;
    uint64_t high = 0;

    bool operator==(const Digest&) const = default;
    Digest& operator+=(const Digest& other);
    /// 32 lower-case hex digits, most significant first.
    [[nodiscard]] std::string text() const;
};
/// The digest that text() spelled so; nothing for any other text.
std::optional<Digest> parseDigest(std::string_view text);

struct DigestKey {
    uint64_t k0 = 0;
    uint64_t k1 = 0;
};
DigestKey digestKey(std::string_view name, std::string_view state);

/// Terms of elements firstElement, firstElement + 1, … with the little-endian bytes `bytes` (a multiple of
/// itemBytes: 1, 2, 4, 8 or 16).
Digest digestElements(
    const DigestKey& key, uint32_t itemBytes, uint64_t firstElement, std::span<const uint8_t> bytes);

/// The same terms where the elements are stored column by column: `firstStored` is the first one's stored
/// number, and every term has its logical one.
Digest digestTransposed(const DigestKey& key, uint32_t itemBytes, const TransposedOrder& order,
    uint64_t firstStored, std::span<const uint8_t> bytes);

/// The term of a scalar (step, option, loss scale): digest of its canonical text as bytes, under key(name,
/// state).
Digest digestText(std::string_view name, std::string_view state, std::string_view canonicalText);

} // namespace shardscope
