// SPDX-License-Identifier: Apache-2.0
#include "core/io/sha256.h"

#include <openssl/evp.h>

#include <new>

namespace shardscope::io {

struct Sha256::Impl {
    EVP_MD_CTX* context = nullptr;

    Impl()
        : context(EVP_MD_CTX_new())
    {
        // Only memory can run out here: SHA-256 is part of every provider.
        if (!context || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1)
            throw std::bad_alloc();
    }
    ~Impl() { EVP_MD_CTX_free(context); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
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
    EVP_DigestUpdate(m_impl->context, bytes.data(), bytes.size());
}

std::array<uint8_t, 32> Sha256::finish()
{
    std::array<uint8_t, 32> out{};
    EVP_DigestFinal_ex(m_impl->context, out.data(), nullptr);
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

} // namespace shardscope::io
