// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/element_digest.h"

#include "core/base/sha256.h"
#include "core/tensor/weighted_words.h"
#include "core/tensor/word_sums.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace shardscope {

namespace {

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
    version = std::max(version, other.version);
    low += other.low;
    high += other.high + (version == DigestVersion::One && low < before ? 1 : 0);
    return *this;
}

std::string Digest::text() const
{
    std::array<char, 33> out{};
    std::snprintf(out.data(), out.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
        static_cast<unsigned long long>(low));
    return out.data();
}

std::optional<Digest> parseDigest(std::string_view text, DigestVersion version)
{
    constexpr size_t kHalf = 16;
    if (text.size() != 2 * kHalf || text.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    Digest out{0, 0, version};
    std::from_chars(text.data(), text.data() + kHalf, out.high, 16);
    std::from_chars(text.data() + kHalf, text.data() + 2 * kHalf, out.low, 16);
    return out;
}

DigestKey digestKey(std::string_view name, std::string_view state, DigestVersion version)
{
    static constexpr uint8_t kZero = 0;
    Sha256 sha;
    sha.update(bytesOf(name));
    sha.update({&kZero, 1});
    sha.update(bytesOf(state));
    const auto digest = sha.finish();
    DigestKey out{{}, version};
    for (size_t i = 0; i < out.words.size(); ++i)
        out.words[i] = littleEndian(digest.data() + i * sizeof(uint64_t));
    return out;
}

Digest digestElements(
    const DigestKey& key, uint32_t itemBytes, uint64_t firstElement, std::span<const uint8_t> bytes)
{
    if (key.version == DigestVersion::Two)
        return digestOfSums(key, weighWords(firstElement * itemBytes, bytes), bytes.size() / itemBytes);
    if (itemBytes > sizeof(uint64_t)) // complex128
        return sumWords(key, sizeof(uint64_t), firstElement * 2, bytes);
    return sumWords(key, itemBytes, firstElement, bytes);
}

Digest digestTransposed(const DigestKey& key, uint32_t itemBytes, const TransposedOrder& order,
    uint64_t firstStored, std::span<const uint8_t> bytes)
{
    Digest sum;
    while (!bytes.empty()) {
        const uint64_t inColumn = order.rows - firstStored % order.rows;
        const size_t count = std::min<uint64_t>(inColumn, bytes.size() / itemBytes);
        const auto column = bytes.first(count * itemBytes);
        const uint64_t element = order.elementOf(firstStored);
        if (key.version == DigestVersion::Two) {
            const LaneSums lanes
                = weighSteppedElements(element * itemBytes, order.columns * itemBytes, itemBytes, column);
            sum += digestOfSums(key, lanes, count);
        } else if (itemBytes <= sizeof(uint64_t)) {
            sum += sumSteppedWords(key, itemBytes, element, order.columns, column);
        } else {
            for (size_t i = 0; i < count; ++i)
                sum += digestElements(
                    key, itemBytes, element + i * order.columns, column.subspan(i * itemBytes, itemBytes));
        }
        firstStored += count;
        bytes = bytes.subspan(column.size());
    }
    return sum;
}

Digest digestText(
    std::string_view name, std::string_view state, std::string_view canonicalText, DigestVersion version)
{
    return digestElements(digestKey(name, state, version), 1, 0, bytesOf(canonicalText));
}

} // namespace shardscope
