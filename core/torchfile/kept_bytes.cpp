// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/kept_bytes.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace shardscope {

void KeptBytes::add(uint64_t offset, std::string_view bytes)
{
    if (bytes.empty())
        return;
    if (!m_extents.empty() && m_extents.back().offset + m_extents.back().bytes == offset) {
        m_extents.back().bytes += bytes.size();
    } else {
        assert(m_extents.empty() || m_extents.back().offset + m_extents.back().bytes < offset);
        m_extents.push_back({offset, bytes.size()});
    }
    m_bytes.append(bytes);
}

std::span<char> KeptBytes::at(uint64_t offset, uint64_t bytes)
{
    uint64_t before = 0;
    for (const ByteExtent& extent : m_extents) {
        if (offset >= extent.offset && offset - extent.offset <= extent.bytes
            && bytes <= extent.bytes - (offset - extent.offset))
            return std::span(m_bytes).subspan(before + (offset - extent.offset), bytes);
        before += extent.bytes;
    }
    return {};
}

bool readKept(
    std::span<const ByteExtent> extents, std::string_view bytes, uint64_t offset, std::span<uint8_t> out)
{
    std::memset(out.data(), 0, out.size());
    const uint64_t end = offset + out.size();
    uint64_t before = 0;
    bool any = false;
    for (const ByteExtent& extent : extents) {
        const uint64_t from = std::max(offset, extent.offset);
        const uint64_t to = std::min(end, extent.offset + extent.bytes);
        if (from < to) {
            std::memcpy(
                out.data() + (from - offset), bytes.data() + before + (from - extent.offset), to - from);
            any = true;
        }
        before += extent.bytes;
    }
    return any;
}

} // namespace shardscope
