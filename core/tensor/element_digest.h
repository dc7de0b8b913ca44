// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/transposed_order.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope {

/// The definition that a digest follows. Digests of two definitions are not comparable.
enum class DigestVersion : uint8_t {
    None = 0, ///< of nothing: the sum of no terms
    One = 1, ///< of manifests and answers until 0.1; only to verify those
    Two = 2,
};
inline constexpr DigestVersion kDigestVersion = DigestVersion::Two;

/// A 128-bit sum of element terms. Addition is commutative, so parts can be digested at any place and in any
/// order.
///
/// Version 2, precise enough for an independent program. All numbers are of 64 bits, modulo 2^64:
///   G = 0x9E3779B97F4A7C15
///   mix(z): z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^ (z >> 31)
///   key(name, state): SHA-256(name bytes, one zero byte, state bytes) as four little-endian numbers
///     s0, s1, s2, s3; factor_l = s_l | 1 and constant_l = s_(2+l), for the lanes l = 0 and 1
///   word_j: the tensor's bytes 4j … 4j+3, its elements being stored row by row and little-endian, as a
///     little-endian number; bytes beyond the end are zero
///   weight_l(j) = (mix(G·(2·(j mod 1024) + l + 1)) | 1) · (mix(~(G·(2·⌊j / 1024⌋ + l + 1))) | 1)
///   lane_l = factor_l · Σ weight_l(j) · word_j + constant_l · (number of elements)
///   digest(tensor): lane_0 (low half) and lane_1 (high half)
/// A sum of digests adds lane by lane. Every weight and factor is odd, so a change of one word always changes
/// both lanes; other accidents (elements that are permuted, shifted, negated, swapped or zeroed) go unseen
/// with a probability near 2^-64. It is a guard against accidents, not against an adversary.
///
/// Version 1: key: the first 16 bytes of SHA-256 as k0, k1; term(i, v): mix((k1 + i·G) ^ v) · 2^64 +
/// mix((k0 + i·G) ^ v); digest: Σ term(i, v) modulo 2^128, with i the element's index in the flattened tensor
/// and v its bits, zero-extended to 64. A complex128 element counts as two elements 2i and 2i+1.
struct Digest {
    uint64_t low = 0;
    uint64_t high = 0;
    DigestVersion version = DigestVersion::None; ///< of its terms

    /// Adds a digest of the same version, or of None. Callers do not mix versions.
    Digest& operator+=(const Digest& other);
    /// 32 lower-case hex digits, most significant first.
    [[nodiscard]] std::string text() const;
    /// Compares the sums only.
    bool operator==(const Digest& other) const { return low == other.low && high == other.high; }
};
/// The digest that text() spelled so; nothing for any other text.
std::optional<Digest> parseDigest(std::string_view text, DigestVersion version = kDigestVersion);

struct DigestKey {
    std::array<uint64_t, 4> words{}; ///< of SHA-256
    DigestVersion version = kDigestVersion;

    bool operator==(const DigestKey&) const = default;
};
DigestKey digestKey(std::string_view name, std::string_view state, DigestVersion version = kDigestVersion);

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
Digest digestText(std::string_view name, std::string_view state, std::string_view canonicalText,
    DigestVersion version = kDigestVersion);

} // namespace shardscope
