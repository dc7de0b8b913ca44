// SPDX-License-Identifier: Apache-2.0
#include "core/base/sha256.h"
#include "core/io/content_digest.h"
#include "core/io/crc32.h"
#include "core/io/xxh3.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace shardscope;

namespace {

std::span<const uint8_t> bytesOf(const std::string& text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// The definition, bit by bit: reflected polynomial 0xEDB88320.
uint32_t slowCrc(std::span<const uint8_t> bytes)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (const uint8_t byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

std::string shaOf(const std::string& text)
{
    Sha256 sha;
    sha.update(bytesOf(text));
    return sha.finishHex();
}

} // namespace

TEST_CASE("CRC-32 of the published check string")
{
    CHECK(io::crc32(0, bytesOf("123456789")) == 0xCBF43926u);
    CHECK(io::crc32(0, {}) == 0);
    CHECK(io::crc32(0x12345678u, {}) == 0x12345678u);
}

TEST_CASE("CRC-32 equals its definition, continued and combined at any split")
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<uint8_t> bytes(random() % 3000);
        for (uint8_t& byte : bytes)
            byte = static_cast<uint8_t>(random());
        const uint32_t expected = slowCrc(bytes);
        const size_t split = bytes.empty() ? 0 : random() % (bytes.size() + 1);
        const auto head = std::span<const uint8_t>(bytes).first(split);
        const auto tail = std::span<const uint8_t>(bytes).subspan(split);
        CHECK(io::crc32(0, bytes) == expected);
        CHECK(io::crc32(io::crc32(0, head), tail) == expected);
        CHECK(io::crc32Combine(io::crc32(0, head), io::crc32(0, tail), tail.size()) == expected);
    }
}

TEST_CASE("CRC-32 combines over lengths beyond 32 bits")
{
    // Appending n zero bytes twice is appending 2n of them.
    const uint32_t crc = io::crc32(0, bytesOf("shard"));
    constexpr uint64_t kHalf = uint64_t{5} << 32;
    const std::vector<uint8_t> zeros(4096);
    uint32_t zeroCrc = io::crc32(0, zeros);
    uint64_t length = zeros.size();
    while (length < kHalf) {
        zeroCrc = io::crc32Combine(zeroCrc, zeroCrc, length);
        length *= 2;
    }
    const uint32_t once = io::crc32Combine(crc, io::crc32Combine(zeroCrc, zeroCrc, length), 2 * length);
    const uint32_t twice = io::crc32Combine(io::crc32Combine(crc, zeroCrc, length), zeroCrc, length);
    CHECK(once == twice);
}

TEST_CASE("SHA-256 of the standard's examples (FIPS 180-4)")
{
    CHECK(shaOf("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(shaOf("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(shaOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    Sha256 pieces;
    for (int i = 0; i < 1000; ++i)
        pieces.update(bytesOf(std::string(1000, 'a')));
    CHECK(pieces.finishHex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("XXH3 of 128 bits, in pieces of any size")
{
    const auto digestOf = [](std::string_view text, size_t piece) {
        io::Xxh3 sum;
        for (size_t at = 0; at < text.size(); at += piece) {
            const std::string_view part = text.substr(at, piece);
            sum.update({reinterpret_cast<const uint8_t*>(part.data()), part.size()});
        }
        return sum.digest();
    };
    // The value that xxhsum -H2 prints for nothing: 99aa06d3014798d8 6001c324468d497f.
    CHECK(digestOf("", 1) == io::Xxh3Digest{0x6001c324468d497fu, 0x99aa06d3014798d8u});
    std::string text;
    for (int i = 0; i < 5000; ++i)
        text += static_cast<char>(i * 7);
    const io::Xxh3Digest whole = digestOf(text, text.size());
    for (const size_t piece : {1u, 3u, 64u, 255u, 1024u, 4999u})
        CHECK(digestOf(text, piece) == whole);
    text[4321] = static_cast<char>(text[4321] ^ 1);
    CHECK(digestOf(text, text.size()) != whole);
}

TEST_CASE("the digest of a content is that of its chunks' digests, in pieces of any size")
{
    std::vector<uint8_t> content(2 * io::kDigestChunkBytes + 1000);
    std::mt19937_64 random(5);
    for (uint8_t& byte : content)
        byte = static_cast<uint8_t>(random());
    const auto chunkDigest = [&](size_t begin, size_t bytes) {
        io::Xxh3 sum;
        sum.update(std::span<const uint8_t>(content).subspan(begin, bytes));
        return sum.digest();
    };
    const std::vector<io::Xxh3Digest> chunks{chunkDigest(0, io::kDigestChunkBytes),
        chunkDigest(io::kDigestChunkBytes, io::kDigestChunkBytes),
        chunkDigest(2 * io::kDigestChunkBytes, 1000)};
    for (const size_t piece : {size_t{1000}, size_t{1} << 20, size_t{7'000'001}, content.size()}) {
        io::ContentDigest digest(io::DigestKind::Xxh3);
        for (size_t at = 0; at < content.size(); at += piece)
            digest.update(
                std::span<const uint8_t>(content).subspan(at, std::min(piece, content.size() - at)));
        CHECK(digest.finish() == io::combinedDigest(chunks));
    }
    CHECK(io::digestKindOf(io::combinedDigest(chunks)) == io::DigestKind::Xxh3);
    // Of nothing: what xxhsum -H2 prints for nothing.
    CHECK(io::ContentDigest(io::DigestKind::Xxh3).finish() == "xxh3-128:99aa06d3014798d86001c324468d497f");
    io::ContentDigest sha(io::DigestKind::Sha256);
    sha.update(bytesOf("abc"));
    CHECK(sha.finish() == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(io::ContentDigest(io::DigestKind::None).finish().empty());
    for (const char* text :
        {"", "sha256:", "sha256:ba78", "xxh3-128:99AA06D3014798D86001C324468D497F", "md5:00"})
        CHECK(io::digestKindOf(text) == io::DigestKind::None);
}
