// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/shared_pickles.h"

#include <algorithm>

namespace shardscope {

const SharedPickles::Entry* SharedPickles::entryOf(const std::string& stream, Reduce reduce) const
{
    const auto found = std::find_if(m_entries.begin(), m_entries.end(),
        [&](const Entry& entry) { return entry.reduce == reduce && *entry.stream == stream; });
    return found == m_entries.end() ? nullptr : &*found;
}

FilePickle SharedPickles::find(const std::string& stream, Reduce reduce) const
{
    const std::lock_guard lock(m_mutex);
    const Entry* entry = entryOf(stream, reduce);
    return entry != nullptr ? entry->pickle : FilePickle();
}

FilePickle SharedPickles::add(std::shared_ptr<const std::string> stream, Reduce reduce, FilePickle pickle)
{
    const std::lock_guard lock(m_mutex);
    if (const Entry* earlier = entryOf(*stream, reduce); earlier != nullptr)
        return earlier->pickle;
    if (m_entries.size() == kRemembered)
        m_entries.erase(m_entries.begin());
    m_entries.push_back({std::move(stream), reduce, pickle});
    return pickle;
}

} // namespace shardscope
