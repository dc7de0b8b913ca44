// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shardscope {

/// SHA-256 in pieces (OpenSSL's libcrypto: it uses the processor's SHA instructions). Not thread-safe.
class Sha256
{
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void update(std::span<const uint8_t> bytes);
    /// Ends the digest; the object must not be used afterwards.
    std::array<uint8_t, 32> finish();
    std::string finishHex();

    static std::string hexOf(std::span<const uint8_t> bytes);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Of a whole text, in hex.
std::string sha256Of(std::string_view text);

} // namespace shardscope
