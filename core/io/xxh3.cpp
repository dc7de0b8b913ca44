// SPDX-License-Identifier: Apache-2.0
#include "core/io/xxh3.h"

#include <xxhash.h>

#include <new>

namespace shardscope::io {

struct Xxh3::Impl {
    struct Free {
        void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> state{XXH3_createState()};
};

Xxh3::Xxh3()
    : m_impl(std::make_unique<Impl>())
{
    if (!m_impl->state || XXH3_128bits_reset(m_impl->state.get()) != XXH_OK)
        throw std::bad_alloc();
}

Xxh3::~Xxh3() = default;

void Xxh3::update(std::span<const uint8_t> bytes)
{
    XXH3_128bits_update(m_impl->state.get(), bytes.data(), bytes.size());
}

void Xxh3::reset()
{
    XXH3_128bits_reset(m_impl->state.get());
}

Xxh3Digest Xxh3::digest() const
{
    const XXH128_hash_t hash = XXH3_128bits_digest(m_impl->state.get());
    return {hash.low64, hash.high64};
}

} // namespace shardscope::io
