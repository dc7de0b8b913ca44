// SPDX-License-Identifier: Apache-2.0
#include "core/io/content_digest.h"

#include <algorithm>
#include <array>

namespace shardscope::io {

namespace {

constexpr std::string_view kXxh3Prefix = "xxh3-128:";
constexpr std::string_view kSha256Prefix = "sha256:";
constexpr size_t kXxh3Digits = 32;
constexpr size_t kSha256Digits = 64;

/// Most significant byte first.
std::array<uint8_t, 16> bytesOf(const Xxh3Digest& digest)
{
    std::array<uint8_t, 16> out{};
    for (size_t i = 0; i < 8; ++i) {
        out[i] = static_cast<uint8_t>(digest.high >> (56 - 8 * i));
        out[8 + i] = static_cast<uint8_t>(digest.low >> (56 - 8 * i));
    }
    return out;
}

bool isHex(std::string_view text)
{
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace

void ChunkDigests::update(std::span<const uint8_t> bytes)
{
    while (!bytes.empty()) {
        const size_t count = std::min<uint64_t>(kDigestChunkBytes - m_inChunk, bytes.size());
        m_chunk.update(bytes.first(count));
        m_inChunk += count;
        if (m_inChunk == kDigestChunkBytes) {
            m_done.push_back(m_chunk.digest());
            m_chunk.reset();
            m_inChunk = 0;
        }
        bytes = bytes.subspan(count);
    }
}

std::vector<Xxh3Digest> ChunkDigests::finish()
{
    if (m_inChunk > 0)
        m_done.push_back(m_chunk.digest());
    return std::move(m_done);
}

std::string combinedDigest(std::span<const Xxh3Digest> chunks)
{
    Xxh3 all;
    for (const Xxh3Digest& chunk : chunks)
        all.update(bytesOf(chunk));
    return std::string(kXxh3Prefix) + Sha256::hexOf(bytesOf(all.digest()));
}

ContentDigest::ContentDigest(DigestKind kind)
    : m_kind(kind)
{
    if (kind == DigestKind::Xxh3)
        m_chunks.emplace();
    if (kind == DigestKind::Sha256)
        m_sha256.emplace();
}

void ContentDigest::update(std::span<const uint8_t> bytes)
{
    if (m_chunks)
        m_chunks->update(bytes);
    if (m_sha256)
        m_sha256->update(bytes);
}

std::string ContentDigest::finish()
{
    switch (m_kind) {
    case DigestKind::Xxh3:
        return combinedDigest(m_chunks->finish());
    case DigestKind::Sha256:
        return std::string(kSha256Prefix) + m_sha256->finishHex();
    case DigestKind::None:
        break;
    }
    return {};
}

DigestKind digestKindOf(std::string_view text)
{
    const auto is = [&](std::string_view prefix, size_t digits) {
        return text.starts_with(prefix) && text.size() == prefix.size() + digits
            && isHex(text.substr(prefix.size()));
    };
    if (is(kXxh3Prefix, kXxh3Digits))
        return DigestKind::Xxh3;
    return is(kSha256Prefix, kSha256Digits) ? DigestKind::Sha256 : DigestKind::None;
}

} // namespace shardscope::io
