// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/sha256.h"
#include "core/io/xxh3.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::io {

/// How the content of a file is digested.
enum class DigestKind : uint8_t {
    None,
    Xxh3, ///< "xxh3-128": the speed of memory; finds damage. See combinedDigest().
    Sha256, ///< "sha256": of the whole file, in order; also finds intended changes
};

/// Chunks are digested on their own, so that different processes can digest different parts of a file.
inline constexpr uint64_t kDigestChunkBytes = uint64_t{16} << 20;

/// XXH3 (128 bits, seed 0) of consecutive chunks of kDigestChunkBytes, the last one shorter. Not thread-safe.
class ChunkDigests
{
public:
    void update(std::span<const uint8_t> bytes);
    /// Of the complete chunks so far.
    [[nodiscard]] std::span<const Xxh3Digest> soFar() const { return m_done; }
    /// Of all chunks, in order; a file without bytes has none. Ends the object.
    std::vector<Xxh3Digest> finish();

private:
    Xxh3 m_chunk;
    uint64_t m_inChunk = 0;
    std::vector<Xxh3Digest> m_done;
};

/// "xxh3-128:" and 32 hex digits: XXH3-128 of the digests of all chunks in order, each as 16 bytes, most
/// significant first (xxHash's canonical form).
std::string combinedDigest(std::span<const Xxh3Digest> chunks);

/// The digest of a file's content, passed in order, as the text of manifests: "xxh3-128:…" or "sha256:…".
/// Not thread-safe.
class ContentDigest
{
public:
    explicit ContentDigest(DigestKind kind);

    void update(std::span<const uint8_t> bytes);
    /// Empty for DigestKind::None. Ends the object.
    std::string finish();

private:
    DigestKind m_kind;
    std::optional<ChunkDigests> m_chunks;
    std::optional<Sha256> m_sha256;
};

/// The kind of a digest's text; None if it is no digest.
DigestKind digestKindOf(std::string_view text);

} // namespace shardscope::io
