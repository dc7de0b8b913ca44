// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/serve: the protocol of `shardscope serve`, for both of its ends. Frames are bytes on a pipe
// (frame.h); a frame's header is a message (messages.h). The manual's page "serving" is for those who
// write clients.

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope::serve {

/// A frame: two numbers of 32 bits, little-endian, with the sizes of what follows; a header, which is a JSON
/// object in UTF-8; a payload.
struct Frame {
    std::string header;
    std::string payload;
};

inline constexpr size_t kHeaderLimitBytes = size_t{1} << 20;
inline constexpr size_t kPayloadLimitBytes = size_t{256} << 20;
/// What a server puts in one frame.
inline constexpr size_t kPieceBytes = size_t{1} << 20;

/// The bytes in front of the payload: sizes and header. Both are within their limits.
std::string frameStart(std::string_view header, size_t payloadBytes);

/// Takes frames out of bytes that arrive in any pieces. Holds no more than one frame and what arrived after
/// it.
class FrameReader
{
public:
    void add(std::span<const uint8_t> bytes);
    /// The next whole frame; nothing as long as bytes are missing. Hostile if a size is above its limit:
    /// then nothing that follows can be understood.
    Result<std::optional<Frame>> next();
    /// Whether bytes of a frame are left, whose rest did not arrive.
    [[nodiscard]] bool isInside() const { return m_bytes.size() > m_begin; }

private:
    std::string m_bytes;
    size_t m_begin = 0; ///< of what is left
};

} // namespace shardscope::serve
