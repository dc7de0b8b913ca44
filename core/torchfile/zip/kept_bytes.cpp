// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/kept_bytes.h"

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
        m_places.push_back(m_bytes.size());
    }
    m_bytes.append(bytes);
}

namespace {

/// The first extent that ends after `offset`.
size_t firstBehind(std::span<const ByteExtent> extents, uint64_t offset)
{
    return static_cast<size_t>(
        std::partition_point(extents.begin(), extents.end(),
            [&](const ByteExtent& extent) { return extent.offset + extent.bytes <= offset; })
        - extents.begin());
}

} // namespace

std::span<char> KeptBytes::at(uint64_t offset, uint64_t bytes)
{
    const size_t i = firstBehind(m_extents, offset);
    if (i == m_extents.size() || offset < m_extents[i].offset)
        return {};
    const uint64_t within = offset - m_extents[i].offset;
    if (bytes > m_extents[i].bytes - within)
        return {};
    return std::span(m_bytes).subspan(m_places[i] + within, bytes);
}

std::vector<uint64_t> placesOf(std::span<const ByteExtent> extents)
{
    std::vector<uint64_t> out;
    out.reserve(extents.size());
    uint64_t place = 0;
    for (const ByteExtent& extent : extents) {
        out.push_back(place);
        place += extent.bytes;
    }
    return out;
}

bool readKept(std::span<const ByteExtent> extents, std::span<const uint64_t> places, std::string_view bytes,
    uint64_t offset, std::span<uint8_t> out)
{
    std::memset(out.data(), 0, out.size());
    const uint64_t end = offset + out.size();
    bool any = false;
    for (size_t i = firstBehind(extents, offset); i < extents.size() && extents[i].offset < end; ++i) {
        const uint64_t from = std::max(offset, extents[i].offset);
        const uint64_t to = std::min(end, extents[i].offset + extents[i].bytes);
        std::memcpy(
            out.data() + (from - offset), bytes.data() + places[i] + (from - extents[i].offset), to - from);
        any = any || from < to;
    }
    return any;
}

} // namespace shardscope
