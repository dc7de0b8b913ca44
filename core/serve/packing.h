// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace shardscope::serve {

/// Packs the payloads of one direction of a connection, in the order in which they are sent, as one stream of
/// Zstandard (RFC 8878), flushed after each: what an earlier payload had costs little, as the metadata of
/// ranks that differ in few bytes. Not thread-safe.
class Packer
{
public:
    /// Nothing where it would only cost time: for short payloads, and values of tensors. Then the payload is
    /// no part of the stream. LimitExceeded where there is no memory: the stream has ended then.
    Result<std::optional<std::string>> pack(std::string_view payload);

private:
    struct Free {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    std::unique_ptr<ZSTD_CCtx_s, Free> m_stream; ///< made when it is first needed: 40 MiB
};

/// The inverse, in the same order. Not thread-safe.
class Unpacker
{
public:
    /// Hostile if the stream does not give exactly so many bytes, or if they are above the limit of a
    /// payload. Memory: no more than it gives, and 32 MiB.
    Result<std::string> unpack(std::string_view packed, size_t bytes);

private:
    struct Free {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    std::unique_ptr<ZSTD_DCtx_s, Free> m_stream;
};

} // namespace shardscope::serve
