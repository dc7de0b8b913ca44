// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/journal_follower.h"

#include "core/engine/parts/part_ranges.h"

#include <algorithm>

namespace shardscope {

JournalFollower::JournalFollower(
    io::FileSystem& files, io::Path journal, uint64_t offset, std::vector<FilePiece> expected)
    : m_files(files)
    , m_journal(std::move(journal))
    , m_expected(std::move(expected))
    , m_bytes(bytesOf(m_expected))
    , m_offset(offset)
{
}

std::vector<PieceRecord> JournalFollower::take()
{
    if (m_expected.empty())
        return {};
    PieceJournal found;
    parsePieceJournal(nextLines(), found);
    std::vector<PieceRecord> out;
    for (PieceRecord& record : found.pieces) {
        const auto at = std::ranges::find(m_expected, record.piece);
        if (at == m_expected.end())
            continue;
        m_expected.erase(at);
        out.push_back(std::move(record));
    }
    return out;
}

/// What was appended, up to the end of its last complete line.
std::string JournalFollower::nextLines()
{
    const auto file = m_files.openRead(m_journal);
    if (!file || (*file)->size() <= m_offset)
        return {};
    std::string out((*file)->size() - m_offset, '\0');
    if (!(*file)->readAt(m_offset, {reinterpret_cast<uint8_t*>(out.data()), out.size()}))
        return {};
    out.resize(out.rfind('\n') + 1); // npos + 1 is 0
    m_offset += out.size();
    return out;
}

} // namespace shardscope
