// SPDX-License-Identifier: Apache-2.0
#include "core/io/held_file.h"

#include <algorithm>

namespace shardscope::io {

std::span<uint8_t> HeldFile::reserve(uint64_t offset, uint64_t bytes)
{
    if (offset >= size())
        return {};
    bytes = std::min(bytes, size() - offset);
    if (heldFrom(offset).size() >= bytes)
        return {};
    return m_held.emplace(offset, std::vector<uint8_t>(bytes))->second;
}

std::span<const uint8_t> HeldFile::heldFrom(uint64_t offset) const
{
    auto found = m_held.upper_bound(offset);
    if (found == m_held.begin())
        return {};
    --found;
    const std::span<const uint8_t> held = found->second;
    return offset - found->first < held.size() ? held.subspan(offset - found->first)
                                               : std::span<const uint8_t>();
}

Status HeldFile::readAt(uint64_t offset, std::span<uint8_t> out) const
{
    const auto held = heldFrom(offset);
    if (held.size() < out.size())
        return ForwardingReadFile::readAt(offset, out);
    std::copy_n(held.begin(), out.size(), out.begin());
    return {};
}

uint64_t HeldFile::readyBytes(uint64_t offset) const
{
    const auto held = heldFrom(offset);
    return held.empty() ? UINT64_MAX : held.size();
}

void hold(FileSystem& files, std::span<const WantedRange> wanted)
{
    std::vector<ReadRange> ranges;
    std::vector<HeldFile*> holders;
    for (const WantedRange& range : wanted) {
        const auto room = range.file->reserve(range.offset, range.bytes);
        if (room.empty())
            continue;
        ranges.push_back({&range.file->inner(), range.offset, room});
        holders.push_back(range.file);
    }
    if (ranges.empty())
        return;
    const std::vector<Status> read = files.readAll(ranges);
    for (size_t i = 0; i < read.size(); ++i) {
        if (!read[i])
            holders[i]->forget(ranges[i].offset);
    }
}

} // namespace shardscope::io
