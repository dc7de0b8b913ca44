// SPDX-License-Identifier: Apache-2.0
#include "core/base/sha256.h"

// The functions of the algorithm itself. OpenSSL's general interface reads a configuration file and can load
// modules, which this program must not do, and a static program cannot do.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace shardscope {

struct Sha256::Impl {
    SHA256_CTX context{};
    Impl() { SHA256_Init(&context); }
};

Sha256::Sha256()
    : m_impl(std::make_unique<Impl>())
{
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const uint8_t> bytes)
{
    SHA256_Update(&m_impl->context, bytes.data(), bytes.size());
}

std::array<uint8_t, 32> Sha256::finish()
{
    std::array<uint8_t, 32> out{};
    SHA256_Final(out.data(), &m_impl->context);
    return out;
}

std::string Sha256::finishHex()
{
    const auto digest = finish();
    return hexOf(digest);
}

std::string Sha256::hexOf(std::span<const uint8_t> bytes)
{
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const uint8_t byte : bytes) {
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    }
    return out;
}

std::string sha256Of(std::string_view text)
{
    Sha256 sha;
    sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return sha.finishHex();
}

} // namespace shardscope
