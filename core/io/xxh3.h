// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace shardscope::io {

struct Xxh3Digest {
    uint64_t low = 0;
    uint64_t high = 0;
    bool operator==(const Xxh3Digest&) const = default;
};

/// XXH3 of 128 bits in pieces (libxxhash, seed 0). Detects accidental changes of bytes, at the speed of
/// memory. It does not protect against intended changes: use Sha256 for that. Not thread-safe.
class Xxh3
{
public:
    Xxh3();
    ~Xxh3();
    Xxh3(const Xxh3&) = delete;
    Xxh3& operator=(const Xxh3&) = delete;

    void update(std::span<const uint8_t> bytes);
    /// Begins again.
    void reset();
    /// Of all bytes so far.
    [[nodiscard]] Xxh3Digest digest() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace shardscope::io
