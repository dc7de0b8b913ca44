// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/element_digest.h"

#include "core/base/sha256.h"
#include "core/tensor/weighted_words.h"
#include "core/tensor/word_sums.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

using namespace shardscope;

namespace {

__extension__ using Wide = unsigned __int128;

std::string hexOf(Wide value)
{
    std::string out;
    for (int shift = 124; shift >= 0; shift -= 4)
        out += "0123456789abcdef"[static_cast<unsigned>(value >> shift) & 15u];
    return out;
}

uint64_t mixOfHeader(uint64_t z)
{
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9u;
    z ^= z >> 27;
    z *= 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

std::array<uint64_t, 4> keyOfHeader(const std::string& name, const std::string& state)
{
    const std::string text = name + '\0' + state;
    Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    const auto digest = sha.finish();
    std::array<uint64_t, 4> out{};
    for (size_t i = 0; i < digest.size(); ++i)
        out[i / 8] += uint64_t{digest[i]} << (8 * (i % 8));
    return out;
}

/// Version 1 of the header's definition, implemented literally.
Wide oracle1(const std::string& name, const std::string& state, uint32_t itemBytes, uint64_t first,
    const std::vector<uint8_t>& bytes)
{
    const auto k = keyOfHeader(name, state);
    const uint32_t word = itemBytes == 16 ? 8 : itemBytes;
    Wide sum = 0;
    for (size_t at = 0; at < bytes.size(); at += word) {
        uint64_t v = 0;
        for (uint32_t b = 0; b < word; ++b)
            v += uint64_t{bytes[at + b]} << (8 * b);
        const uint64_t i = first * (itemBytes / word) + at / word;
        const uint64_t g = 0x9E3779B97F4A7C15u;
        sum += (Wide{mixOfHeader((k[1] + i * g) ^ v)} << 64) + mixOfHeader((k[0] + i * g) ^ v);
    }
    return sum;
}

/// Version 2, byte by byte.
Wide oracle2(const std::string& name, const std::string& state, uint32_t itemBytes, uint64_t first,
    const std::vector<uint8_t>& bytes)
{
    const auto s = keyOfHeader(name, state);
    const uint64_t g = 0x9E3779B97F4A7C15u;
    std::array<uint64_t, 2> lanes{};
    for (uint64_t l = 0; l < 2; ++l) {
        uint64_t sum = 0;
        for (size_t at = 0; at < bytes.size(); ++at) {
            const uint64_t byte = first * itemBytes + at;
            const uint64_t j = byte / 4;
            const uint64_t weight = (mixOfHeader(g * (2 * (j % 1024) + l + 1)) | 1u)
                * (mixOfHeader(~(g * (2 * (j / 1024) + l + 1))) | 1u);
            sum += weight * (uint64_t{bytes[at]} << (8 * (byte % 4)));
        }
        lanes[l] = (s[l] | 1u) * sum + s[2 + l] * (bytes.size() / itemBytes);
    }
    return (Wide{lanes[1]} << 64) + lanes[0];
}

Wide oracle(DigestVersion version, const std::string& name, const std::string& state, uint32_t itemBytes,
    uint64_t first, const std::vector<uint8_t>& bytes)
{
    return version == DigestVersion::One ? oracle1(name, state, itemBytes, first, bytes)
                                         : oracle2(name, state, itemBytes, first, bytes);
}

constexpr std::array kVersions{DigestVersion::One, DigestVersion::Two};

std::vector<uint8_t> randomBytes(std::mt19937_64& random, size_t count)
{
    std::vector<uint8_t> out(count);
    for (uint8_t& byte : out)
        byte = static_cast<uint8_t>(random());
    return out;
}

} // namespace

TEST_CASE("a digest equals its definition for every version and item size")
{
    std::mt19937_64 random(1);
    for (const DigestVersion version : kVersions) {
        for (const uint32_t itemBytes : {1u, 2u, 4u, 8u, 16u}) {
            for (const uint64_t first :
                {uint64_t{0}, uint64_t{1}, uint64_t{1023}, uint64_t{5'000'000'003}, uint64_t{1} << 55}) {
                const auto bytes = randomBytes(random, itemBytes * 3000);
                const Digest digest = digestElements(
                    digestKey("layers.0.weight", "exp_avg", version), itemBytes, first, bytes);
                CHECK(digest.text()
                    == hexOf(oracle(version, "layers.0.weight", "exp_avg", itemBytes, first, bytes)));
                CHECK(digest.version == version);
            }
        }
        CHECK(digestElements(digestKey("a", "b", version), 4, 9, {}) == Digest{});
    }
}

TEST_CASE("sums do not depend on the vectors that the processor has")
{
    std::mt19937_64 random(3);
    const DigestKey key = digestKey("w", "fp32", DigestVersion::One);
    for (const uint32_t wordBytes : {1u, 2u, 4u, 8u}) {
        for (size_t count = 0; count < 70; ++count) {
            const auto bytes = randomBytes(random, wordBytes * count);
            CHECK(sumWords(key, wordBytes, 7, bytes) == sumWordsPlainly(key, wordBytes, 7, bytes));
        }
        // More than one block, with all halves of the terms' sums carrying.
        const auto bytes = randomBytes(random, (size_t{3} << 20) + wordBytes * 5);
        CHECK(sumWords(key, wordBytes, 7, bytes) == sumWordsPlainly(key, wordBytes, 7, bytes));
        CHECK(sumWords(key, wordBytes, 7, bytes).text() == hexOf(oracle1("w", "fp32", wordBytes, 7, bytes)));
    }
    for (size_t count = 0; count < 300; ++count) {
        const auto bytes = randomBytes(random, count);
        const uint64_t first = random() % 9000;
        CHECK(weighWords(first, bytes) == weighWordsPlainly(first, bytes));
    }
    const auto bytes = randomBytes(random, (size_t{1} << 20) + 3);
    for (const uint64_t first : {0u, 1u, 4u, 28u, 4093u})
        CHECK(weighWords(first, bytes) == weighWordsPlainly(first, bytes));
}

TEST_CASE("a digest does not depend on how a tensor is split or in which order parts are added")
{
    std::mt19937_64 random(2);
    for (int round = 0; round < 200; ++round) {
        const DigestKey key = digestKey("w", "fp32", kVersions[round % 2]);
        const uint32_t item = 1u << (random() % 5);
        const size_t count = 1 + random() % 3000;
        const auto bytes = randomBytes(random, count * item);
        std::vector<size_t> cuts{0, count};
        for (size_t i = random() % 8; i > 0; --i)
            cuts.push_back(random() % (count + 1));
        std::ranges::sort(cuts);
        std::vector<size_t> order(cuts.size() - 1);
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::shuffle(order, random);
        Digest sum;
        for (const size_t i : order) {
            const auto part
                = std::span<const uint8_t>(bytes).subspan(cuts[i] * item, (cuts[i + 1] - cuts[i]) * item);
            sum += digestElements(key, item, cuts[i], part);
        }
        CHECK(sum == digestElements(key, item, 0, bytes));
    }
}

TEST_CASE("a digest depends on value, place, name, state, and the boundary between name and state")
{
    const std::vector<uint8_t> bytes{1, 0, 0, 0, 2, 0, 0, 0};
    const std::vector<uint8_t> swapped{2, 0, 0, 0, 1, 0, 0, 0};
    const std::vector<uint8_t> flipped{1, 0, 0, 0, 2, 0, 0, 128};
    const Digest digest = digestElements(digestKey("a", "b"), 4, 0, bytes);
    CHECK(digest != digestElements(digestKey("a", "b"), 4, 0, swapped));
    CHECK(digest != digestElements(digestKey("a", "b"), 4, 0, flipped));
    CHECK(digest != digestElements(digestKey("a", "b"), 4, 1, bytes));
    CHECK(digest != digestElements(digestKey("a", "c"), 4, 0, bytes));
    CHECK(digest != digestElements(digestKey("ab", ""), 4, 0, bytes));
    CHECK(digestElements(digestKey("ab", "c"), 4, 0, bytes)
        != digestElements(digestKey("a", "bc"), 4, 0, bytes));
}

namespace {

/// What an accident makes of a tensor of `items` of 2 or 4 bytes.
template <class Item>
void checkAccidents(std::vector<Item> values, const std::string& about)
{
    CAPTURE(about);
    const DigestKey key = digestKey("layers.0.weight", "exp_avg");
    const auto digestOf = [&](const std::vector<Item>& of) {
        return digestElements(
            key, sizeof(Item), 0, {reinterpret_cast<const uint8_t*>(of.data()), of.size() * sizeof(Item)});
    };
    const Digest whole = digestOf(values);
    // Both halves must see it: each alone is a guard.
    const auto differs = [&](const std::vector<Item>& other) {
        const Digest digest = digestOf(other);
        CHECK(digest.low != whole.low);
        CHECK(digest.high != whole.high);
    };
    constexpr Item kSign = static_cast<Item>(Item{1} << (8 * sizeof(Item) - 1));
    std::vector<Item> other = values;
    std::ranges::reverse(other);
    differs(other);
    for (const size_t shift : {size_t{1}, size_t{2}, size_t{1024}, size_t{2048}, values.size() / 2}) {
        other = values;
        std::ranges::rotate(other, other.begin() + static_cast<ptrdiff_t>(shift));
        differs(other);
    }
    other = values;
    for (Item& value : other)
        value = static_cast<Item>(value ^ kSign);
    differs(other); // all negated
    for (const size_t apart : {1u, 2u, 3u, 1023u, 1024u, 1025u, 4096u}) {
        other = values;
        other[0] = static_cast<Item>(other[0] ^ kSign); // two signs
        other[apart] = static_cast<Item>(other[apart] ^ kSign);
        differs(other);
        other = values;
        std::swap(other[5], other[5 + apart]);
        if (other != values)
            differs(other);
        other = values;
        other[5] = static_cast<Item>(other[5] + 1); // sums stay the same
        other[5 + apart] = static_cast<Item>(other[5 + apart] - 1);
        differs(other);
    }
    for (const size_t block : {16u, 1024u, 2048u}) { // whole pages exchanged
        other = values;
        std::swap_ranges(other.begin(), other.begin() + static_cast<ptrdiff_t>(block),
            other.begin() + static_cast<ptrdiff_t>(block));
        differs(other);
    }
    other = values;
    std::fill_n(other.begin() + 100, 50, Item{0});
    differs(other);
    other.assign(values.size(), Item{0});
    differs(other);
    other = values;
    other.pop_back(); // truncated
    differs(other);
    other = values;
    other.push_back(Item{0}); // a zero more
    differs(other);
}

} // namespace

TEST_CASE("accidents that real checkpoints have change both halves")
{
    std::mt19937_64 random(11);
    std::normal_distribution<float> normal(0, 0.02f);
    constexpr size_t kCount = 10'000;
    std::vector<uint32_t> floats(kCount);
    std::vector<uint16_t> halves(kCount);
    std::vector<uint32_t> counting(kCount);
    std::vector<uint32_t> equalOnes(kCount, std::bit_cast<uint32_t>(1.0f));
    for (size_t i = 0; i < kCount; ++i) {
        floats[i] = std::bit_cast<uint32_t>(normal(random));
        halves[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16);
        counting[i] = static_cast<uint32_t>(i);
    }
    checkAccidents(floats, "fp32");
    checkAccidents(halves, "bf16");
    checkAccidents(counting, "ascending integers");
    std::vector<uint32_t> sparse(kCount);
    sparse[7] = 1;
    sparse[8] = 2;
    sparse[5000] = std::bit_cast<uint32_t>(-1.0f);
    equalOnes[17] = 0;
    std::vector<uint32_t> zeros(kCount);
    const DigestKey key = digestKey("a", "fp32");
    const auto bytes = [](const std::vector<uint32_t>& of) {
        return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(of.data()), of.size() * 4);
    };
    CHECK(digestElements(key, 4, 0, bytes(zeros)) != Digest{}); // zeros are not absence
    CHECK(digestElements(key, 4, 0, bytes(zeros))
        != digestElements(digestKey("b", "fp32"), 4, 0, bytes(zeros)));
    CHECK(digestElements(key, 4, 0, bytes(zeros))
        != digestElements(key, 4, 0, bytes(zeros).first((kCount - 1) * 4)));
    // Two tensors whose contents are exchanged.
    const DigestKey other = digestKey("b", "fp32");
    Digest straight = digestElements(key, 4, 0, bytes(floats));
    straight += digestElements(other, 4, 0, bytes(sparse));
    Digest exchanged = digestElements(key, 4, 0, bytes(sparse));
    exchanged += digestElements(other, 4, 0, bytes(floats));
    CHECK(straight.low != exchanged.low);
    CHECK(straight.high != exchanged.high);
}

TEST_CASE("sums of version 1 carry from the low to the high half, those of version 2 do not")
{
    Digest sum{UINT64_MAX, 1, DigestVersion::One};
    sum += Digest{2, UINT64_MAX, DigestVersion::One};
    CHECK(sum == Digest{1, 1});
    sum = {};
    sum += Digest{UINT64_MAX, 1, DigestVersion::Two};
    sum += Digest{2, UINT64_MAX, DigestVersion::Two};
    CHECK(sum == Digest{1, 0});
    CHECK(Digest{0xAB, 0x1}.text() == "000000000000000100000000000000ab");
}

TEST_CASE("a text digest is the digest of its bytes")
{
    const std::vector<uint8_t> bytes{'1', '0', '0'};
    CHECK(digestText("step", "scalar", "100") == digestElements(digestKey("step", "scalar"), 1, 0, bytes));
    CHECK(digestText("step", "scalar", "100") != digestText("step", "scalar", "0100"));
}

TEST_CASE("elements that are stored column by column have the terms of their own numbers")
{
    std::mt19937_64 random(7);
    for (const DigestVersion version : kVersions) {
        const DigestKey key = digestKey("name", "state", version);
        for (const TransposedOrder& order :
            {TransposedOrder{2, 3}, TransposedOrder{31, 7}, TransposedOrder{5, 64}}) {
            for (const uint32_t item : {1u, 2u, 4u, 8u, 16u}) {
                const uint64_t all = order.rows * order.columns;
                std::vector<uint8_t> stored(all * item);
                std::generate(stored.begin(), stored.end(), [&] { return static_cast<uint8_t>(random()); });
                std::vector<uint8_t> rows(stored.size());
                for (uint64_t element = 0; element < all; ++element)
                    std::copy_n(stored.begin() + static_cast<ptrdiff_t>(order.storedOf(element) * item), item,
                        rows.begin() + static_cast<ptrdiff_t>(element * item));
                const uint64_t cut = random() % (all + 1);
                Digest sum = digestTransposed(key, item, order, 0, std::span(stored).first(cut * item));
                sum += digestTransposed(key, item, order, cut, std::span(stored).subspan(cut * item));
                CHECK(sum == digestElements(key, item, 0, rows));
                for (uint64_t element = 0; element < all; ++element)
                    CHECK(order.elementOf(order.storedOf(element)) == element);
            }
        }
    }
}
