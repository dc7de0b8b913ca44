// SPDX-License-Identifier: Apache-2.0
#include "core/objects/kept_ranges.h"

#include <algorithm>
#include <cstring>

namespace shardscope::objects {

namespace {

std::string nameOf(const ObjectRange& range)
{
    return range.place.bucket + "/" + range.place.key + "\n" + range.version.tag;
}

} // namespace

bool KeptRanges::take(const ObjectRange& range)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_byName.find(nameOf(range));
    if (found == m_byName.end())
        return false;
    for (const Piece& piece : found->second->pieces) {
        if (range.offset < piece.offset || range.offset - piece.offset > piece.bytes.size()
            || range.out.size() > piece.bytes.size() - (range.offset - piece.offset))
            continue;
        std::memcpy(range.out.data(), piece.bytes.data() + (range.offset - piece.offset), range.out.size());
        m_objects.splice(m_objects.begin(), m_objects, found->second);
        return true;
    }
    return false;
}

void KeptRanges::keep(const ObjectRange& range)
{
    if (range.out.size() > kLongest || range.out.empty())
        return;
    const std::lock_guard lock(m_mutex);
    const std::string name = nameOf(range);
    auto found = m_byName.find(name);
    if (found == m_byName.end())
        found = m_byName.emplace(name, m_objects.insert(m_objects.begin(), Object{name, {}, 0})).first;
    Object& object = *found->second;
    object.pieces.push_front({range.offset, {range.out.begin(), range.out.end()}});
    object.bytes += range.out.size();
    m_bytes += range.out.size();
    while (m_bytes > kMostBytes) {
        const auto last = std::prev(m_objects.end());
        m_bytes -= last->bytes;
        m_byName.erase(last->name);
        m_objects.erase(last);
    }
}

} // namespace shardscope::objects
