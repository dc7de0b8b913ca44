// SPDX-License-Identifier: Apache-2.0
#include "core/serve/frame.h"

namespace shardscope::serve {

namespace {

constexpr size_t kSizesBytes = 8;

void put(std::string& out, uint32_t value)
{
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(value >> shift);
}

uint32_t numberAt(const std::string& bytes, size_t at)
{
    uint32_t out = 0;
    for (size_t i = 0; i < 4; ++i)
        out |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
    return out;
}

} // namespace

std::string frameStart(std::string_view header, size_t payloadBytes)
{
    std::string out;
    put(out, static_cast<uint32_t>(header.size()));
    put(out, static_cast<uint32_t>(payloadBytes));
    return out.append(header);
}

void FrameReader::add(std::span<const uint8_t> bytes)
{
    if (m_begin > 0 && m_begin >= m_bytes.size() / 2) {
        m_bytes.erase(0, m_begin);
        m_begin = 0;
    }
    m_bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::optional<Frame>> FrameReader::next()
{
    const size_t available = m_bytes.size() - m_begin;
    if (available < kSizesBytes)
        return std::optional<Frame>();
    const size_t header = numberAt(m_bytes, m_begin);
    const size_t payload = numberAt(m_bytes, m_begin + 4);
    if (header > kHeaderLimitBytes || payload > kPayloadLimitBytes)
        return fail(ErrorCode::Hostile,
            "a frame says that it has a header of " + std::to_string(header) + " and a payload of "
                + std::to_string(payload) + " bytes");
    if (available - kSizesBytes < header + payload)
        return std::optional<Frame>();
    const size_t begin = m_begin + kSizesBytes;
    m_begin = begin + header + payload;
    return std::optional(Frame{m_bytes.substr(begin, header), m_bytes.substr(begin + header, payload)});
}

} // namespace shardscope::serve
