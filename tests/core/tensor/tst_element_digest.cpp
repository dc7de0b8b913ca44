// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/element_digest.h"

#include "core/io/sha256.h"
#include "core/tensor/word_sums.h"

#include <doctest/doctest.h>

#include <algorithm>
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

/// The header's definition, implemented literally.
Wide oracle(const std::string& name, const std::string& state, uint32_t itemBytes, uint64_t first,
    const std::vector<uint8_t>& bytes)
{
    const std::string text = name + '\0' + state;
    io::Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    const auto digest = sha.finish();
    uint64_t k[2] = {0, 0};
    for (size_t i = 0; i < 16; ++i)
        k[i / 8] += uint64_t{digest[i]} << (8 * (i % 8));
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

std::vector<uint8_t> randomBytes(std::mt19937_64& random, size_t count)
{
    std::vector<uint8_t> out(count);
    for (uint8_t& byte : out)
        byte = static_cast<uint8_t>(random());
    return out;
}

} // namespace

TEST_CASE("a digest equals its definition for every item size")
{
    std::mt19937_64 random(1);
    for (const uint32_t itemBytes : {1u, 2u, 4u, 8u, 16u}) {
        for (const uint64_t first : {uint64_t{0}, uint64_t{1}, uint64_t{5'000'000'000}, UINT64_MAX - 3}) {
            const auto bytes = randomBytes(random, itemBytes * 300);
            const Digest digest
                = digestElements(digestKey("layers.0.weight", "exp_avg"), itemBytes, first, bytes);
            CHECK(digest.text() == hexOf(oracle("layers.0.weight", "exp_avg", itemBytes, first, bytes)));
        }
    }
    CHECK(digestElements(digestKey("a", "b"), 4, 9, {}) == Digest{});
}

TEST_CASE("sums do not depend on the vectors that the processor has")
{
    std::mt19937_64 random(3);
    const DigestKey key = digestKey("w", "fp32");
    for (const uint32_t wordBytes : {1u, 2u, 4u, 8u}) {
        for (size_t count = 0; count < 70; ++count) {
            const auto bytes = randomBytes(random, wordBytes * count);
            CHECK(sumWords(key, wordBytes, 7, bytes) == sumWordsPlainly(key, wordBytes, 7, bytes));
            CHECK(
                sumWords(key, wordBytes, 7, bytes).text() == hexOf(oracle("w", "fp32", wordBytes, 7, bytes)));
        }
        // More than one block, with all halves of the terms' sums carrying.
        const auto bytes = randomBytes(random, (size_t{3} << 20) + wordBytes * 5);
        CHECK(sumWords(key, wordBytes, 7, bytes) == sumWordsPlainly(key, wordBytes, 7, bytes));
        CHECK(sumWords(key, wordBytes, 7, bytes).text() == hexOf(oracle("w", "fp32", wordBytes, 7, bytes)));
    }
}

TEST_CASE("a digest does not depend on how a tensor is split or in which order parts are added")
{
    std::mt19937_64 random(2);
    const DigestKey key = digestKey("w", "fp32");
    for (int round = 0; round < 100; ++round) {
        const size_t count = 1 + random() % 500;
        const auto bytes = randomBytes(random, count * 4);
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
                = std::span<const uint8_t>(bytes).subspan(cuts[i] * 4, (cuts[i + 1] - cuts[i]) * 4);
            sum += digestElements(key, 4, cuts[i], part);
        }
        CHECK(sum == digestElements(key, 4, 0, bytes));
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

TEST_CASE("sums carry from the low to the high half")
{
    Digest sum{UINT64_MAX, 1};
    sum += Digest{2, UINT64_MAX};
    CHECK(sum == Digest{1, 1});
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
    const DigestKey key = digestKey("name", "state");
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
