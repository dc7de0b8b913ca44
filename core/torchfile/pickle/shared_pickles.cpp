// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/shared_pickles.h"

#include "core/io/crc32.h"

#include <algorithm>
#include <cstring>

namespace shardscope {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;

bool holds(const io::ReadFile& file, const ZipRecord& record, const std::string& stream)
{
    std::vector<uint8_t> piece(std::min<uint64_t>(kPieceBytes, stream.size()));
    for (uint64_t done = 0; done < stream.size(); done += piece.size()) {
        piece.resize(std::min<uint64_t>(piece.size(), stream.size() - done));
        if (!file.readAt(record.payloadOffset + done, piece)
            || std::memcmp(piece.data(), stream.data() + done, piece.size()) != 0)
            return false;
    }
    return true;
}

} // namespace

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

FilePickle SharedPickles::find(const io::ReadFile& file, const ZipRecord& record, Reduce reduce) const
{
    if (record.damaged || record.deflated)
        return {};
    std::vector<Entry> candidates;
    {
        const std::lock_guard lock(m_mutex);
        std::copy_if(
            m_entries.begin(), m_entries.end(), std::back_inserter(candidates), [&](const Entry& entry) {
                return entry.reduce == reduce && entry.stream->size() == record.bytes
                    && (!record.crcPresent || entry.crc32 == record.crc32);
            });
    }
    const auto found = std::find_if(candidates.begin(), candidates.end(),
        [&](const Entry& entry) { return holds(file, record, *entry.stream); });
    return found == candidates.end() ? FilePickle() : found->pickle;
}

FilePickle SharedPickles::add(std::shared_ptr<const std::string> stream, Reduce reduce, FilePickle pickle)
{
    const auto* text = reinterpret_cast<const uint8_t*>(stream->data());
    const uint32_t checksum = io::crc32(0, {text, stream->size()});
    const std::lock_guard lock(m_mutex);
    if (const Entry* earlier = entryOf(*stream, reduce); earlier != nullptr)
        return earlier->pickle;
    if (m_entries.size() == kRemembered)
        m_entries.erase(m_entries.begin());
    m_entries.push_back({std::move(stream), reduce, pickle, checksum});
    return pickle;
}

} // namespace shardscope
