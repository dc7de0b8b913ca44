// SPDX-License-Identifier: Apache-2.0
#include "core/io/kept_ranges.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace shardscope::io {

bool KeptRanges::take(const std::string& version, uint64_t offset, std::span<uint8_t> out)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_byVersion.find(version);
    if (found == m_byVersion.end())
        return false;
    const auto& ranges = found->second->ranges;
    for (size_t done = 0; done < out.size();) {
        const uint64_t at = offset + done;
        const auto after = ranges.upper_bound(at);
        if (after == ranges.begin())
            return false;
        const auto& [begin, bytes] = *std::prev(after);
        if (at - begin >= bytes.size())
            return false;
        const size_t count = std::min<size_t>(out.size() - done, bytes.size() - (at - begin));
        std::memcpy(out.data() + done, bytes.data() + (at - begin), count);
        done += count;
    }
    m_files.splice(m_files.begin(), m_files, found->second);
    return true;
}

void KeptRanges::keep(const std::string& version, uint64_t offset, std::span<const uint8_t> bytes)
{
    if (bytes.size() > kLongest || bytes.empty())
        return;
    const std::lock_guard lock(m_mutex);
    auto found = m_byVersion.find(version);
    if (found == m_byVersion.end()) {
        const uint64_t cost = kRangeCost + 2 * version.size();
        found = m_byVersion.emplace(version, m_files.insert(m_files.begin(), File{version, {}, cost})).first;
        m_bytes += cost;
    } else {
        m_files.splice(m_files.begin(), m_files, found->second);
    }
    add(*found->second, offset, bytes);
    while (m_bytes > kMostBytes)
        drop(std::prev(m_files.end()));
}

/// What is there already stays; a range that lies within the new one makes way for it.
void KeptRanges::add(File& file, uint64_t offset, std::span<const uint8_t> bytes)
{
    auto next = file.ranges.upper_bound(offset);
    if (next != file.ranges.begin()) {
        const auto& [begin, before] = *std::prev(next);
        const uint64_t end = std::max(begin + before.size(), offset);
        const uint64_t known = std::min<uint64_t>(bytes.size(), end - offset);
        offset += known;
        bytes = bytes.subspan(known);
    }
    while (next != file.ranges.end() && next->first - offset < bytes.size()) {
        const uint64_t behind = next->first - offset;
        if (next->second.size() > bytes.size() - behind) {
            bytes = bytes.first(behind);
            break;
        }
        file.bytes -= next->second.size() + kRangeCost;
        m_bytes -= next->second.size() + kRangeCost;
        next = file.ranges.erase(next);
    }
    if (bytes.empty())
        return;
    file.ranges.emplace_hint(next, offset, std::vector<uint8_t>(bytes.begin(), bytes.end()));
    file.bytes += bytes.size() + kRangeCost;
    m_bytes += bytes.size() + kRangeCost;
}

void KeptRanges::forget(const std::string& version)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_byVersion.find(version); found != m_byVersion.end())
        drop(found->second);
}

void KeptRanges::drop(Place file)
{
    m_bytes -= file->bytes;
    m_byVersion.erase(file->version);
    m_files.erase(file);
}

} // namespace shardscope::io
