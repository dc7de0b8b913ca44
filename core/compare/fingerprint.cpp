// SPDX-License-Identifier: Apache-2.0
#include "core/compare/fingerprint.h"

#include "core/io/sha256.h"

#include <array>
#include <cstdio>
#include <cstring>

namespace shardscope {

namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

inline uint64_t mix(uint64_t z)
{
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9u;
    z ^= z >> 27;
    z *= 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

__extension__ using Wide = unsigned __int128;

template <class Word>
Digest sumWords(const DigestKey& key, uint64_t first, const uint8_t* data, size_t count)
{
    Wide low = 0;
    uint64_t high = 0;
    uint64_t walk0 = key.k0 + first * kGolden;
    uint64_t walk1 = key.k1 + first * kGolden;
    for (size_t i = 0; i < count; ++i) {
        Word word{};
        std::memcpy(&word, data + i * sizeof(Word), sizeof(Word));
        const uint64_t value = word;
        low += mix(walk0 ^ value);
        high += mix(walk1 ^ value);
        walk0 += kGolden;
        walk1 += kGolden;
    }
    return {static_cast<uint64_t>(low), high + static_cast<uint64_t>(low >> 64)};
}

uint64_t littleEndian(const uint8_t* bytes)
{
    uint64_t out = 0;
    for (int i = 7; i >= 0; --i)
        out = out << 8 | bytes[i];
    return out;
}

std::span<const uint8_t> bytesOf(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

} // namespace

Digest& Digest::operator+=(const Digest& other)
{
    const uint64_t before = low;
    low += other.low;
    high += other.high + (low < before ? 1 : 0);
    return *this;
}

std::string Digest::text() const
{
    std::array<char, 33> out{};
    std::snprintf(out.data(), out.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
        static_cast<unsigned long long>(low));
    return out.data();
}

DigestKey digestKey(std::string_view name, std::string_view state)
{
    static constexpr uint8_t kZero = 0;
    io::Sha256 sha;
    sha.update(bytesOf(name));
    sha.update({&kZero, 1});
    sha.update(bytesOf(state));
    const auto digest = sha.finish();
    return {littleEndian(digest.data()), littleEndian(digest.data() + 8)};
}

Digest digestElements(
    const DigestKey& key, uint32_t itemBytes, uint64_t firstElement, std::span<const uint8_t> bytes)
{
    const size_t count = bytes.size() / itemBytes;
    switch (itemBytes) {
    case 1:
        return sumWords<uint8_t>(key, firstElement, bytes.data(), count);
    case 2:
        return sumWords<uint16_t>(key, firstElement, bytes.data(), count);
    case 4:
        return sumWords<uint32_t>(key, firstElement, bytes.data(), count);
    case 8:
        return sumWords<uint64_t>(key, firstElement, bytes.data(), count);
    default: // complex128
        return sumWords<uint64_t>(key, firstElement * 2, bytes.data(), count * 2);
    }
}

Digest digestText(std::string_view name, std::string_view state, std::string_view canonicalText)
{
    return digestElements(digestKey(name, state), 1, 0, bytesOf(canonicalText));
}

} // namespace shardscope
